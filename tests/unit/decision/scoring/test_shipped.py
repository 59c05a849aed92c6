"""The models that come with the package: whole, honest about themselves, and sane about well-known visitors."""

import random
from pathlib import Path

import pytest

from agentgate.decision.scoring.directions import AGAINST, INNOCENT_ALONE, direction_of
from agentgate.decision.scoring.model_file import read_model
from agentgate.decision.scoring.models import SHIPPED_KINDS, ModelDirectory, shipped_model, summarize
from agentgate.decision.signals.facts import Observation, Rates, RequestFacts
from agentgate.decision.signals.numbers import NUMBERS
from agentgate.decision.signals.observe import observe
from agentgate.decision.threat_data.intel import load_intel
from agentgate.lib.enums import ModelKind, ModelRole
from tests.support.service import NOON_MS

CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36"
)
PAGE_LOAD = (
    ("host", "shop.example"),
    ("connection", "keep-alive"),
    ("sec-ch-ua", '"Google Chrome";v="141", "Not?A_Brand";v="8", "Chromium";v="141"'),
    ("sec-ch-ua-mobile", "?0"),
    ("sec-ch-ua-platform", '"Windows"'),
    ("upgrade-insecure-requests", "1"),
    ("user-agent", CHROME),
    ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"),
    ("sec-fetch-site", "none"),
    ("sec-fetch-mode", "navigate"),
    ("sec-fetch-user", "?1"),
    ("sec-fetch-dest", "document"),
    ("accept-encoding", "gzip, deflate, br, zstd"),
    ("accept-language", "de-DE,de;q=0.9,en;q=0.8"),
)
HOME = "91.64.12.34"
USUAL = (("ua.browser",), ("browser.evidence", "probes.right", "ua.browser"))


def scores(observation: Observation, *, content: str | None = None) -> dict[str, float]:
    return dict(ModelDirectory().view.score(observation, content=content).values)


def seen(*headers: tuple[str, str], content: str | None = None) -> Observation:
    facts = RequestFacts(
        now_ms=NOON_MS,
        method="GET",
        target="/",
        address=HOME,
        headers=headers,
        rates=Rates(),
        content=content,
    )
    return observe(facts, load_intel(None))


def of(*labels: str, **numbers: float) -> Observation:
    return Observation(labels=tuple(sorted(labels)), numbers=numbers)


@pytest.mark.parametrize("kind", SHIPPED_KINDS)
def test_every_shipped_model_shows_how_it_was_made(kind: ModelKind) -> None:
    shipped = shipped_model(kind)
    assert shipped is not None
    summary = summarize(shipped)

    assert read_model(shipped.file).kind == kind
    assert (summary.role, summary.installed_by) == (ModelRole.ACTIVE, "system")
    assert (Path(__file__).parents[4] / summary.metadata["card"]).exists()
    assert summary.metadata["data"]


def test_no_agent_model_is_shipped() -> None:
    assert shipped_model(ModelKind.AGENT) is None
    assert "agent" not in scores(of("ua.ai_agent", "agent.claimed"))


def test_one_trait_with_benign_causes_never_makes_a_usual_visitor_a_possible_bot() -> None:
    for name in INNOCENT_ALONE:
        for usual in USUAL:
            assert scores(of(*usual, name))["bot"] < 0.5, name


def test_more_evidence_never_lowers_the_score_of_the_shipped_model() -> None:
    model = read_model(shipped_model(ModelKind.BOT).file)
    against = [name for name in model.features if direction_of(name) == AGAINST]
    for seed in range(500):
        chance = random.Random(seed)
        labels = {name for name in model.features if chance.random() < 0.15}
        more = labels | {chance.choice(against)}
        assert scores(of(*more))["bot"] >= scores(of(*labels))["bot"]


def test_the_shipped_model_reads_no_names_networks_numbers_and_what_is_added_after_scoring() -> None:
    features = read_model(shipped_model(ModelKind.BOT).file).features

    assert len(features) <= 256
    assert not [name for name in features if name in NUMBERS or name.startswith(("agent.name", "net.", "ua.refused"))]


def test_a_person_with_chrome_is_not_a_bot() -> None:
    found = scores(seen(*PAGE_LOAD))

    assert found["bot"] < 0.2


def test_a_command_line_program_is_a_bot() -> None:
    assert scores(seen(("host", "shop.example"), ("user-agent", "curl/8.9.1"), ("accept", "*/*")))["bot"] > 0.9


@pytest.mark.parametrize(
    ("observation", "kind", "least", "most"),
    [
        (of("ua.browser"), "bot", 0.0, 0.1),
        (of("ua.browser", "net.datacenter"), "bot", 0.0, 0.2),
        (of("ua.browser", "net.vpn", "ua.old"), "bot", 0.0, 0.3),
        (of("ua.browser", "receipt.clearance"), "bot", 0.0, 0.05),
        (of("ua.browser", "behavior.keyboard_only", "browser.evidence"), "bot", 0.0, 0.1),
        (of("ua.headless", "net.datacenter", "http.accept_language_missing"), "bot", 0.9, 1.0),
        (of("ua.browser", "browser.evidence", "browser.webdriver"), "bot", 0.4, 1.0),
        (of("ua.browser", "browser.evidence", "browser.webdriver", "browser.headless"), "bot", 0.9, 1.0),
        (of("ua.browser", "http.client_hints_mismatch", "http.order_mismatch", "net.datacenter"), "bot", 0.5, 1.0),
        (of("ua.missing", "http.few_headers"), "bot", 0.7, 1.0),
        (of("ua.scanner", "net.datacenter"), "bot", 0.9, 1.0),
    ],
)
def test_well_known_visitors_have_sane_scores(observation: Observation, kind: str, least: float, most: float) -> None:
    assert least <= scores(observation)[kind] <= most


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("Thank you, the parcel came on Monday and everything was in it.", 0.0, 0.2),
        (
            "BUY CHEAP viagra http://a.example http://b.example http://c.example http://d.example http://e.example",
            0.8,
            1.0,
        ),
    ],
)
def test_content_is_reported_from_spam(text: str, least: float, most: float) -> None:
    assert least <= scores(seen(*PAGE_LOAD, content=text), content=text)["content"] <= most
