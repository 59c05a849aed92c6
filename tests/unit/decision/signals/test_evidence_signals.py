"""Signals of the browser check, of behavior, receipts, agents and content: one trait, one label."""

import pytest

from agentgate.decision.signals.facts import AgentFacts
from agentgate.decision.signals.observe import observe
from agentgate.decision.threat_data.intel import load_intel
from agentgate.lib.enums import AgentVerdict
from tests.unit.decision.signals.requests import CHROME, PHONE, make_facts
from tests.unit.decision.signals.sound_evidence import SOUND

INTEL = load_intel(None)

CALM = {"pointerMoves": 40, "clicks": 1, "durationMs": 2400, "straightness": 1.18, "variation": 0.7}


def found(source, **changes):
    """Return the labels of one source, without the source."""
    labels = observe(make_facts(**changes), INTEL).labels
    return {label.partition(".")[2] for label in labels if label.startswith(source + ".")}


def test_a_sound_browser_gets_no_label_but_that_it_sent_evidence():
    assert found("browser", evidence={"signals": SOUND, "instrument": True}) == {"evidence"}


def test_without_a_browser_check_there_is_no_label():
    assert found("browser") == found("behavior") == set()


@pytest.mark.parametrize("evidence", [{}, {"signals": None}, {"signals": []}, {"signals": {}}, {"other": 1}])
def test_evidence_that_cannot_be_read_is_none(evidence):
    assert found("browser", evidence=evidence) == {"no_evidence"}


@pytest.mark.parametrize(
    ("change", "label"),
    [
        ({"webdriver": True}, "webdriver"),
        ({"automation": ["__playwright"]}, "automation"),
        ({"headless": True}, "headless"),
        ({"renderer": "Google SwiftShader"}, "software_renderer"),
        ({"languages": [], "frame": {"language": "en"}}, "no_languages"),
        ({"plugins": 0}, "no_plugins"),
        ({"screen": {"width": 0, "height": 0, "outerWidth": 1}}, "no_screen"),
        ({"screen": {"width": 800, "height": 600, "outerWidth": 0}}, "no_window_frame"),
        ({"worker": {"hardwareConcurrency": 2}}, "worker_mismatch"),
        ({"worker": {}}, "worker_missing"),
        ({"worker": None}, "worker_missing"),
        ({"frame": None}, "frame_missing"),
        ({"frame": {"languages": ["de"]}}, "frame_mismatch"),
        ({"injected": ["call"]}, "injected"),
        ({"webdriver": None}, "incomplete"),
        ({"screen": {"outerWidth": 1900}}, "incomplete"),
        ({"languages": ["ja"], "frame": {"languages": ["ja"]}}, "language_mismatch"),
        ({"platform": "Linux x86_64", "worker": {"userAgent": CHROME}}, "platform_mismatch"),
        ({"patched": ["toString"]}, "patched"),
        ({"timezone": ""}, "no_timezone"),
        ({"debugger": True}, "debugger"),
        ({"permissions": {"notification": "denied", "query": "prompt"}}, "permission_mismatch"),
    ],
)
def test_a_trait_gives_its_label_and_no_other(change, label):
    assert found("browser", evidence={"signals": {**SOUND, **change}}) == {"evidence", label}


WINDOW = {"width": 1920, "height": 1080, "outerWidth": 1920, "outerHeight": 1040, "ratio": 1, "isWhole": False}
INSIDE = {"innerWidth": 1920, "innerHeight": 940, "screenX": 0, "screenY": 0, "isTop": True}


@pytest.mark.parametrize(
    ("sizes", "odd"),
    [
        ({}, False),
        # A driver without a window; one that makes a screen of the page's size up; a window larger than both.
        ({"outerHeight": 1080, "innerHeight": 1080}, True),
        (
            {
                "width": 1280,
                "height": 720,
                "innerWidth": 1280,
                "innerHeight": 720,
                "outerWidth": 1288,
                "outerHeight": 805,
            },
            True,
        ),
        ({"outerWidth": 2400, "outerHeight": 1400}, True),
        # Full screen by choice; over two screens; maximized over the edges; zoomed; in a frame.
        ({"outerHeight": 1080, "innerHeight": 1080, "isWhole": True}, False),
        ({"outerWidth": 3840, "innerWidth": 3840}, False),
        ({"outerWidth": 1936, "outerHeight": 1056}, False),
        ({"outerHeight": 1080, "innerHeight": 1080, "ratio": 1.25}, False),
        ({"innerWidth": 1920, "innerHeight": 1080, "isTop": False}, False),
        ({"innerWidth": None, "ratio": "1"}, False),
    ],
)
def test_a_window_that_cannot_be_one_is_found(sizes, odd):
    signals = {**SOUND, "screen": {**WINDOW, **INSIDE, **sizes}}

    assert found("browser", evidence={"signals": signals}) == {"evidence", *(["window_mismatch"] if odd else [])}


def test_a_page_that_names_another_browser_than_the_header_is_found():
    signals = {**SOUND, "userAgent": PHONE, "worker": {"userAgent": PHONE}}

    assert found("browser", evidence={"signals": signals}) == {"evidence", "user_agent_mismatch"}


def test_a_phone_without_touch_is_found():
    signals = {**SOUND, "userAgent": PHONE, "platform": "Linux armv81", "worker": {"userAgent": PHONE}}

    assert found("browser", user_agent=PHONE, evidence={"signals": signals}) == {"evidence", "touch_mismatch"}


@pytest.mark.parametrize("answer", [False, "failed"])
def test_a_wrong_response_of_the_instrument_is_found(answer):
    assert found("browser", evidence={"signals": SOUND, "instrument": answer}) == {"evidence", "instrument_failed"}


def test_calm_movement_gets_no_label():
    assert found("behavior", evidence={"signals": SOUND, "interaction": CALM}) == set()


@pytest.mark.parametrize(
    ("change", "labels"),
    [
        ({"pointerMoves": 0, "clicks": 0}, {"none"}),
        ({"pointerMoves": 0}, {"click_only"}),
        ({"pointerMoves": 0, "clicks": 0, "keys": 12}, {"keyboard_only"}),
        ({"untrusted": 3}, {"untrusted_events"}),
        ({"durationMs": 20}, {"too_fast"}),
        ({"straightness": 1.0}, {"straight_pointer"}),
        ({"variation": 0.0}, {"uniform_timing"}),
        ({"straightness": float("nan"), "durationMs": float("inf"), "variation": "0"}, set()),
    ],
)
def test_movement_gives_its_labels(change, labels):
    assert found("behavior", evidence={"signals": SOUND, "interaction": {**CALM, **change}}) == labels


def test_receipts_give_the_states_of_the_catalogue_only():
    assert found("receipt", receipt=("valid", "browser", "no-such-state", "valid")) == {"valid", "browser"}


@pytest.mark.parametrize(
    ("verdict", "labels"),
    [
        (AgentVerdict.UNSIGNED, set()),
        (AgentVerdict.VERIFIED, {"verified"}),
        (AgentVerdict.INVALID, {"invalid"}),
        (AgentVerdict.UNVERIFIED, {"unverified"}),
    ],
)
def test_the_verdict_on_a_signature_gives_its_label(verdict, labels):
    assert found("agent", agent=AgentFacts(verdict=verdict)) == labels


def test_an_agent_shows_its_purpose_in_known_words_only():
    agent = AgentFacts(verdict=AgentVerdict.VERIFIED, purposes=("search", "world peace"))

    assert found("agent", agent=agent) == {"verified", "purpose.search", "use.search"}


def test_a_signature_does_not_take_the_claim_away():
    agent = AgentFacts(verdict=AgentVerdict.INVALID)

    assert found("agent", user_agent="GPTBot/1.3", agent=agent) == {
        "claimed",
        "invalid",
        "name.gptbot",
        "operator_unchecked",
        "purpose.training",
    }


PROSE = "Thank you for the parcel, it came on Monday and everything was in it. I will order the blue one as well."


def test_ordinary_prose_gets_no_label():
    assert found("content", content=PROSE) == set()


@pytest.mark.parametrize(
    ("content", "labels"),
    [
        ("  \n", {"empty"}),
        (PROSE + "\u202e", {"hidden_characters"}),
        (PROSE[:20] + "\ufeff" + PROSE[20:], {"hidden_characters"}),
        (PROSE + "\ufeff", set()),
        ("\ufeff" + PROSE + "\ufeff \n", set()),
        (PROSE + "\u200f", set()),
        ("Your p\u0430ypal account is waiting for you", {"mixed_scripts"}),
        ("THIS IS THE BEST THING THAT EVER HAPPENED TO ME", {"all_caps"}),
        (PROSE + " https://a.example" * 5, {"many_links"}),
        ("https://a.example", {"links_only"}),
        (PROSE + '<a href="x">', {"markup"}),
        ("cheap " * 30, {"repetition"}),
        (PROSE + " Visit our online casino today.", {"spam_phrase"}),
        (" ".join(f"word{number}" for number in range(2_000)), {"long"}),
        ("\U0001f468\u200d\U0001f469\u200d\U0001f467 family, \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", set()),
    ],
)
def test_content_gives_its_labels(content, labels):
    assert found("content", content=content) == labels
