"""The feed for firewalls over HTTP: its switch and credential, its formats, and clients that try to list others."""

from dataclasses import replace

import httpx
import pytest

from agentgate.gateway.block_feed.feed import LEAST_OFFENSES, SETTLE_MS, WARM_MS
from agentgate.lib.clock import SECOND_MS
from agentgate.lib.limits import GATEWAY_REQUESTS_PER_MINUTE
from tests.population.sent import Sent, Should
from tests.population.visitors import population
from tests.support.service import RunningService
from tests.support.traffic_site import SEED, Site, visitor_of

ADDRESS, OTHER = "81.2.69.142", "81.2.69.143"
SCANNER = [("User-Agent", "sqlmap/1.7.2#stable (https://sqlmap.org)"), ("Accept", "*/*")]
URL = "https://shop.example/"


@pytest.fixture
def site(service: RunningService) -> Site:
    made = Site(service)
    made.change(blockFeed=True)
    service.clock.advance(seconds=WARM_MS // SECOND_MS + 1)
    return made


def scan(site: Site, address: str = ADDRESS, times: int = LEAST_OFFENSES, **headers: str) -> set[int]:
    sent = Sent("", "", "GET", URL, [*SCANNER, *headers.items()], address, Should.PASS)
    return {site.status_at_once(sent) for _ in range(times)}


def page(site: Site, address: str = ADDRESS, cookie: str = "") -> int:
    visit = visitor_of(address).navigation(1, cookie)
    return site.status((visit.url, "", visit.headers), address)


def read(site: Site, path: str = "/v1/decisions", **headers: str) -> httpx.Response:
    return site.service.public.get(path, headers={"X-Api-Key": site.secret} | headers)


def listed(site: Site) -> list[str]:
    site.service.clock.advance(seconds=SETTLE_MS // SECOND_MS)
    reply = read(site)
    assert reply.status_code == 200, reply.text
    return [each["value"] for each in reply.json() or []]


def test_a_scanner_is_listed_in_the_form_that_bouncers_read(site: Site) -> None:
    assert read(site).text == "null"
    assert scan(site) == {403}

    assert listed(site) == [ADDRESS]
    [found] = read(site).json()
    assert found.pop("duration").endswith("s")
    assert found == {
        "id": 1,
        "origin": "agentgate",
        "type": "ban",
        "scope": "Ip",
        "value": ADDRESS,
        "scenario": "agentgate/scanner",
    }
    assert read(site, f"/v1/decisions?ip={ADDRESS}&type=ban").json()[0]["value"] == ADDRESS
    assert read(site, f"/v1/decisions?ip={OTHER}").text == "null"
    assert read(site, "/v1/decisions?ip=a%20b").status_code == 400
    for query in ("", "?startup=true&scopes=Ip,Range&origins=x"):
        stream = read(site, f"/v1/decisions/stream{query}").json()
        assert [each["value"] for each in stream["new"]] == [ADDRESS]
        assert stream["deleted"] == []


def test_the_feed_needs_the_sites_secret_and_its_switch(site: Site, service: RunningService) -> None:
    scan(site)
    other = Site(service)
    for path in ("/v1/decisions", "/v1/decisions/stream"):
        assert service.public.get(path).status_code == 403
        assert read(site, path, **{"X-Api-Key": "wrong"}).json()["error"] == "invalid_credential"
        assert read(other, path).json()["error"] == "not_found"
        assert service.public.get(path, headers={"Authorization": f"Bearer {site.secret}"}).status_code == 200
    other.change(blockFeed=True)
    assert listed(other) == []
    site.change(blockFeed=False)
    assert read(site).status_code == 404
    assert "blockFeed" in str(service.operator.get(f"/v1/admin/sites/{site.key}/changes").json())


def test_nothing_is_collected_while_it_is_off(site: Site) -> None:
    site.change(blockFeed=False)
    page(site)
    scan(site)
    site.change(blockFeed=True)
    page(site, OTHER)

    assert listed(site) == []


def test_a_monitored_site_lists_nothing(site: Site) -> None:
    site.change(mode="monitor")
    page(site, OTHER)

    assert scan(site) == {204}
    assert listed(site) == []


def test_a_scanner_that_shares_an_address_with_people_does_not_lock_them_out(site: Site) -> None:
    assert page(site) == 204
    scan(site)
    assert listed(site) == []
    # People who come while an address is listed free it, as far as a firewall lets them.
    scan(site, OTHER)
    assert listed(site) == [OTHER]
    assert page(site, OTHER) == 204
    assert listed(site) == []
    assert [each["value"] for each in read(site, "/v1/decisions/stream").json()["deleted"]] == [ADDRESS, OTHER]


def test_a_clearance_spares_its_address_where_every_page_needs_one(site: Site) -> None:
    site.change(wholeSite=True)
    cookie = site.clearance(visitor_of(ADDRESS))
    assert page(site) == 401
    assert page(site, cookie=cookie) == 204
    scan(site)
    scan(site, OTHER)
    name, _, value = cookie.partition("=")
    assert page(site, OTHER, f"{name}={value[:-8]}AAAAAAAA") == 401

    assert listed(site) == [OTHER]


def test_a_flood_of_one_browser_is_listed_and_challenged_visitors_are_not(site: Site) -> None:
    def flood(address: str, times: int) -> int:
        visit = visitor_of(address).navigation(1)
        sent = Sent("", "", "GET", visit.url, visit.headers, address, Should.PASS)
        return [site.status_at_once(sent) for _ in range(times)][-1]

    assert flood(ADDRESS, GATEWAY_REQUESTS_PER_MINUTE // 2) == 401
    assert listed(site) == []
    site.service.clock.advance(seconds=120)
    assert flood(OTHER, GATEWAY_REQUESTS_PER_MINUTE + LEAST_OFFENSES + 1) == 403
    assert listed(site) == [OTHER]
    # At the address of a school, another browser loads a page first.
    site.service.clock.advance(seconds=120)
    school = "81.2.69.200"
    [pupil] = population(SEED, 1, pages=2, mix=(("Firefox", "Windows", 1.0),))
    visit = replace(pupil, address=school).navigation(1)
    assert site.status((visit.url, "", visit.headers), school) == 204
    assert flood(school, GATEWAY_REQUESTS_PER_MINUTE + LEAST_OFFENSES + 1) == 403
    assert school not in listed(site)


def test_a_forwarded_address_lists_only_the_client_itself(site: Site) -> None:
    spoofed = "93.184.216.34"
    scan(site, **{"X-Forwarded-For": spoofed, "X-Real-IP": spoofed, "Forwarded": f"for={spoofed}"})

    assert listed(site) == [ADDRESS]


def test_addresses_in_the_sites_lists_are_never_listed(site: Site) -> None:
    for kind, address in (("allow", ADDRESS), ("block", OTHER)):
        body = {"kind": "network", "value": f"{address}/32", "outcome": kind}
        path = f"/v1/admin/sites/{site.key}/list-entries"
        done = site.service.operator.post(path, json=body)
        assert done.status_code == 201, done.text
    page(site, "81.2.69.250")
    scan(site)
    scan(site, OTHER)
    scan(site, times=GATEWAY_REQUESTS_PER_MINUTE + LEAST_OFFENSES)

    assert listed(site) == []


def test_rules_of_the_owner_list_no_one(site: Site) -> None:
    rule = {"name": "no-admin", "match": {"any_labels": ["ua.scanner"]}, "action": "block"}
    rule_set = {"version": "1", "rules": [rule], "default_action": "allow"}
    path = f"/v1/admin/sites/{site.key}/rules"
    assert site.service.operator.put(path, json={"ruleSet": rule_set, "revision": 0}).status_code == 200
    page(site, OTHER)

    assert scan(site) == {403}
    assert listed(site) == []
