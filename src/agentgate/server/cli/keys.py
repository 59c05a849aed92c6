"""`agentgate keys`: list the service's own keys and rotate one."""

import asyncio
from typing import Annotated, Any

import typer

from agentgate.lib.clock import to_rfc3339
from agentgate.lib.keyring import PURPOSES, StoredKey, rotate_key
from agentgate.lib.settings.schema import Settings, read_process_settings
from agentgate.server.cli.options import CommandRefused, ConfigOption, JsonOption, print_json, print_table

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
