"""The ledger: what agents owe a site for a month, as a statement over the wire and as a table for spreadsheets."""

import csv
import io
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from agentgate.agents.submission_repository import ChargedSum
from agentgate.events.time_ranges import TimeRange
from agentgate.lib.clock import SECOND_MS
from agentgate.lib.enums import ChargeSource
from agentgate.lib.moment import Moment
from agentgate.lib.records import Query, Record
from agentgate.sites.agent_policy import AgentPolicy


class StatementQuery(Query, frozen=True, kw_only=True):
    """Which month, in UTC; the present one when absent."""

    month: Annotated[str, Meta(pattern=r"^20[0-9]{2}-(?:0[1-9]|1[0-2])\Z")] | UnsetType = UNSET


class ChargeTotal(Record, frozen=True, kw_only=True):
    """One agent's total in one currency. `amount` is `minorUnits` with two decimals."""

    agent: str
    # The agent's present name in the site's policy.
    name: str | UnsetType = UNSET
    currency: str
    requests: int
    minor_units: int
    amount: str


class ChargeItem(ChargeTotal, frozen=True, kw_only=True):
    """The share of one action, at the gateway or by submission."""

    source: ChargeSource
    action: str | UnsetType = UNSET


class ChargeStatement(Record, frozen=True, kw_only=True):
    """The charges of one site in a month."""

    site_key: str
    month: str
    from_: Moment
    to: Moment
    items: list[ChargeItem]
    totals: list[ChargeTotal]


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
    # Spreadsheets read cells that begin like this as formulas, and names are free text.
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t")) else text
