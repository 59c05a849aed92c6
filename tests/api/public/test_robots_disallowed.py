"""`robots.disallowed`: a crawler that names itself and requests what the site's robots.txt disallows."""

import httpx
import pytest

from tests.api.public.ai_use import use_for
from tests.support.browser_client import decision_of
from tests.support.gateway import VISITOR, Gate, said
from tests.support.service import RunningService

OWN = "User-agent: *\nDisallow: /private/\n\nUser-agent: Bingbot\nDisallow: /search\n"
GPTBOT = "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)"
BINGBOT = "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)"
CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36"


@pytest.fixture
def gate(service: RunningService) -> Gate:
    gate = Gate(service)
    use_for(gate, training="block", search="allow", agent="allow")
    service.operator.patch(f"/v1/admin/sites/{gate.site_key}", json={"robotsTxt": OWN})
    service.run(service.application.refresher.sites.await_refresh())
    return gate


def ask(gate: Gate, path: str, agent: str) -> httpx.Response:
    unset = {name.replace("-", "_"): None for name in VISITOR}
    return gate.check("GET", path, **{**unset, "user_agent": agent, "accept": "*/*"})


def labels_of(gate: Gate, path: str, agent: str) -> set[str]:
    reply = ask(gate, path, agent)
    decision = decision_of(gate.service, gate.site_key, reply.headers["x-service-decision-id"])
    return {label for label in decision["labels"] if label.startswith("robots.")}


@pytest.mark.parametrize(
    ("path", "agent", "crawler"),
    [
        ("/page", GPTBOT, "gptbot"),
        ("/robots.txt", GPTBOT, None),
        ("/private/a", BINGBOT, None),
        ("/search?q=a", BINGBOT, "bingbot"),
        ("/%73earch?q=a", BINGBOT, "bingbot"),
        ("/private/a", CHROME, None),
    ],
)
def test_only_crawlers_by_their_own_group(gate: Gate, path: str, agent: str, crawler: str | None) -> None:
    expected = set() if crawler is None else {"robots.disallowed", f"robots.disallowed.{crawler}"}

    # A second request of another path with the same headers has its own decision.
    labels_of(gate, "/", agent)
    assert labels_of(gate, path, agent) == expected


def test_they_are_counted_by_crawler(gate: Gate) -> None:
    for path, agent in (("/search", BINGBOT), ("/search?a", BINGBOT), ("/page", GPTBOT), ("/", BINGBOT)):
        labels_of(gate, path, agent)
    gate.service.clock.advance(seconds=1)

    found = gate.service.operator.get(f"/v1/admin/sites/{gate.site_key}/ai-traffic").json()

    assert found["againstRobots"] == [{"name": "bingbot", "count": 2}, {"name": "gptbot", "count": 1}]


def test_a_rule_may_block_them(gate: Gate) -> None:
    rule = {"name": "robots", "match": {"any_labels": ["robots.disallowed"]}, "action": "block"}
    rule_set = {"version": "1", "rules": [rule], "default_action": "allow"}
    at = f"/v1/admin/sites/{gate.site_key}/rules"
    saved = gate.service.operator.put(at, json={"ruleSet": rule_set, "revision": 0})
    assert saved.status_code == 200, saved.text
    gate.service.run(gate.service.application.refresher.refresh())

    assert said(ask(gate, "/search", BINGBOT))[:2] == (403, "block")
    assert said(ask(gate, "/", BINGBOT))[:2] == (204, "allow")


def test_a_site_without_terms_has_no_such_label(service: RunningService) -> None:
    gate = Gate(service)
    use_for(gate, training="allow", search="allow", agent="allow")

    assert labels_of(gate, "/page", BINGBOT) == set()
