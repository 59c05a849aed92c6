"""Entries of a site's lists, as they go over the wire and as the store keeps them."""

from typing import Annotated, ClassVar

from msgspec import UNSET, Meta, Struct, UnsetType

from agentgate.lib.enums import ListKind, ListOutcome, Outcome
from agentgate.lib.limits import LIST_NOTE_CHARACTERS, LIST_VALUE_CHARACTERS
from agentgate.lib.moment import Moment
from agentgate.lib.records import Input, Record

EntryId = Annotated[str, Meta(pattern=r"^lst_[0-9a-f]{16}\Z")]
ListValue = Annotated[str, Meta(min_length=1, max_length=LIST_VALUE_CHARACTERS, examples=["203.0.113.7"])]
ListNote = Annotated[str, Meta(max_length=LIST_NOTE_CHARACTERS)]


class ListEntry(Record, frozen=True, kw_only=True):
    """A list entry: allows (`allow`) or blocks (`block`) a client until `expiresAt`, or permanently."""

    id: EntryId
    kind: ListKind
    value: str
    outcome: ListOutcome
    note: str
    created_at: Moment
    created_by: str
    # Whether it has expired and applies no more.
    expired: bool
    expires_at: Moment | UnsetType = UNSET


class ListEntries(Record, frozen=True, kw_only=True):
    """A site's entries, newest first."""

    items: list[ListEntry]


class ListEntryInput(Input, frozen=True, kw_only=True):
    """A new entry.

    `value` is an address, a network, a glob for the User-Agent (without a star, a text anywhere in it), an agent as
    shown in decisions, or a visitor ID.
    """

    kind: ListKind
    value: ListValue
    outcome: ListOutcome
    note: ListNote = ""
    expires_at: Moment | UnsetType = UNSET


class ListEntryChange(Input, frozen=True, kw_only=True):
    """The new effect, note and expiry of an entry. An entry without `expiresAt` never expires."""

    refused_fields: ClassVar[dict[str, str]] = dict.fromkeys(("id", "kind", "value"), "forbidden_field")

    outcome: ListOutcome
    note: ListNote = ""
    expires_at: Moment | UnsetType = UNSET


class ListBacktestInput(Input, frozen=True, kw_only=True):
    """An entry to test on stored events. Default range: the last seven days."""

    kind: ListKind
    value: ListValue
    outcome: ListOutcome
    from_: str | UnsetType = UNSET
    to: str | UnsetType = UNSET


class ListFlip(Record, frozen=True, kw_only=True):
    """Number of decisions that an entry would change from one outcome to another, with examples."""

    from_: Outcome
    to: Outcome
    count: int
    examples: list[str]


class ListBacktestReport(Record, frozen=True, kw_only=True):
    """The effect of an entry. `told` is false if stored events cannot be matched with it (`why`)."""

    from_: Moment
    to: Moment
    told: bool
    # Decisions read, those that the entry matches, and their number of visitors.
    evaluated: int
    concerned: int
    visitors: int
    changed: int
    flips: list[ListFlip]
    # The concerned decisions by the rule that made them.
    by_rule: dict[str, int]
    # False: there were more events than a backtest reads; these are the newest.
    complete: bool
    why: str | UnsetType = UNSET


class StoredEntry(Struct, frozen=True, kw_only=True):
    id: str
    site_id: str
    kind: ListKind
    value: str
    outcome: ListOutcome
    note: str
    created_ms: int
    created_by: str
    expires_ms: int | None = None

    def is_over(self, now_ms: int) -> bool:
        return self.expires_ms is not None and now_ms >= self.expires_ms
