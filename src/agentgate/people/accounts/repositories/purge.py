"""Removing an account for good, in dependency order. Whether it may go is decided before, in `accounts.py`.

A table that is added later and knows accounts, sites or users needs a line here; a test looks into every table.
"""

from agentgate.lib.database import SqlSession, Transaction

# Members who belong to no other account.
_LEAVING = """SELECT users.id, users.email FROM membership JOIN users ON users.id = membership.user_id
    WHERE membership.account_id = $1 AND NOT EXISTS (SELECT 1 FROM membership elsewhere
        WHERE elsewhere.user_id = membership.user_id AND elsewhere.account_id <> $1)
    ORDER BY users.id"""

# An entry about a moved site stays when it stands in another account's trail: it is that account's history.
_TRAIL = """account_id = $1
    OR (account_id IS NULL AND site_id IN (SELECT id FROM site WHERE site.account_id = $1))"""

_OF_SITES = (
    *("site_rules", "rule_revision", "site_list_entry", "credential", "decision_label", "feature_capture"),
    *("appeal", "webhook_delivery", "webhook"),
)

# Of members who stay, only what ties them to the account goes.
_OF_ACCOUNT = (
    """DELETE FROM outbox_message
        WHERE link_digest IN (SELECT secret_digest FROM link WHERE account_id = $1)""",
    "DELETE FROM link WHERE account_id = $1",
    "UPDATE user_session SET account_id = NULL WHERE account_id = $1",
    "DELETE FROM api_token WHERE account_id = $1",
    "DELETE FROM membership WHERE account_id = $1",
    # Addresses that the account chose for a site which has moved away since.
    "DELETE FROM webhook_delivery WHERE webhook_id IN (SELECT id FROM webhook WHERE account_id = $1)",
    "DELETE FROM webhook WHERE account_id = $1",
)

# Messages and entries know a person by the address too.
_OF_NAME = (
    "DELETE FROM outbox_message WHERE recipient = $1",
    "DELETE FROM audit_entry WHERE account_id IS NULL AND site_id IS NULL AND target = $1",
    "DELETE FROM audit_entry WHERE account_id IS NULL AND site_id IS NULL AND actor = $1",
)

_OF_USER = (
    "DELETE FROM recovery_code WHERE user_id = $1",
    "DELETE FROM user_session WHERE user_id = $1",
    "DELETE FROM link WHERE user_id = $1",
    "DELETE FROM users WHERE id = $1",
)


async def purge_trail(session: SqlSession, account_id: str, most: int) -> int:
    """Remove some of the account's audit entries, oldest first; return how many went.

    A long trail goes in several units of work, because each holds up everybody who wants to write.
    """
    return await session.run(
        f"""DELETE FROM audit_entry
            WHERE id IN (SELECT id FROM audit_entry WHERE {_TRAIL} ORDER BY id LIMIT $2)""",  # noqa: S608
        account_id,
        most,
    )


async def purge(session: Transaction, account_id: str) -> None:
    """Remove everything of an account, in one unit of work: no reader ever sees a part of it."""
    leaving = await session.all(_LEAVING, account_id)
    await session.run(f"DELETE FROM audit_entry WHERE {_TRAIL}", account_id)  # noqa: S608
    for table in _OF_SITES:
        await session.run(
            f"DELETE FROM {table} WHERE site_id IN (SELECT id FROM site WHERE account_id = $1)",  # noqa: S608
            account_id,
        )
    await _remember_numbers(session)
    await session.run("DELETE FROM site WHERE account_id = $1", account_id)
    for sql in _OF_ACCOUNT:
        await session.run(sql, account_id)
    for sql in _OF_NAME:
        await session.run_many(sql, [(name,) for user in leaving for name in user])
    for sql in _OF_USER:
        await session.run_many(sql, [(user_id,) for user_id, _ in leaving])
    await session.run("DELETE FROM account WHERE id = $1", account_id)


async def _remember_numbers(session: Transaction) -> None:
    """Keep the highest number of a site, so that no later site gets it."""
    await session.lock("site-number")
    await session.run(
        """UPDATE site_number SET last = (SELECT max(number) FROM site)
            WHERE last < (SELECT max(number) FROM site)"""
    )
