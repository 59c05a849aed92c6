"""What the decider remembers decides as deciding anew does, whatever changed since."""

import random

import pytest
from msgspec.structs import replace

from agentgate.lib.enums import AgentVerdict, Mode, ModelKind, WidgetMode
from agentgate.protection.decision import decider as remembering
from agentgate.protection.decision.decider import Decider
from agentgate.protection.decision.engine import decide
from agentgate.protection.decision.visitor import Visitors
from agentgate.protection.gateway.header_fingerprints import Glimpse, Heads
from agentgate.protection.rules.compile import compile_rules
from agentgate.protection.rules.effective import effective_set
from agentgate.protection.rules.records import RuleSet
from agentgate.protection.scoring.model_file import ModelFile
from agentgate.protection.scoring.models import ModelDirectory
from agentgate.protection.scoring.score import ModelView
from agentgate.protection.signals.facts import AgentFacts, Rates
from agentgate.protection.signals.numbers import NUMBERS
from agentgate.protection.signals.observe import observe
from agentgate.protection.signals.rates import RateWindows
from agentgate.protection.sites.directory import SiteView
from agentgate.protection.sites.routes import RouteTable
from agentgate.protection.threat_data.intel import IntelDirectory
from agentgate.server.demo.traffic import CLIENTS
from tests.unit.protection.scoring.made_models import forest, logistic, parsed
from tests.unit.protection.tokens.made import keyring

FIGURES = [name for name in NUMBERS if not name.startswith("content")]
LABELS = ["ua.http_library", "ua.browser", "receipt.clearance", "rate.visitor.high", "agent.verified"]
PLACES = (("*", None), ("*", "login"), ("/login", "login"), ("/login", None), ("/api/*", "search"))
LENGTHS = (0, 1, 2, 6, 29, 30, 60, 5_000)
AGENTS = (
    None,
    AgentFacts(verdict=AgentVerdict.VERIFIED, agent="https://a.example", purposes=("search",)),
    AgentFacts(verdict=AgentVerdict.VERIFIED, agent="https://b.example", purposes=("training", "nonsense")),
    AgentFacts(verdict=AgentVerdict.INVALID),
)
RULE_SETS = (
    {"rules": [{"name": "tools", "match": {"all_labels": ["ua.http_library"]}, "action": "block"}]},
    {"rules": [{"name": "bots", "match": {"score": "bot", "min_score": 0.4}, "action": "challenge"}]},
    {"rules": [{"name": "likely", "routes": ["login"], "match": {"any_prefix": ["model.bot"]}, "action": "drop"}]},
)


def site(number: int, mode: Mode, rules: dict) -> SiteView:
    return SiteView(
        id=f"st_{number}",
        number=number,
        site_key=f"site_{number}",
        account_id="acc_1",
        disabled=False,
        mode=mode,
        widget_mode=WidgetMode.INVISIBLE,
        origins=frozenset(),
        actions={},
        routes=RouteTable([]),
        folded_routes=RouteTable([]),
        rules=compile_rules(effective_set(RuleSet(version="t", default_action="allow", **rules), {})),
        captures_features=False,
    )


def trees(chance: random.Random) -> ModelFile:
    """Return a model that asks for every figure, at thresholds between and on whole numbers."""
    features = [*FIGURES, *LABELS]
    stumps = [
        {
            "feature": [feature, -1, -1],
            "threshold": [threshold, 0, 0],
            "left": [1, -1, -1],
            "right": [2, -1, -1],
            "value": [0, chance.uniform(-1, 1), chance.uniform(-1, 1)],
        }
        for feature in range(len(features))
        for threshold in ((0.7, 1, 2.5, 6.9, 29.75, 61) if feature < len(FIGURES) else (0.5,))
    ]
    return parsed(forest(features=features, trees=stumps))


def weights(chance: random.Random) -> ModelFile:
    features = [chance.choice(FIGURES), *LABELS]
    return parsed(logistic(features=features, weights=[chance.uniform(-1, 1) / 9 for _ in features], bias=0.1))


def some_models(chance: random.Random) -> ModelView:
    make = chance.choice((trees, weights))
    candidates = {ModelKind.BOT: chance.choice((trees, weights))(chance)} if chance.random() < 0.5 else {}
    return ModelView({ModelKind.BOT: make(chance)}, candidates)


def varied(chance: random.Random, seen: Glimpse) -> Glimpse:
    """Return a glimpse that differs in one thing, so that nearly everything was seen before."""
    route, action = chance.choice(PLACES)
    return replace(
        seen,
        **chance.choice(
            (
                {"target": "/" + "x" * chance.choice(LENGTHS)},
                {"rates": Rates(chance.choice((1, 2, 59, 60, 61, 62, 5_000)), seen.rates.network)},
                {"rates": Rates(seen.rates.visitor, chance.choice((1, 7, 600, 9_000)))},
                {"route": route, "action": action},
            )
        ),
    )


def some_glimpse(chance: random.Random, heads: Heads) -> Glimpse:
    headers = {name.encode(): value.encode("latin-1") for name, value in chance.choice(CLIENTS).headers}
    headers |= {b"cookie": b"; ".join([b"a=1"] * chance.randrange(1, 9))} if chance.random() < 0.5 else {}
    route, action = chance.choice(PLACES)
    return Glimpse(
        0,
        chance.choice(("GET", "POST")),
        "/" + "x" * chance.choice(LENGTHS),
        chance.choice(("203.0.113.9", "10.0.0.1")),
        headers,
        route,
        action,
        Rates(chance.choice((1, 2, 59, 60, 61, 62, 5_000)), chance.choice((1, 7, 600, 9_000))),
        chance.choice(((), ("missing",), ("clearance",))),
        heads.shape_of(headers),
        chance.choice(AGENTS),
    )


@pytest.fixture
def models() -> ModelDirectory:
    return ModelDirectory()


@pytest.fixture
def decider(models: ModelDirectory) -> Decider:
    return Decider(models=models, intel=IntelDirectory(None), rates=RateWindows(), visitors=Visitors(keyring()))


def test_a_remembered_decision_is_what_deciding_anew_gives(decider: Decider, models: ModelDirectory) -> None:
    chance, intel = random.Random(7), decider.intel
    heads = Heads(intel)
    sites = {number: site(number, Mode.ENFORCE, RULE_SETS[number]) for number in range(len(RULE_SETS))}
    found = set()
    for turn in range(4_000):
        if not turn % 500:
            models._view = some_models(chance)
            pool = [some_glimpse(chance, heads) for _ in range(4)]
        if not turn % 150:
            number = chance.randrange(len(sites))
            sites[number] = site(number, chance.choice(list(Mode)), chance.choice(RULE_SETS))
        view = chance.choice(list(sites.values()))
        seen = varied(chance, chance.choice(pool))

        remembered = decider.decide_observed(
            heads.observe(seen), view, route=seen.route, action=seen.action, started_ns=0
        )

        assert replace(remembered, duration_us=0) == replace(
            decide(seen.facts(), view, models.view, intel.current), duration_us=0
        )
        found.add((remembered.outcome, remembered.would))
    assert len(found) > 4


def test_only_so_many_decisions_are_remembered(decider: Decider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembering, "MOST_DECISIONS", 50)
    chance, view = random.Random(3), site(1, Mode.ENFORCE, RULE_SETS[0])
    heads = Heads(decider.intel)
    for _ in range(500):
        seen = some_glimpse(chance, heads)
        decider.decide_observed(heads.observe(seen), view, route=f"/{chance.random()}", action=None, started_ns=0)

        assert len(decider._decisions.of_site(view)) <= 51


def test_every_figure_is_a_count(decider: Decider) -> None:
    chance = random.Random(5)
    heads = Heads(decider.intel)
    for _ in range(200):
        numbers = observe(some_glimpse(chance, heads).facts(), decider.intel.current).numbers

        # Only of whole numbers can be said what models tell apart of them without asking the models.
        assert all(type(number) is int and number >= 0 for number in numbers.values())
