"""`agentgate copy`: move an embedded installation to PostgreSQL, or events to ClickHouse, and compare what arrived."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from agentgate.lib.settings.schema import Settings, read_process_settings
from agentgate.lib.settings.values import Unfit, servers_url
from agentgate.server.cli.options import CommandRefused, ConfigOption
from agentgate.server.cli.restore import is_in_use

SCHEMES = ("clickhouse", "clickhouses")
CLICKHOUSE = tuple(f"{scheme}://" for scheme in SCHEMES)


def copy(
    to: Annotated[str, typer.Option("--to", help="The target's address; better --to-file, it holds a password.")] = "",
    to_file: Annotated[Path | None, typer.Option("--to-file", help="A file with the target's address.")] = None,
    config: ConfigOption = None,
) -> None:
    """Copy the embedded databases to an empty PostgreSQL, or the events of either to an empty ClickHouse.

    Stop the service first. Run it again to go on.
    """
    settings = read_process_settings(config)
    if bool(to) == (to_file is not None):
        raise CommandRefused("give the target's address with --to-file or --to, and one of them only")
    url = to or _read(to_file)
    if url.startswith(CLICKHOUSE):
        _copy_events(settings, url)
        return
    if settings.database_url:
        raise CommandRefused("the store is PostgreSQL already; unset AGENTGATE_DATABASE_URL to copy the embedded one")
    if not url.startswith(("postgresql://", "postgres://")):
        raise CommandRefused("the address begins with neither postgresql:// nor clickhouse://")
    _check_source(settings)
    from rich.progress import Progress  # noqa: PLC0415 - takes longer to import than most commands to run

    with Progress(transient=True) as progress:
        bar = progress.add_task("Copying", total=None)
        compared = asyncio.run(
            copy_to(settings, url, lambda name, rows: progress.update(bar, description=f"{name}: {rows} rows"))
        )
    print(
        f"{sum(compared.values())} rows in {len(compared)} tables and days copied and compared: counts and checksums."
    )
    print(
        "Now set AGENTGATE_DATABASE_URL, keep the root secret and the data folder as they are, and start the service."
    )


def _copy_events(settings: Settings, url: str) -> None:
    try:
        servers_url(*SCHEMES).parse(url)
    except Unfit as wrong:
        raise CommandRefused(f"the address of ClickHouse cannot be used: {wrong}") from wrong
    if not settings.database_url:
        _check_source(settings)
    from rich.progress import Progress  # noqa: PLC0415 - likewise

    with Progress(transient=True) as progress:
        bar = progress.add_task("Copying", total=None)
        compared = asyncio.run(
            copy_events_to(settings, url, lambda name, rows: progress.update(bar, description=f"{name}: {rows} rows"))
        )
    print(f"{sum(compared.values())} rows of {len(compared)} days copied and compared: counts and checksums.")
    print("Now set AGENTGATE_EVENTS_URL, leave everything else as it is, and start the service.")


async def copy_events_to(settings: Settings, url: str, progress: Callable[[str, int], None]) -> dict[str, int]:
    """Copy events to ClickHouse and return how many rows each day has; `progress` is told the same as it goes."""
    from agentgate.events.storage.clickhouse.days import ClickhouseDays  # noqa: PLC0415 - likewise
    from agentgate.server.stores.clock_mark import ClockMark, continue_clock  # noqa: PLC0415 - likewise
    from agentgate.server.stores.moving_events import copy_events  # noqa: PLC0415 - likewise
    from agentgate.server.stores.open import STATS, open_clickhouse, open_stores  # noqa: PLC0415 - likewise
    from agentgate.storage.migrate import apply  # noqa: PLC0415 - likewise

    clock = continue_clock(ClockMark(settings.data_dir))
    source = await open_stores(msgspec.structs.replace(settings, events_url="", redis_url=""), clock)
    client = open_clickhouse(url, settings.events_cluster)
    target = ClickhouseDays(client, settings.events_cluster)
    try:
        for name, database in source.databases.items():
            await apply(database, name, clock=clock)
        await source.segments.migrate(clock)
        await target.migrate(clock)
        compared = await copy_events(source.databases[STATS], source.segments, client, target, progress)
    finally:
        await target.close()
        await source.close()
    return {name: found.rows for name, found in compared.items()}


def _read(path: Path | None) -> str:
    assert path is not None
    try:
        return path.read_text().strip()
    except OSError as error:
        raise CommandRefused(f"{path} cannot be read ({error.strerror})") from error


def _check_source(settings: Settings) -> None:
    # Opening the stores would create what is missing, and the copy of a mistyped folder would look like a success.
    if not (settings.data_dir / "config.db").is_file():
        raise CommandRefused(f"there is no installation in {settings.data_dir}; set AGENTGATE_DATA_DIR")
    for path in settings.data_dir.glob("*.db"):
        if is_in_use(path):
            raise CommandRefused(f"{path} is in use; stop the service first")


async def copy_to(settings: Settings, url: str, progress: Callable[[str, int], None]) -> dict[str, int]:
    """Copy to a database and return how many rows each table and day has; `progress` is told the same as it goes."""
    from agentgate.server.stores.clock_mark import ClockMark, continue_clock  # noqa: PLC0415 - likewise
    from agentgate.server.stores.moving import copy_stores  # noqa: PLC0415 - likewise
    from agentgate.server.stores.open import open_stores  # noqa: PLC0415 - likewise
    from agentgate.storage.migrate import apply  # noqa: PLC0415 - likewise

    clock = continue_clock(ClockMark(settings.data_dir))
    source = await open_stores(msgspec.structs.replace(settings, events_url=""), clock)
    target = await open_stores(msgspec.structs.replace(settings, database_url=url, redis_url="", events_url=""), clock)
    try:
        for stores in (source, target):
            for name, database in stores.databases.items():
                await apply(database, name, clock=clock)
            await stores.segments.migrate(clock)
        compared = await copy_stores(source, target, progress)
    finally:
        await target.close()
        await source.close()
    return {name: found.rows for name, found in compared.items()}
