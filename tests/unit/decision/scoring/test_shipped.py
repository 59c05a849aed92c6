"""The models that come with the package: whole, honest about themselves, and sane about well-known visitors."""

import pytest

from agentgate.decision.scoring.model_file import read_model
from agentgate.decision.scoring.models import ModelDirectory, shipped_model, summarize
from agentgate.decision.signals.facts import Observation, Rates, RequestFacts
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


def scores(observation: Observation, *, content: bool = False) -> dict[str, float]:
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


@pytest.mark.parametrize("kind", ModelKind)
def test_every_kind_ships_an_active_model_that_shows_how_it_was_made(kind: ModelKind) -> None:
    shipped = shipped_model(kind)
    summary = summarize(shipped)

    assert read_model(shipped.file).kind == kind
    assert (summary.role, summary.installed_by) == (ModelRole.ACTIVE, "system")
    assert "no training data" in summary.metadata["note"]


def test_a_person_with_chrome_is_not_a_bot_and_no_agent() -> None:
    found = scores(seen(*PAGE_LOAD))

    assert found["bot"] < 0.2
    assert found["agent"] < 0.2


def test_a_command_line_program_is_a_bot() -> None:
    assert scores(seen(("host", "shop.example"), ("user-agent", "curl/8.9.1"), ("accept", "*/*")))["bot"] > 0.9


def test_a_known_ai_crawler_is_an_agent() -> None:
    headers = (
        ("host", "shop.example"),
        ("user-agent", "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)"),
    )

    assert scores(seen(*headers, ("accept", "*/*")))["agent"] > 0.8


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
        (of("ua.browser", "http.client_hints_mismatch", "http.order_mismatch", "net.datacenter"), "bot", 0.5, 0.95),
        (of("ua.missing", "http.few_headers"), "bot", 0.7, 1.0),
        (of("ua.scanner", "net.datacenter"), "bot", 0.9, 1.0),
        (of("agent.verified"), "agent", 0.8, 1.0),
        (of("agent.claimed", "ua.crawler", "ua.search_engine"), "agent", 0.0, 0.2),
        (of("ua.browser", "net.datacenter"), "agent", 0.0, 0.1),
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
    assert least <= scores(seen(*PAGE_LOAD, content=text), content=True)["content"] <= most
