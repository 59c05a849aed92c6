"""Trying rules out: one sample request explained, and stored events decided again."""

from collections.abc import Callable, Mapping
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from agentgate.lib.enums import Outcome
from agentgate.lib.moment import Moment
from agentgate.lib.records import Input, Record
from agentgate.sites.rules.evaluate import NO_TRAITS, Traits
from agentgate.sites.rules.patterns.predicates import Predicates
from agentgate.sites.rules.records import DraftInput, RuleResponse

SAMPLE_HEADERS = 64
SAMPLE_CHARACTERS = 8_192


class SampleRequest(Input, frozen=True, kw_only=True):
    """A request as a visitor would send it. `url` is absolute; `headers` map names to values."""

    method: Annotated[str, Meta(pattern=r"^[A-Z]{1,20}\Z", examples=["POST"])]
    url: Annotated[
        str, Meta(max_length=SAMPLE_CHARACTERS, pattern=r"^https?://[!-~]+\Z", examples=["https://shop.example/login"])
    ]
    headers: Annotated[dict[str, Annotated[str, Meta(max_length=SAMPLE_CHARACTERS)]], Meta(max_length=SAMPLE_HEADERS)]
    address: Annotated[str, Meta(min_length=2, max_length=45, examples=["198.51.100.7"])]


class TestInput(DraftInput, frozen=True, kw_only=True):
    """A sample request. Default: the site's current rules are explained."""

    # Despite the name, pytest need not look for tests in it.
    __test__ = False

    request: SampleRequest


class TracedRule(Record, frozen=True, kw_only=True):
    """One evaluated rule and the reason why it matched or did not match."""

    rule: str
    matched: bool
    because: str


class TestReport(Record, frozen=True, kw_only=True):
    """Outcome of the sample request. Without `rule`, the default action decided."""

    __test__ = False

    labels: list[str]
    scores: dict[str, float]
    route: str
    outcome: Outcome
    trace: list[TracedRule]
    action: str | UnsetType = UNSET
    rule: str | UnsetType = UNSET
    response: RuleResponse | UnsetType = UNSET
    # The entry of the site's lists that decides before any rule.
    list_entry: str | UnsetType = UNSET


class BacktestInput(DraftInput, frozen=True, kw_only=True):
    """Rules for a replay of stored events. Default range: the last 24 hours."""

    from_: str | UnsetType = UNSET
    to: str | UnsetType = UNSET


class BacktestFlip(Record, frozen=True, kw_only=True):
    """Number of decisions that would change from one outcome to another, number of labeled ones, and examples."""

    from_: Outcome
    to: Outcome
    count: int
    human_labelled: int
    bot_labelled: int
    examples: list[str]


class BacktestReport(Record, frozen=True, kw_only=True):
    """The outcomes of a range's decisions under other rules. `byRule` also counts the default, as `(default)`."""

    from_: Moment
    to: Moment
    evaluated: int
    changed: int
    flips: list[BacktestFlip]
    by_rule: dict[str, int]
    # Matches of rules whose action is `count`.
    counted: dict[str, int]
    # Decisions whose outcome stored events do not tell, and the rules that are the reason, with the missing parts.
    untold: int
    untold_rules: dict[str, list[str]]
    # False: there were more events than a backtest reads; these are the newest.
    complete: bool


def _no_traits(_predicates: Predicates | None) -> Traits:
    return NO_TRAITS


class SampleFacts(Struct, frozen=True, kw_only=True):
    """Labels, scores, route and action of a sample request."""

    labels: tuple[str, ...]
    scores: Mapping[str, float]
    route: str
    action: str | None
    # Reads it with the predicates of a rule set.
    read_traits: Callable[[Predicates | None], Traits] = _no_traits
