"""Change of the root secret: every sealed value in the store is opened with the old one and sealed with the new one."""

from collections.abc import Callable
from typing import NamedTuple

from agentgate.events.webhooks import signing
from agentgate.lib.database import Database, Transaction
from agentgate.lib.keyring import KeysUnreadable, Sealer
from agentgate.people.identity import mfa
from agentgate.people.outbox import messages
from agentgate.sites.lists import network_endpoints

# The leader renews its lease while it runs, and gives it up when it stops.
_LEASES = "SELECT count(*) FROM job_lease WHERE expires_ms > $1"


class ResealRefused(Exception):  # noqa: N818 - told in one line, not a fault
    """The root secret cannot be changed now. The message explains why."""


class SealedColumn(NamedTuple):
    """A column of sealed bytes, the context that binds a value to its row, and the two columns that name the row."""

    table: str
    column: str
    context: Callable[[str, str], str]
    beside: str = "id"
    identity: str = "id"


SEALED = (
    SealedColumn("service_key", "sealed", lambda key_id, purpose: f"{purpose}:{key_id}", "purpose"),
    SealedColumn("users", "mfa_secret", lambda user_id, _: mfa.sealing_context(user_id)),
    SealedColumn("users", "mfa_pending_secret", lambda user_id, _: mfa.sealing_context(user_id)),
    SealedColumn("outbox_message", "body", lambda message_id, _: messages.sealing_context(message_id)),
    SealedColumn("webhook", "secret", lambda webhook_id, _: signing.sealing_context(webhook_id)),
    SealedColumn("webhook", "replaced_secret", lambda webhook_id, _: signing.sealing_context(webhook_id)),
    SealedColumn("network_list", "key", network_endpoints.sealing_context, "name", "site_id"),
)


async def reseal(config: Database, old: Sealer, new: Sealer, *, now_ms: int) -> int:
    """Seal all values again in one transaction; return how many. Return 0 if the new secret is already active."""

    async def work(transaction: Transaction) -> int:
        running = await transaction.one(_LEASES, now_ms)
        if running is not None and running[0]:
            raise ResealRefused("a service runs on this store; stop all of them and try again after 30 seconds")
        if await _opens(transaction, new):
            return 0
        return sum([await _reseal(transaction, each, old, new) for each in SEALED])

    return await config.transaction(work)


async def _opens(transaction: Transaction, sealer: Sealer) -> bool:
    keys = await transaction.all("SELECT id, purpose, sealed FROM service_key")
    try:
        for key_id, purpose, sealed in keys:
            sealer.open(sealed, f"{purpose}:{key_id}")
    except KeysUnreadable:
        return False
    return True


async def _reseal(transaction: Transaction, each: SealedColumn, old: Sealer, new: Sealer) -> int:
    table, column, _, beside, identity = each
    rows = await transaction.all(
        f"SELECT {identity}, {beside}, {column} FROM {table} WHERE {column} IS NOT NULL ORDER BY 1, 2"  # noqa: S608
    )
    statement = f"UPDATE {table} SET {column} = $1 WHERE {identity} = $2 AND {beside} = $3"  # noqa: S608
    for row_id, second, sealed in rows:
        context = each.context(row_id, second)
        await transaction.run(statement, new.seal(old.open(sealed, context), context), row_id, second)
    return len(rows)
