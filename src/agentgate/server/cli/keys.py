"""`agentgate keys`: list the service's own keys and rotate one."""

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from agentgate.lib.clock import to_rfc3339
from agentgate.lib.keyring import PURPOSES, Sealer, StoredKey, rotate_key
from agentgate.lib.settings.schema import Settings, read_process_settings
from agentgate.server.cli.options import CommandRefused, ConfigOption, JsonOption, print_json, print_table
from agentgate.server.cli.restore import is_in_use
from agentgate.server.secret_files import ROOT_SECRET_BYTES, replace_root_secret, root_secret

keys = typer.Typer(help="List and rotate the keys that sign and seal.", epilog="Example: agentgate keys list")


@keys.command("list", epilog="Example: agentgate keys list --json")
def list_keys(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Print every key: purpose, ID, when it was made and when it stops verifying. Never the key itself."""
    _print(asyncio.run(_stored_keys(read_process_settings(config))), as_json=as_json)


@keys.command("rotate", epilog="Example: agentgate keys rotate clearance")
def rotate(
    purpose: Annotated[str, typer.Argument(help="One of " + ", ".join(PURPOSES) + ".")],
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a new key for a purpose. The old one goes on verifying until what it made has expired."""
    if purpose not in PURPOSES:
        raise CommandRefused(f"unknown purpose {purpose!r}; give one of {', '.join(PURPOSES)}")
    _print(asyncio.run(_rotate(read_process_settings(config), purpose)), as_json=as_json)


@keys.command("rotate-root", epilog="Example: agentgate keys rotate-root root.secret.new")
def rotate_root(
    new_secret: Annotated[
        Path, typer.Argument(help="A file with the new root secret, as `openssl rand -hex 32` makes.")
    ],
    config: ConfigOption = None,
) -> None:
    """Seal everything with another root secret. Stop every service on this store first."""
    settings = read_process_settings(config)
    if not settings.database_url and is_in_use(settings.data_dir / "config.db"):
        raise CommandRefused(f"{settings.data_dir / 'config.db'} is in use; stop the service first")
    count = asyncio.run(_rotate_root(settings, _read_secret(new_secret)))
    if not count:
        print("The store is sealed with this root secret already.")
    else:
        print(f"{count} keys and secrets are sealed with the new root secret.")
    if settings.root_secret:
        print("Now give every service the new one in AGENTGATE_ROOT_SECRET, and start.")
        return
    if settings.root_secret_path.read_text().strip() != new_secret.read_text().strip():
        replace_root_secret(settings, new_secret.read_text().strip())
    print(f"It is in {settings.root_secret_path}. Keep a copy in a safe place, delete {new_secret}, and start.")


def _read_secret(path: Path) -> bytes:
    try:
        secret = bytes.fromhex(path.read_text("ascii").strip())
    except OSError as error:
        raise CommandRefused(f"{path} cannot be read ({error.strerror})") from error
    except ValueError:
        secret = b""
    if len(secret) < ROOT_SECRET_BYTES:
        raise CommandRefused(
            f"{path} does not hold {ROOT_SECRET_BYTES} bytes in hex; `openssl rand -hex 32` makes some"
        )
    return secret


async def _rotate_root(settings: Settings, secret: bytes) -> int:
    from agentgate.server.stores.clock_mark import ClockMark, continue_clock  # noqa: PLC0415 - likewise
    from agentgate.server.stores.open import CONFIG, open_stores  # noqa: PLC0415 - likewise
    from agentgate.server.stores.resealing import reseal  # noqa: PLC0415 - likewise
    from agentgate.storage.migrate import apply  # noqa: PLC0415 - likewise

    clock = continue_clock(ClockMark(settings.data_dir))
    old, new = Sealer(root_secret(settings)), Sealer(secret)
    stores = await open_stores(settings, clock)
    try:
        await apply(stores.databases[CONFIG], CONFIG, clock=clock)
        return await reseal(stores.databases[CONFIG], old, new, now_ms=clock.now_ms())
    finally:
        await stores.close()


async def _stored_keys(settings: Settings) -> list[StoredKey]:
    from agentgate.server.application import Application  # noqa: PLC0415 - keeps the rest of the command line quick

    application = await Application.open(settings)
    try:
        return await application.stores.store.read.keys.list_keys()
    finally:
        await application.close()


async def _rotate(settings: Settings, purpose: str) -> list[StoredKey]:
    from agentgate.server.application import Application  # noqa: PLC0415 - likewise

    application = await Application.open(settings)
    try:
        now_ms = application.clock.now_ms()
        return [await rotate_key(application.stores.store, application.sealer, purpose, now_ms)]
    finally:
        await application.close()


def _print(records: list[Any], *, as_json: bool) -> None:
    rows = [
        {
            "purpose": record.purpose,
            "id": record.id,
            "created": to_rfc3339(record.created_ms),
            "retired": None if record.retired_ms is None else to_rfc3339(record.retired_ms),
        }
        for record in records
    ]
    if as_json:
        print_json(rows)
        return
    shown = ((row["purpose"], row["id"], row["created"], row["retired"] or "current") for row in rows)
    print_table("Keys", ("Purpose", "ID", "Made", "Verifies until"), shown)
