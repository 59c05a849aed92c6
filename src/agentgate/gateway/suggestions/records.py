"""Suggestions, as they go over the wire and as the store keeps them."""

from typing import Annotated, NamedTuple

from msgspec import UNSET, Meta, Struct, UnsetType

from agentgate.lib.moment import Moment
from agentgate.lib.records import Input, Record
from agentgate.sites.open_paths import NOTE_CHARACTERS, PATH_CHARACTERS
from agentgate.sites.records import SiteOpenPath

# More networks of a group are not counted.
MOST_NETWORKS = 16
# Stored suggestions of a site, and days after the last request.
MOST_STORED, KEPT_DAYS = 100, 7

SuggestionId = Annotated[str, Meta(pattern=r"^sug_[0-9a-f]{16}\Z")]


class Suggestion(Record, frozen=True, kw_only=True):
    """Requests of a program that were denied, or would be in enforce mode, and the path to allow for them.

    `path` is masked: `#` for digits, `*` for a segment, `...` for the rest. `program` is a name that anyone can send.
    `sender` is a known service, and with `proven`, every request came from its published networks. `networks` is the
    number of distinct networks (/24, /48), at most 16. `problem` is the reason why accepting needs more input or is not
    possible.
    """

    id: SuggestionId
    method: str
    path: str
    proven: bool
    networks: int
    requests: int
    # On average since the first request.
    per_day: int
    first_at: Moment
    last_at: Moment
    program: str | UnsetType = UNSET
    sender: str | UnsetType = UNSET
    owner: str | UnsetType = UNSET
    # The allowed path that accepting adds or has added.
    opens: SiteOpenPath | UnsetType = UNSET
    problem: str | UnsetType = UNSET
    accepted_at: Moment | UnsetType = UNSET
    accepted_by: str | UnsetType = UNSET


class SuggestionList(Record, frozen=True, kw_only=True):
    """A site's suggestions: open ones first, proven senders first, then by networks and requests."""

    # Whether the site collects them.
    enabled: bool
    items: list[Suggestion]


class AcceptSuggestionInput(Input, frozen=True, kw_only=True):
    """Why the path is opened, and the exact path if the suggestion has a masked one.

    `also` accepts further suggestions with the same evidence, all or none, and no other: proven senders, signature
    headers, or names.
    """

    note: Annotated[str, Meta(max_length=NOTE_CHARACTERS)] = ""
    path: Annotated[str, Meta(min_length=1, max_length=PATH_CHARACTERS)] | UnsetType = UNSET
    also: Annotated[tuple[SuggestionId, ...], Meta(max_length=MOST_STORED)] = ()


class SuggestionGroup(NamedTuple):
    """What requests of one suggestion have in common."""

    method: str
    path: str
    program: str
    sender: str
    owner: str
    is_proven: bool


class SeenGroup(NamedTuple):
    """New requests of a group."""

    site_id: str
    group: SuggestionGroup
    requests: int
    # Keyed digests.
    networks: list[str]
    first_ms: int
    last_ms: int


class StoredSuggestion(Struct, frozen=True, kw_only=True):
    id: str
    site_id: str
    method: str
    path: str
    program: str
    sender: str
    owner: str
    proven: bool
    requests: int
    networks: list[str]
    first_ms: int
    last_ms: int
    accepted_ms: int | None = None
    accepted_by: str | None = None
    opened: SiteOpenPath | None = None

    @property
    def evidence(self) -> tuple[bool, bool]:
        """What shows the sender: published networks, a signature header, or only a name."""
        return self.proven, bool(self.sender)

    @property
    def rank(self) -> tuple[bool, bool, int, int, str]:
        """The sort key of lists: the most credible suggestion is last."""
        return (self.accepted_ms is None, self.proven, len(self.networks), self.requests, self.id)
