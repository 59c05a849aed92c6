"""Statements of what agents were charged, as they go over the wire."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from agentgate.lib.enums import ChargeSource
from agentgate.lib.moment import Moment
from agentgate.lib.records import Query, Record


class StatementQuery(Query, frozen=True, kw_only=True):
    """Which month, in UTC; the present one when absent."""

    month: Annotated[str, Meta(pattern=r"^20[0-9]{2}-(?:0[1-9]|1[0-2])\Z")] | UnsetType = UNSET


class ChargeTotal(Record, frozen=True, kw_only=True):
    """What one agent owes in one currency. `amount` is `minorUnits` with two decimals."""

    agent: str
    # What the site's policy calls the agent now.
    name: str | UnsetType = UNSET
    currency: str
    requests: int
    minor_units: int
    amount: str


class ChargeItem(ChargeTotal, frozen=True, kw_only=True):
    """The part of it for one action, at the gateway or by submission."""

    source: ChargeSource
    action: str | UnsetType = UNSET


class ChargeStatement(Record, frozen=True, kw_only=True):
    """A month of charges at one site."""

    site_key: str
    month: str
    from_: Moment
    to: Moment
    items: list[ChargeItem]
    totals: list[ChargeTotal]
