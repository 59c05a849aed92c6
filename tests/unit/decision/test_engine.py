"""The engine: signals, scores, bands, rules and mode in one pure step; and the event of it replays to the same."""

import pytest
from msgspec.structs import replace

from agentgate.decision.engine import Views, decide, with_bands
from agentgate.decision.event import Answered, make_event
from agentgate.decision.scoring.models import ModelDirectory
from agentgate.decision.signals.facts import RequestFacts
from agentgate.decision.threat_data.intel import load_intel
from agentgate.decision.visitor import Visitors
from agentgate.lib.enums import DecisionKind, Mode, Outcome
from agentgate.lib.keyring import Keyring, StoredKey
from tests.unit.decision.decided_site import site

INTEL = load_intel(None)
VIEWS = Views(INTEL, ModelDirectory().view)
BROWSER = (
    ("host", "shop.example"),
    ("user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"),
    ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    ("accept-language", "de,en-US;q=0.7,en;q=0.3"),
    ("accept-encoding", "gzip, deflate, br, zstd"),
    ("sec-fetch-dest", "document"),
    ("sec-fetch-mode", "navigate"),
    ("sec-fetch-site", "none"),
)
CURL = (("host", "shop.example"), ("user-agent", "curl/8.14.1"), ("accept", "*/*"))


def facts(headers: tuple[tuple[str, str], ...], *, target: str = "/login") -> RequestFacts:
    matched = site().routes.find("POST", target)
    return RequestFacts(
        now_ms=0,
        method="POST",
        target=target,
        address="203.0.113.7",
        headers=headers,
        route=matched.route,
        action=matched.action,
    )


def test_enforce_mode_applies_what_the_rules_show():
    decision = decide(facts(CURL), site(), VIEWS)
    assert (decision.outcome, decision.would) == (Outcome.BLOCK, None)
    assert decision.reasons == ("policy",)
    assert decision.verdict.rule == "no-tools-at-login"
    assert decision.verdict.counted == ("watch",)
    assert decision.verdict.response is not None
    assert decision.verdict.response.retry_after == 30


def test_monitor_mode_allows_and_shows_what_it_would_have_done():
    decision = decide(facts(CURL), site(mode=Mode.MONITOR), VIEWS)
    assert (decision.outcome, decision.would) == (Outcome.ALLOW, Outcome.BLOCK)


def test_monitor_mode_would_do_nothing_else_about_what_is_allowed():
    decision = decide(facts(BROWSER), site(mode=Mode.MONITOR), VIEWS)
    assert (decision.outcome, decision.would, decision.reasons) == (Outcome.ALLOW, None, ("allowed",))


def test_a_rule_of_one_action_leaves_other_routes_alone():
    assert decide(facts(CURL, target="/"), site(), VIEWS).outcome is Outcome.ALLOW


def test_score_bands_are_labels_in_their_place():
    assert with_bands(("a.x", "ua.y"), {"bot": 0.9}) == ("a.x", "model.bot.likely", "model.bot.possible", "ua.y")
    assert with_bands(("a.x",), {"bot": 0.1}) == ("a.x",)


@pytest.mark.parametrize("headers", [CURL, BROWSER, ()])
@pytest.mark.parametrize("mode", [Mode.MONITOR, Mode.ENFORCE])
def test_the_event_of_a_decision_replays_to_the_same_verdict(headers: tuple[tuple[str, str], ...], mode: Mode):
    view = site(mode=mode)
    decision = decide(facts(headers), view, VIEWS)
    event = make_event(facts(headers), view, decision, Answered(id=1, visitor=2, status=204))
    again = view.rules.evaluate(event.labels, event.scores, route=event.route, action=event.action)
    assert again == decision.verdict
    assert (event.would or event.outcome) is again.outcome
    assert event.rule_set_version == view.rules.version


def test_the_event_keeps_features_only_where_the_site_captures_them():
    decision = decide(facts(CURL), site(), VIEWS)
    answered = Answered(id=1, visitor=2, status=403)
    assert make_event(facts(CURL), site(), decision, answered).features is None
    kept = make_event(facts(CURL), site(captures=True), decision, answered).features
    assert kept is not None
    assert kept["ua.http_library"] == 1.0


def test_a_method_no_one_knows_is_not_remembered_by_its_name():
    odd = replace(facts(CURL), method="X" * 2000)
    decision = decide(odd, site(), VIEWS)
    event = make_event(odd, site(), decision, Answered(id=1, visitor=2, status=403, kind=DecisionKind.REQUEST))
    assert event.method == "OTHER"


def keyring(material: bytes) -> Keyring:
    stored = StoredKey(id="k", purpose="visitor", sealed=b"", created_ms=0, active_ms=0)
    return Keyring([(stored, material)], 0)


def test_a_visitor_differs_from_site_to_site_and_is_the_same_over_one_network_of_ipv6():
    visitors = Visitors(keyring(b"k" * 32))
    here, there = visitors.find("site_aaaa", "203.0.113.7"), visitors.find("site_bbbb", "203.0.113.7")
    assert here != there
    assert here == visitors.find("site_aaaa", "203.0.113.7")
    assert visitors.find("site_aaaa", "2001:db8::1") == visitors.find("site_aaaa", "2001:db8::2")
    assert visitors.find("site_aaaa", "2001:db8::1") != visitors.find("site_aaaa", "2001:db8:0:1::1")


def test_a_rotated_key_gives_everyone_another_pseudonym_at_once():
    ring = keyring(b"k" * 32)
    visitors = Visitors(ring)
    before = visitors.find("site_aaaa", "203.0.113.7")
    stored = StoredKey(id="n", purpose="visitor", sealed=b"", created_ms=0, active_ms=0)
    ring.replace([(stored, b"n" * 32)], 0)
    assert visitors.find("site_aaaa", "203.0.113.7") != before
