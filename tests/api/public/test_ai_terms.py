"""The terms of a site for crawlers: robots.txt, license and header lines say what the gateway does."""

from urllib.robotparser import RobotFileParser
from xml.etree import ElementTree as ET

import pytest

from agentgate.sites.rules.patterns.robots_rules import RobotsRules
from tests.api.public.ai_use import use_for
from tests.support.gateway import Gate
from tests.support.service import RunningService

OWN = "User-agent: *\nDisallow: /private/\n\nSitemap: https://shop.example/sitemap.xml\n"
RSL = "{https://rslstandard.org/rsl}"


def read(gate: Gate, name: str):
    return gate.service.public.get(f"/v1/sites/{gate.site_key}/{name}")


def robots(gate: Gate) -> RobotFileParser:
    parser = RobotFileParser()
    parser.parse(read(gate, "robots.txt").text.splitlines())
    return parser


@pytest.mark.parametrize("choice", ["block", "challenge"])
def test_closed_uses_are_disallowed_by_name(service: RunningService, choice: str) -> None:
    gate = Gate(service)
    use_for(gate, training=choice)

    found = robots(gate)

    answers = {name: found.can_fetch(name, "/page") for name in ("GPTBot", "ClaudeBot", "CCBot", "OAI-SearchBot")}
    assert answers == {"GPTBot": False, "ClaudeBot": False, "CCBot": False, "OAI-SearchBot": True}
    assert "Content-Signal: search=yes, ai-input=yes, ai-train=no\n" in read(gate, "robots.txt").text
    assert "Content-Usage: search=y, train-ai=n\n" in read(gate, "robots.txt").text


def test_the_owners_file_comes_first(service: RunningService) -> None:
    gate = Gate(service)
    service.operator.patch(f"/v1/admin/sites/{gate.site_key}", json={"robotsTxt": OWN})
    use_for(gate, training="allow", search="block")

    text = read(gate, "robots.txt").text

    assert text.startswith(OWN)
    assert "Allow: /\n" not in text.replace("Disallow: /\n", "")
    assert robots(gate).can_fetch("PerplexityBot", "/page") is False


def test_other_crawlers_may_read_a_site_with_its_own_file(service: RunningService) -> None:
    gate = Gate(service)
    service.operator.patch(f"/v1/admin/sites/{gate.site_key}", json={"robotsTxt": OWN})
    use_for(gate, training="block")

    # Groups as RFC 9309 has them: names that follow one another share the next rules, whatever lines are between.
    found = RobotsRules(read(gate, "robots.txt").text).judge("/page")

    assert found is not None
    answers = {name: found.disallows(name, is_closed=False) for name in ("gptbot", "googlebot", "oai-searchbot")}
    assert answers == {"gptbot": True, "googlebot": False, "oai-searchbot": False}


def test_the_license_has_the_free_the_sold_and_the_prohibited_uses(service: RunningService) -> None:
    gate = Gate(service)
    use_for(gate, search="allow", agent="block", training="price", price="USD 0.05")

    root = ET.fromstring(read(gate, "license.xml").text.encode())

    free, sold = root.findall(f"{RSL}content/{RSL}license")
    assert (free.findtext(f"{RSL}permits"), sold.findtext(f"{RSL}permits")) == ("search", "ai-train")
    assert free.findtext(f"{RSL}prohibits") == sold.findtext(f"{RSL}prohibits") == "ai-input"
    amount = sold.find(f"{RSL}payment/{RSL}amount")
    assert amount is not None
    assert (amount.get("currency"), amount.text) == ("USD", "0.05")


def test_header_lines_name_the_usage_and_the_license(service: RunningService) -> None:
    gate = Gate(service)

    headers = read(gate, "ai-headers").json()["headers"]

    assert headers["Content-Usage"] == "search=y, train-ai=n"
    assert f'/v1/sites/{gate.site_key}/license.xml>; rel="license"' in headers["Link"]


@pytest.mark.parametrize("name", ["robots.txt", "license.xml", "ai-headers"])
def test_an_unknown_site_has_no_terms(service: RunningService, name: str) -> None:
    assert service.public.get(f"/v1/sites/site_nobody1/{name}").status_code == 404
