"""`agentgate copy`: move an embedded installation to PostgreSQL, and prove that all of it arrived."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from agentgate.lib.settings.schema import Settings, read_process_settings
from agentgate.server.cli.options import CommandRefused, ConfigOption
from agentgate.server.cli.restore import is_in_use


def copy(
    to: Annotated[str, typer.Option("--to", help="PostgreSQL's address; better --to-file, it holds a password.")] = "",
    to_file: Annotated[Path | None, typer.Option("--to-file", help="A file with PostgreSQL's address.")] = None,
    config: ConfigOption = None,
) -> None:
    """Copy the embedded databases to an empty PostgreSQL database. Stop the service first. Run it again to go on."""
    settings = read_process_settings(config)
    if settings.database_url:
        raise CommandRefused("the store is PostgreSQL already; unset AGENTGATE_DATABASE_URL to copy the embedded one")
    if bool(to) == (to_file is not None):
        raise CommandRefused("give PostgreSQL's address with --to-file or --to, and one of them only")
    url = to or _read(to_file)
    if not url.startswith(("postgresql://", "postgres://")):
        raise CommandRefused("the address does not begin with postgresql://")
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
    source = await open_stores(settings, clock)
    target = await open_stores(msgspec.structs.replace(settings, database_url=url, redis_url=""), clock)
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
