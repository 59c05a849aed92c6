"""`agentgate keys`: list the service's own keys and rotate one."""

import asyncio
from pathlib import Path
from typing import Annotated

import click

from agentgate.lib.clock import to_rfc3339
from agentgate.lib.keyring import PURPOSES, Sealer, StoredKey, rotate_key
from agentgate.lib.settings.schema import Settings
from agentgate.server.cli.command import CommandAnswer, CommandRefused, PrintedTable, command, read_file
from agentgate.server.cli.opened import continued_clock, opened_application, opened_stores
from agentgate.server.cli.parameters import Argument
from agentgate.server.cli.restore import is_in_use
from agentgate.server.secret_files import ROOT_SECRET_BYTES, replace_root_secret, root_secret
from agentgate.server.stores.open import CONFIG
from agentgate.server.stores.resealing import reseal
from agentgate.storage.migrate import apply

keys = click.Group(help="List and rotate the keys that sign and seal.", epilog="Example: agentgate keys list")


@command(keys, "list", "agentgate keys list --json")
def list_keys(settings: Settings) -> CommandAnswer:
    """Print every key: purpose, ID, when it was made and when it stops verifying. Never the key itself."""
    return _answer(asyncio.run(_stored_keys(settings)))


@command(keys, "rotate", "agentgate keys rotate clearance")
def rotate(
    purpose: Annotated[str, Argument(help="One of " + ", ".join(PURPOSES) + ".")], settings: Settings
) -> CommandAnswer:
    """Make a new key for a purpose. The old one goes on verifying until what it made has expired."""
    if purpose not in PURPOSES:
        raise CommandRefused(f"unknown purpose {purpose!r}; give one of {', '.join(PURPOSES)}")
    return _answer(asyncio.run(_rotate(settings, purpose)))


@command(keys, "rotate-root", "agentgate keys rotate-root root.secret.new")
def rotate_root(
    new_secret: Annotated[Path, Argument(help="A file with the new root secret, as `openssl rand -hex 32` makes.")],
    settings: Settings,
) -> CommandAnswer:
    """Seal everything with another root secret. Stop every service on this store first."""
    if not settings.database_url and is_in_use(settings.data_dir / "config.db"):
        raise CommandRefused(f"{settings.data_dir / 'config.db'} is in use; stop the service first")
    count = asyncio.run(_rotate_root(settings, _read_secret(new_secret)))
    told = f"{count} keys and secrets are sealed with the new root secret."
    people = [told if count else "The store is sealed with this root secret already."]
    if settings.root_secret:
        people.append("Now give every service the new one in AGENTGATE_ROOT_SECRET, and start.")
        return CommandAnswer({"sealed": count, "file": None}, people)
    if settings.root_secret_path.read_text().strip() != new_secret.read_text().strip():
        replace_root_secret(settings, new_secret.read_text().strip())
    people.append(f"It is in {settings.root_secret_path}. Keep a copy in a safe place, delete {new_secret}, and start.")
    return CommandAnswer({"sealed": count, "file": str(settings.root_secret_path)}, people)


def _read_secret(path: Path) -> bytes:
    try:
        secret = bytes.fromhex(read_file(path).strip())
    except ValueError:
        secret = b""
    if len(secret) < ROOT_SECRET_BYTES:
        raise CommandRefused(
            f"{path} does not hold {ROOT_SECRET_BYTES} bytes in hex; `openssl rand -hex 32` makes some"
        )
    return secret


async def _rotate_root(settings: Settings, secret: bytes) -> int:
    clock = continued_clock(settings)
    old, new = Sealer(root_secret(settings)), Sealer(secret)
    async with opened_stores(settings, clock) as stores:
        await apply(stores.databases[CONFIG], CONFIG, clock=clock)
        return await reseal(stores.databases[CONFIG], old, new, now_ms=clock.now_ms())


async def _stored_keys(settings: Settings) -> list[StoredKey]:
    async with opened_application(settings) as application:
        return await application.stores.store.read.keys.list_keys()


async def _rotate(settings: Settings, purpose: str) -> list[StoredKey]:
    async with opened_application(settings) as application:
        now_ms = application.clock.now_ms()
        return [await rotate_key(application.stores.store, application.sealer, purpose, now_ms)]


def _answer(records: list[StoredKey]) -> CommandAnswer:
    rows = [
        {
            "purpose": record.purpose,
            "id": record.id,
            "created": to_rfc3339(record.created_ms),
            "retired": None if record.retired_ms is None else to_rfc3339(record.retired_ms),
        }
        for record in records
    ]
    shown = ([cell or "current" for cell in row.values()] for row in rows)
    return CommandAnswer(rows, PrintedTable("Keys", ("Purpose", "ID", "Made", "Verifies until"), shown))
