"""The event: the record of one decision, and its counters. `events/queries/records.py` has its form on the wire."""

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from operator import attrgetter
from typing import Any, ClassVar

from msgspec import Struct
from msgspec.structs import replace

from agentgate.lib.enums import ChallengeStage, DecisionKind, Mode, Outcome, SolveType

# The key by which metrics count decisions: site number, kind, outcome, would, first reason, agent.
Series = tuple[int, str, str, str, str, str | None]


class Event(Struct, frozen=True, gc=False):
    """One decision. All texts are bounded: attackers choose paths and names, so an event contains none of these.

    The fields from `site` to `error` are alike in most events of a batch. They are adjacent so that code that writes
    events can take them as one key (`SHAPE`).
    """

    id: int
    # The visitor's 16 hex digits as an unsigned integer.
    visitor: int | None
    duration_us: int
    # The site's number.
    site: int
    kind: DecisionKind
    mode: Mode
    # The outcome that applied, and (`would`) the outcome that enforce mode would have applied where monitor mode
    # allowed the request.
    outcome: Outcome
    method: str
    # The site's route as configured (`/login`, `/api/*`), `*` when none matched.
    route: str
    status: int
    would: Outcome | None = None
    action: str | None = None
    reasons: tuple[str, ...] = ()
    # Whether the rules decided, as opposed to a missing token, a bad signature, a price. Only then can it be replayed.
    ruled: bool = True
    rule: str | None = None
    rule_set_version: str | None = None
    agent: str | None = None
    # Of a challenge only.
    stage: ChallengeStage | None = None
    solve_type: SolveType | None = None
    # The service itself failed while deciding.
    error: bool = False
    # Sorted, complete, the same that the rules saw.
    labels: tuple[str, ...] = ()
    # Kind of model -> score as the rules saw it, and its version.
    scores: Mapping[str, float] = {}
    model_versions: Mapping[str, str] = {}
    # The same of candidates, which decide nothing.
    shadow_scores: Mapping[str, float] = {}
    shadow_versions: Mapping[str, str] = {}
    request_id: str | None = None
    trace_id: str | None = None
    # Of a challenge only.
    solve_ms: int | None = None
    # Feature name -> value, where the site captures features.
    features: Mapping[str, float] | None = None

    # Requests that need I/O, of agents and with tokens, are no such page loads.
    is_open_page: ClassVar[bool] = False

    @property
    def series(self) -> Series:
        """The key by which metrics count the decision."""
        reason = self.reasons[0] if self.reasons else ""
        return self.site, self.kind, self.outcome, self.would or "", reason, self.agent


class Pattern:
    """An event that occurs repeatedly, each time with a different ID, visitor and duration."""

    __slots__ = ("encoded", "event", "is_open_page", "series")

    def __init__(self, event: Event) -> None:
        self.event = event
        self.series = event.series
        # Whether the request counts as a page load without a clearance.
        self.is_open_page = False
        # The store's encoding of the event, cached here while it is valid: see `storage/encoding.py`.
        self.encoded: tuple[Any, Any, Any] = (None, None, None)


# Request ID and trace ID. At least one of them is set.
Correlation = tuple[str | None, str | None]


class Repeated(Struct, frozen=True, gc=False):
    """One more event of a pattern. Making and keeping it takes a fraction of what another event does."""

    id: int
    visitor: int | None
    duration_us: int
    pattern: Pattern
    # Its own, whatever the pattern's event has.
    correlation: Correlation | None = None

    # The same as the pattern's. These are read for each event, so `attrgetter` replaces functions written in Python.
    site = property(attrgetter("pattern.event.site"))
    features = property(attrgetter("pattern.event.features"))
    series = property(attrgetter("pattern.series"))
    is_open_page = property(attrgetter("pattern.is_open_page"))

    def whole(self) -> Event:
        own = replace(self.pattern.event, id=self.id, visitor=self.visitor, duration_us=self.duration_us)
        if self.correlation is None:
            return own
        return replace(own, request_id=self.correlation[0], trace_id=self.correlation[1])


# Events as the recorder takes them.
Recorded = Event | Repeated

# The positions in Event of the fields that most events have in common.
SHAPE = slice(Event.__struct_fields__.index("site"), Event.__struct_fields__.index("labels"))


class Dimension(IntEnum):
    """The fields that are counted by value, for top lists and to find the rarest of several filters.

    Numbers are stored; they never change their meaning. Countries and networks are not separate dimensions: they are
    the labels `net.country.*` and `net.asn.*`.
    """

    ACTION = 1
    ROUTE = 2
    REASON = 3
    LABEL = 4
    AGENT = 5
    RULE = 6
    SOLVE_TYPE = 7
    # Why requests were challenged, blocked or dropped, and why enforce mode would have done so: the rule that decided,
    # or else the reason. Together they add up to the outcomes.
    REFUSED_REASON = 8
    REFUSED_RULE = 9
    WOULD_REASON = 10
    WOULD_RULE = 11
    # Browser checks alone. LABEL and ACTION count all events, because they find decisions; minus these, requests.
    CHECK_LABEL = 12
    CHECK_ACTION = 13


class CounterName(StrEnum):
    """Counters per hour of calls that leave no event. The value with a name is a code, an origin, or empty."""

    # An enumeration hashes its names by a function written in Python, and every request counts something.
    __hash__ = str.__hash__

    SITEVERIFY_SUCCESS = "siteverify_success"
    # Value: the error code.
    SITEVERIFY_FAILURE = "siteverify_failure"
    TOKENS_ISSUED = "tokens_issued"
    TOKENS_REDEEMED = "tokens_redeemed"
    # Calls that authenticated with one of the site's credentials, whatever their result.
    SERVER_CHECK = "server_check"
    # Value: the rejected origin, cut to 200 characters; past 100 origins an hour, `other`.
    ORIGIN_REFUSED = "origin_refused"
    # Value: a host that the proxy routes to the site and that is not one of its origins, with the same bounds.
    HOST_UNKNOWN = "host_unknown"
    # Gateway checks of requests for one of its origins, with a secret that no site has.
    CREDENTIAL_UNKNOWN = "credential_unknown"
    # Tokens that a server showed with an address of the network that earned them, and of another network.
    ADDRESS_SAME = "address_same"
    ADDRESS_OTHER = "address_other"
    # Page loads without a clearance, at most some of an address in a minute.
    PAGES = "pages"


class Count(Struct, frozen=True, gc=False):
    """So many more of something in an hour (hours since 1970)."""

    site: int
    hour: int
    name: CounterName
    value: str
    counted: int
