"""Decoys over HTTP: clients that open one are challenged, and no attacker has people or a school challenged."""

import re
import time
from dataclasses import replace

import httpx
import pytest

from agentgate.http.connection.loop_budget import SAME_TURN_S
from tests.population.sent import Sent, Should
from tests.population.visitors import ORIGIN, population
from tests.support.browser_client import decision_of
from tests.support.gateway import CHROME, VISITOR, Gate, said
from tests.support.service import RunningService
from tests.support.traffic_site import CHROMES, SEED, Site

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"
# A program with no headers of a browser, which follows links as libraries for crawling do.
SPIDER: dict[str, str | None] = {name.lower().replace("-", "_"): None for name in VISITOR} | {
    "user_agent": "Scrapy/2.13",
    "accept": "text/html",
}
OTHER_ADDRESS = "203.0.113.77"
LINK = re.compile(r"<a href=(/[a-z2-7]+/[a-z2-7]+) rel=nofollow hidden aria-hidden=true tabindex=-1 ")


@pytest.fixture
def gate(service: RunningService) -> Gate:
    gate = Gate(service)
    change(gate, decoys=True)
    return gate


def change(gate: Gate, **fields: object) -> None:
    reply = gate.service.operator.patch(f"/v1/admin/sites/{gate.site_key}", json=fields)
    assert reply.status_code == 200, reply.text
    gate.service.run(gate.service.application.refresher.sites.await_refresh())


def pass_days(gate: Gate, days: int) -> None:
    """Move the clock. Requests in the same event-loop iteration would still have the day before."""
    gate.service.clock.advance(seconds=days * 86_400)
    time.sleep(10 * SAME_TURN_S)


def link_in(gate: Gate) -> str:
    """Return the link that the adapter adds to the site's pages."""
    found = LINK.match(gate.check("GET", "/").headers["x-service-decoy"])
    assert found
    return found[1]


def is_challenged(gate: Gate, path: str = "/", **headers: str | None) -> bool:
    found = said(ask(gate, path, **headers))
    assert found[:2] in {(401, "challenge"), (204, "allow")}
    return found[0] == 401


def open_link(gate: Gate, link: str = "", **headers: str | None) -> None:
    ask(gate, link or link_in(gate), **headers)


def ask(gate: Gate, path: str, **headers: str | None) -> httpx.Response:
    """Request a page with other values of the visitor's headers, each under the name that the visitor has."""
    names = {name.lower().replace("-", "_"): name for name in VISITOR}
    return gate.check("GET", path, **{names.get(name, name): value for name, value in headers.items()})


def test_a_client_that_opens_the_link_is_challenged_for_an_hour(gate: Gate) -> None:
    reply = gate.check("GET", link_in(gate))
    assert said(reply) == (401, "challenge", "policy")
    decision = decision_of(gate.service, gate.site_key, reply.headers["x-service-decision-id"])
    assert "decoy.touched" in decision["labels"]
    assert decision["matchedRule"] == "decoy-touched"
    assert is_challenged(gate, "/page")
    part = ask(gate, "/style", accept="text/css,*/*;q=0.1", sec_fetch_dest="style", sec_fetch_mode="no-cors")
    assert decision_of(gate.service, gate.site_key, part.headers["x-service-decision-id"])["outcome"] == "challenge"
    assert "x-service-decoy" not in gate.check("GET", "/").headers
    gate.service.clock.advance(seconds=3_601)

    assert not is_challenged(gate)


def test_the_link_changes_with_the_day_and_yesterdays_still_counts(gate: Gate) -> None:
    first = link_in(gate)
    pass_days(gate, 1)
    second = link_in(gate)
    assert second != first
    open_link(gate, first)
    assert is_challenged(gate)
    pass_days(gate, 1)
    link_in(gate)
    open_link(gate, first)
    assert not is_challenged(gate)


def test_the_line_of_html_works_on_any_day(gate: Gate) -> None:
    detail = gate.service.operator.get(f"/v1/admin/sites/{gate.site_key}").json()
    found = LINK.match(detail["decoy"]["html"])
    assert found
    assert found[1] != link_in(gate)
    pass_days(gate, 40)
    open_link(gate, found[1])

    assert is_challenged(gate)


def test_a_program_that_follows_the_link_needs_no_fetch_metadata(gate: Gate) -> None:
    rules = {"version": "1", "default_action": "allow", "rules": [{"group": "decoys", "version": 1}]}
    at = f"/v1/admin/sites/{gate.site_key}/rules"
    assert gate.service.operator.put(at, json={"ruleSet": rules, "revision": 0}).status_code == 200
    link = link_in(gate)
    for referer in (
        None,
        "https://evil.example/",
        f"{ORIGIN}.evil.example/",
        "https://evil.example/https://shop.example/",
    ):
        open_link(gate, link, **SPIDER, referer=referer)
        assert not is_challenged(gate, **SPIDER)
    open_link(gate, link, **SPIDER, referer=f"{ORIGIN}/page")

    assert is_challenged(gate, **SPIDER)
    assert not is_challenged(gate)


NAVIGATION = {"sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"sec_fetch_site": "cross-site"}, id="a link on another site"),
        pytest.param({"sec_fetch_site": "cross-site", "sec_fetch_user": "?1"}, id="a click on another site"),
        pytest.param({"sec_fetch_site": "same-site"}, id="a link on another host of the domain"),
        pytest.param({"sec_fetch_site": "none", "sec_fetch_user": "?1"}, id="an address that was sent by mail"),
        pytest.param({"sec_fetch_user": "?1"}, id="a click on a comment"),
        pytest.param({"sec_fetch_dest": "iframe"}, id="a frame in a comment"),
        pytest.param(
            {
                "sec_fetch_site": "cross-site",
                "sec_fetch_mode": "no-cors",
                "sec_fetch_dest": "image",
                "accept": "image/*",
            },
            id="an image on another site",
        ),
        pytest.param(
            {"sec_fetch_mode": "no-cors", "sec_fetch_dest": "image", "accept": "image/avif,image/*,*/*;q=0.8"},
            id="an image in a comment",
        ),
        pytest.param({"sec_fetch_mode": "cors", "sec_fetch_dest": "empty", "accept": "*/*"}, id="a script"),
        pytest.param({"sec_purpose": "prefetch"}, id="prefetch"),
        pytest.param({"sec_purpose": "prefetch;prerender"}, id="prerender"),
        pytest.param({"purpose": "prefetch"}, id="prefetch of Safari"),
        pytest.param({"x_moz": "prefetch"}, id="prefetch of Firefox"),
    ],
)
def test_no_visitor_is_flagged_by_what_another_page_or_a_browser_loads(gate: Gate, headers: dict[str, str]) -> None:
    open_link(gate, **headers)

    assert not is_challenged(gate)


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"referer": "https://evil.example/page"}, id="a link on another site"),
        pytest.param({}, id="a link without a referrer"),
        pytest.param({"referer": f"{ORIGIN}/forum", "accept": "image/png,image/*;q=0.8,*/*;q=0.5"}, id="an image"),
        pytest.param({"referer": f"{ORIGIN}/", "purpose": "prefetch"}, id="prefetch"),
    ],
)
def test_browsers_without_fetch_metadata_are_judged_by_their_referrer(gate: Gate, headers: dict[str, str]) -> None:
    old = {f"sec_fetch_{name}": None for name in ("site", "mode", "dest")}
    old |= {"user_agent": "Mozilla/5.0 (Windows NT 6.1; rv:52.0) Gecko/20100101 Firefox/52.0"}
    old |= dict.fromkeys(("sec_ch_ua", "sec_ch_ua_mobile", "sec_ch_ua_platform"))
    open_link(gate, **(old | headers))

    assert "decoy.touched" not in labels_of(gate, **old)
    open_link(gate, **old, referer=f"{ORIGIN}/")
    assert "decoy.touched" in labels_of(gate, **old)


def labels_of(gate: Gate, **headers: str | None) -> list[str]:
    reply = ask(gate, "/", **headers)
    return decision_of(gate.service, gate.site_key, reply.headers["x-service-decision-id"])["labels"]


@pytest.mark.parametrize(
    "name",
    [
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
        "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
        "Feedly/1.0 (+https://feedly.com/poller.html; 3 subscribers)",
    ],
)
def test_crawlers_that_name_themselves_are_judged_by_robots_txt(gate: Gate, name: str) -> None:
    crawler = SPIDER | {"user_agent": name, "referer": f"{ORIGIN}/"}
    link = link_in(gate)
    reply = ask(gate, link, **crawler)
    labels = decision_of(gate.service, gate.site_key, reply.headers["x-service-decision-id"])["labels"]

    assert "decoy.touched" not in labels
    assert "decoy.touched" not in labels_of(gate, **crawler)
    assert ("robots.disallowed" in labels) is ("Feedly" not in name)


def test_a_pupils_program_flags_no_other_browser_of_the_school(gate: Gate) -> None:
    open_link(gate)
    assert is_challenged(gate)

    hints = dict.fromkeys(("sec_ch_ua", "sec_ch_ua_mobile", "sec_ch_ua_platform"))
    assert "decoy.touched" not in labels_of(gate, user_agent=FIREFOX, **hints)
    windows = CHROME.replace("X11; Linux x86_64", "Windows NT 10.0; Win64; x64")
    assert not is_challenged(gate, sec_ch_ua_platform='"Windows"', user_agent=windows)
    gate.address = OTHER_ADDRESS
    assert not is_challenged(gate)


def test_a_school_that_an_embedded_link_sends_to_the_decoy_is_not_challenged(service: RunningService) -> None:
    site, school = Site(service), "81.2.69.200"
    site.change(decoys=True)
    detail = service.operator.get(f"/v1/admin/sites/{site.key}").json()
    found = LINK.match(detail["decoy"]["html"])
    assert found
    pupils = [replace(each, address=school) for each in population(SEED, 12, pages=3)]
    fields = {"sec-fetch-site": "cross-site", "referer": "https://evil.example/"}
    for pupil in pupils:
        headers = [(name, value) for name, value in pupil.navigation(1).headers if name.lower() not in fields]
        sent = [
            (name, fields[name]) for name in fields if name == "referer" or pupil_has(pupil.navigation(1).headers, name)
        ]
        site.status(Sent("", "", "GET", f"{ORIGIN}{found[1]}", [*headers, *sent], school, Should.PASS))

    assert [status for each in pupils for status in site.statuses(each, range(1, 3))] == [204] * 24


def pupil_has(headers: list[tuple[str, str]], name: str) -> bool:
    return any(each.lower() == name for each, _ in headers)


def test_a_clearance_passes_and_no_default_rule_blocks(service: RunningService) -> None:
    site = Site(service)
    site.change(decoys=True)
    [visitor] = population(SEED, 1, pages=4, mix=CHROMES)
    detail = service.operator.get(f"/v1/admin/sites/{site.key}").json()
    found = LINK.match(detail["decoy"]["html"])
    assert found
    headers = [each for each in visitor.navigation(2).headers if each[0].lower() != "sec-fetch-user"]
    sent = Sent("", "", "GET", f"{ORIGIN}{found[1]}", headers, visitor.address, Should.PASS)
    assert site.status(sent) == 401
    assert site.status((visitor.navigation(2).url, "", visitor.navigation(2).headers), visitor.address) == 401
    cleared = visitor.navigation(2, site.clearance(visitor))

    assert site.status((cleared.url, "", cleared.headers), visitor.address) == 204


def test_in_monitor_mode_the_decision_shows_the_challenge(gate: Gate) -> None:
    change(gate, mode="monitor")
    reply = gate.check("GET", link_in(gate))

    assert reply.status_code == 204
    assert reply.headers["x-service-would-decision"] == "challenge"


def test_the_switch_is_off_by_default_and_ends_everything(gate: Gate, service: RunningService) -> None:
    link = link_in(gate)
    open_link(gate, link)
    assert is_challenged(gate)
    change(gate, decoys=False)
    assert not is_challenged(gate)
    reply = gate.check("GET", "/")
    assert "x-service-decoy" not in reply.headers
    open_link(gate, link)
    assert not is_challenged(gate)
    detail = service.operator.get(f"/v1/admin/sites/{gate.site_key}").json()
    assert detail["decoys"] is False
    assert "decoy" not in detail
    assert "decoys" in str(service.operator.get(f"/v1/admin/sites/{gate.site_key}/changes").json())
    other = Gate(service)
    assert "x-service-decoy" not in other.check("GET", "/").headers
    assert other.service.operator.patch(f"/v1/admin/sites/{other.site_key}", json={"decoy": {}}).status_code == 400


def test_only_allowed_pages_get_the_link(gate: Gate) -> None:
    for headers in (
        {"sec_fetch_dest": "image", "sec_fetch_mode": "no-cors", "accept": "image/*"},
        {"sec_fetch_dest": "empty", "sec_fetch_mode": "cors", "accept": "*/*"},
    ):
        assert "x-service-decoy" not in ask(gate, "/", **headers).headers
    assert "x-service-decoy" not in gate.check("POST", "/login").headers
    link_in(gate)


def test_robots_txt_forbids_the_links_also_to_crawlers_with_own_groups(gate: Gate) -> None:
    change(
        gate,
        robotsTxt="User-agent: Bingbot\nDisallow: /search\n",
        aiUse={"search": "allow", "agent": "allow", "training": "block"},
    )
    text = gate.service.public.get(f"/v1/sites/{gate.site_key}/robots.txt").text
    line = gate.service.operator.get(f"/v1/admin/sites/{gate.site_key}").json()["decoy"]["robotsTxt"]

    assert link_in(gate).startswith(line.removeprefix("Disallow: "))
    assert text.count(line) == 3
    assert f"User-agent: Bingbot\n{line}\nDisallow: /search" in text
    assert f"User-agent: *\n{line}\nContent-Signal" in text
