"""The ledger: what agents owe a site for a month, as a statement and as a table for spreadsheets."""

import csv
import io
from collections.abc import Iterable
from datetime import UTC, datetime

from msgspec import UNSET, UnsetType

from agentgate.lib.clock import SECOND_MS
from agentgate.lib.moment import Moment
from agentgate.lib.time_ranges import TimeRange
from agentgate.protection.agents.ledger.records import ChargeItem, ChargeStatement, ChargeTotal
from agentgate.protection.agents.policy.decision import AgentPolicy
from agentgate.protection.agents.submission_repository import ChargedSum

COLUMNS = ("month", "agent", "name", "source", "action", "currency", "requests", "amount")


def month_of(now_ms: int) -> str:
    """Return the month in which a moment lies, such as `2026-11`."""
    return datetime.fromtimestamp(now_ms // SECOND_MS, UTC).strftime("%Y-%m")


def range_of(month: str) -> TimeRange:
    """Return the moments of a month in UTC."""
    year, number = int(month[:4]), int(month[5:])
    begins = datetime(year, number, 1, tzinfo=UTC)
    ends = datetime(year + number // 12, number % 12 + 1, 1, tzinfo=UTC)
    return TimeRange(*(int(each.timestamp()) * SECOND_MS for each in (begins, ends)))


def make_statement(site_key: str, month: str, sums: Iterable[ChargedSum], *, policy: AgentPolicy) -> ChargeStatement:
    """Return the statement of a month: every sum, and the totals by agent and currency."""
    span = range_of(month)
    items = [_item(each, policy) for each in sums]
    totals: dict[tuple[str, str], tuple[int, int]] = {}
    for item in items:
        requests, minor_units = totals.get((item.agent, item.currency), (0, 0))
        totals[item.agent, item.currency] = (requests + item.requests, minor_units + item.minor_units)
    return ChargeStatement(
        site_key=site_key,
        month=month,
        from_=Moment(span.from_ms),
        to=Moment(span.to_ms),
        items=items,
        totals=[
            ChargeTotal(
                agent=agent,
                name=_name(policy, agent),
                currency=currency,
                requests=requests,
                minor_units=minor_units,
                amount=_amount(minor_units),
            )
            for (agent, currency), (requests, minor_units) in sorted(totals.items())
        ],
    )


def write_table(statement: ChargeStatement) -> bytes:
    """Return a statement's items as CSV, with a row of column names."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for item in statement.items:
        action, name = (_plain("" if isinstance(each, UnsetType) else each) for each in (item.action, item.name))
        row = (statement.month, item.agent, name, item.source.value, action, item.currency, item.requests, item.amount)
        writer.writerow(row)
    return text.getvalue().encode()


def _item(each: ChargedSum, policy: AgentPolicy) -> ChargeItem:
    return ChargeItem(
        agent=each.agent,
        name=_name(policy, each.agent),
        source=each.source,
        action=UNSET if each.action is None else each.action,
        currency=each.currency,
        requests=each.count,
        minor_units=each.minor_units,
        amount=_amount(each.minor_units),
    )


def _name(policy: AgentPolicy, agent: str) -> str | UnsetType:
    entry = policy.entry_for(agent)
    return UNSET if entry is None else entry.name


def _amount(minor_units: int) -> str:
    whole, rest = divmod(minor_units, 100)
    return f"{whole}.{rest:02d}"


def _plain(text: str) -> str:
    # Spreadsheets take what begins so for a formula, and a name is whatever somebody typed.
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t")) else text
