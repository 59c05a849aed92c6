"""Statements: months in UTC, totals by agent and currency, and a table that no spreadsheet runs."""

import csv
import io

import pytest

from agentgate.agents.ledger import make_statement, month_of, range_of, write_table
from agentgate.agents.submission_repository import ChargedSum
from agentgate.lib.enums import ChargeSource
from agentgate.lib.moment import Moment
from agentgate.sites.agent_policy import read_policy

AGENT = "https://agent.example"
POLICY = read_policy({"agents": {AGENT: {"decision": "allow", "name": "=HYPERLINK(1)"}}})


def charged(agent=AGENT, *, currency="USD", count=1, minor_units=5, action="submit", source=ChargeSource.SUBMIT):
    return ChargedSum(
        agent=agent, source=source, action=action, currency=currency, count=count, minor_units=minor_units
    )


@pytest.mark.parametrize(
    ("month", "begins", "ends"),
    [
        ("2026-11", "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z"),
        ("2026-12", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"),
        ("2028-02", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"),
    ],
)
def test_a_month_is_that_of_utc(month, begins, ends) -> None:
    span = range_of(month)

    assert (span.from_ms, span.to_ms) == (Moment.parse(begins), Moment.parse(ends))
    assert month_of(span.from_ms) == month_of(span.to_ms - 1) == month


def test_totals_are_by_agent_and_currency() -> None:
    sums = [
        charged(count=2, minor_units=10),
        charged(action=None, source=ChargeSource.GATEWAY, count=3, minor_units=300),
        charged(currency="EUR", minor_units=101),
        charged("https://other.example", minor_units=7),
    ]

    statement = make_statement("site_a", "2026-11", sums, policy=POLICY)

    assert [(total.agent, total.currency, total.requests, total.amount) for total in statement.totals] == [
        (AGENT, "EUR", 1, "1.01"),
        (AGENT, "USD", 5, "3.10"),
        ("https://other.example", "USD", 1, "0.07"),
    ]
    assert sum(item.minor_units for item in statement.items) == sum(total.minor_units for total in statement.totals)


def test_the_table_has_a_row_for_each_item_and_no_formula() -> None:
    statement = make_statement("site_a", "2026-11", [charged(), charged(action=None)], policy=POLICY)

    header, *rows = csv.reader(io.StringIO(write_table(statement).decode()))

    assert header == ["month", "agent", "name", "source", "action", "currency", "requests", "amount"]
    assert rows == [
        ["2026-11", AGENT, "'=HYPERLINK(1)", "submit", "submit", "USD", "1", "0.05"],
        ["2026-11", AGENT, "'=HYPERLINK(1)", "submit", "", "USD", "1", "0.05"],
    ]
