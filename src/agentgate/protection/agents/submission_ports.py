"""What submissions and the ledger ask of the durable store."""

from typing import Protocol

from msgspec import Struct

from agentgate.lib.enums import ChargeSource
from agentgate.lib.price import Price


class Charge(Struct, frozen=True, kw_only=True):
    """What an agent owes a site for one request that was let through, or for one accepted submission."""

    site_id: str
    # Of what it is for. A decision is charged once.
    decision_id: str
    agent: str
    keyid: str
    source: ChargeSource
    action: str | None
    price: Price
    charged_ms: int


class Submission(Struct, frozen=True, kw_only=True):
    """A submission that was accepted: of what content, and what that was answered, byte for byte."""

    site_id: str
    agent: str
    id: str
    content_hash: bytes
    answer: bytes
    kept_until_ms: int


class SubmissionStore(Protocol):
    """Accepted submissions, each with the charge that belongs to it."""

    async def find_submission(self, site_id: str, agent: str, submission_id: str) -> Submission | None:
        """Return what was accepted under this ID; None when nothing was."""
        ...

    async def accept(self, submission: Submission, charge: Charge | None) -> bool:
        """Keep a submission and its charge, durably, both or none; False when the ID is taken. Of many, one wins."""
        ...

    async def forget_submissions(self, before_ms: int, *, most: int) -> int:
        """Remove some of those that need not be remembered any more; return how many went."""
        ...


class ChargedSum(Struct, frozen=True, kw_only=True):
    """What one agent was charged in one currency, for one kind of request."""

    agent: str
    source: ChargeSource
    action: str | None
    currency: str
    count: int
    minor_units: int


class ChargeStore(Protocol):
    """The ledger."""

    async def add_charge(self, charge: Charge) -> None:
        """Note a charge, durably. Noted twice, it is there once."""
        ...

    async def sum_charges(self, site_id: str, *, from_ms: int, to_ms: int) -> list[ChargedSum]:
        """Return what a site's agents were charged within a while, by agent, currency, action."""
        ...

    async def forget_charges(self, before_ms: int, *, most: int) -> int:
        """Remove some of those from before a moment; return how many went."""
        ...
