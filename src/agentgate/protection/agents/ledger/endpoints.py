"""Statements of charges over HTTP. Operators and customers differ in guard only."""

from msgspec import UnsetType

from agentgate.http.call import SiteCall
from agentgate.http.replies import Reply, Text
from agentgate.lib.database import Store
from agentgate.lib.errors import Refused
from agentgate.protection.agents.ledger import statements as ledger
from agentgate.protection.agents.ledger.records import ChargeStatement, StatementQuery
from agentgate.protection.agents.policy.editing import stored_policy
from agentgate.protection.agents.submission_repository import SubmissionStore
from agentgate.protection.sites.repositories import SiteStores

# What is in the table, for those who read the API's documents.
TEXTS = {"text/csv": f"A row of names, then a row for each charge: {', '.join(ledger.COLUMNS)}"}


async def read_agent_charges(
    call: SiteCall, query: StatementQuery, store: Store[SiteStores], charges: SubmissionStore
) -> ChargeStatement:
    """Read what agents were charged at a site in a month (UTC), with totals per agent and currency."""
    return await _statement(call, query, store, charges)


async def export_agent_charges(
    call: SiteCall, query: StatementQuery, store: Store[SiteStores], charges: SubmissionStore
) -> Reply[Text]:
    """Export what agents were charged at a site in a month (UTC) as CSV."""
    statement = await _statement(call, query, store, charges)
    name = f"agent-charges-{call.site_key}-{statement.month}.csv"
    headers = (("content-disposition", f'attachment; filename="{name}"'),)
    return Reply(body=Text(ledger.write_table(statement), "text/csv; charset=utf-8"), headers=headers)


async def _statement(
    call: SiteCall, query: StatementQuery, store: Store[SiteStores], charges: SubmissionStore
) -> ChargeStatement:
    site = await store.read.sites.find_site(call.site_key, account_id=call.actor.account_id)
    if site is None:
        # Moved or purged between the scope and here.
        raise Refused("site_not_found")
    month = ledger.month_of(call.now) if isinstance(query.month, UnsetType) else query.month
    span = ledger.range_of(month)
    sums = await charges.sum_charges(call.site_id, from_ms=span.from_ms, to_ms=span.to_ms)
    return ledger.make_statement(call.site_key, month, sums, policy=stored_policy(site))
