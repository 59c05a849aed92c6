"""Network lists in the console: sources, changes, pages, limits, rejected input, audit entries."""

from typing import Any

import pytest

from agentgate.lib.limits import NETWORK_LISTS_PER_SITE, NETWORKS_PER_CHANGE, NETWORKS_PER_SITE
from agentgate.sites.lists import network_endpoints
from tests.api.console.steps import CONSOLE, refusal, told, trail
from tests.support.cast import Cast
from tests.support.service import RunningService

URL = {"source": "url", "url": "https://lists.invalid/drop.txt", "refreshMinutes": 30}
LAPI = {"source": "crowdsec", "url": "https://lapi.invalid/"}


@pytest.fixture
def site(people: Cast) -> str:
    """The path of a site of Acme's."""
    return f"{CONSOLE}/sites/" + people.alice.post(f"{CONSOLE}/sites", json={"name": "Shop"}).json()["siteKey"]


def own(people: Cast, site: str, name: str = "offices", **change: Any) -> str:
    """Create an own list and return its path."""
    path = f"{site}/network-lists/{name}"
    assert people.bob.put(path, json={"source": "own"}).status_code == 200
    if change:
        done = people.bob.post(f"{path}/networks", json=change)
        assert done.status_code == 200, done.text
    return path


def networks(people: Cast, path: str, **query: Any) -> list[str]:
    found: list[str] = people.rita.get(f"{path}/networks", params=query).json()["items"]
    return found


def test_networks_are_added_paged_searched_and_removed(people: Cast, site: str) -> None:
    path = own(people, site, add=["203.0.113.7", "198.51.100.0/24", "198.51.100.7", "2001:db8::/32", "203.0.113.6"])
    everything = ["198.51.100.0/24", "203.0.113.6/32", "203.0.113.7/32", "2001:db8::/32"]
    assert networks(people, path) == everything
    assert networks(people, path, q="198.51.100.9") == ["198.51.100.0/24"]
    assert networks(people, path, q="203.0.113.0/24") == everything[1:3]

    pages, cursor = [], {}
    while True:
        page = people.rita.get(f"{path}/networks", params={"limit": 3, **cursor}).json()
        pages.append(page["items"])
        if "nextCursor" not in page:
            break
        cursor = {"cursor": page["nextCursor"]}
    assert pages == [everything[:3], everything[3:]]

    done = people.bob.post(f"{path}/networks", json={"remove": ["203.0.113.0/24"], "add": ["192.0.2.1"]})
    assert done.json()["networks"] == 3
    detail = {"networks": {"from": 4, "to": 3}}
    assert told(trail(people, "network_list.change")[0])[1:] == ("network_list.change", "offices", detail)
    assert networks(people, path) == ["192.0.2.1/32", "198.51.100.0/24", "2001:db8::/32"]
    people.bob.post(f"{path}/networks", json={"replace": True, "add": ["192.0.2.2"]})
    assert networks(people, path) == ["192.0.2.2/32"]


def test_a_list_is_saved_shown_and_deleted(people: Cast, site: str) -> None:
    made = people.bob.put(f"{site}/network-lists/drop", json={**URL, "note": "Spamhaus"})
    assert made.status_code == 200, made.text
    shown = {"source": "url", "url": URL["url"], "refreshMinutes": 30, "note": "Spamhaus", "networks": 0, "rules": []}
    assert made.json() | shown == made.json()
    assert told(trail(people, "network_list.save")[0])[1:] == (
        "network_list.save",
        "drop",
        {"source": "url", "url": URL["url"]},
    )
    listed = people.rita.get(f"{site}/network-lists").json()
    assert [each["name"] for each in listed["items"]] == ["drop"]
    assert listed["mostNetworks"] == NETWORKS_PER_SITE
    assert people.bob.post(f"{site}/network-lists/drop/refresh", json={}).status_code == 200
    assert people.bob.delete(f"{site}/network-lists/drop").status_code == 204
    assert trail(people, "network_list.delete")
    assert refusal(people.bob.delete(f"{site}/network-lists/drop")) == (404, "not_found")


def test_a_list_that_a_rule_names_is_not_deleted(people: Cast, site: str) -> None:
    path = own(people, site, add=["203.0.113.0/24"])
    match = {"not_network_lists": ["offices"]}
    rule_set = {"version": "1", "default_action": "allow", "rules": [{"name": "a", "match": match, "action": "block"}]}
    assert people.bob.put(f"{site}/rules", json={"ruleSet": rule_set}).status_code == 200
    assert people.rita.get(f"{site}/network-lists").json()["items"][0]["rules"] == ["a"]
    assert refusal(people.bob.delete(path)) == (409, "invalid_state")


WRONG_SOURCES: tuple[dict[str, Any], ...] = (
    {"source": "url"},
    {"source": "own", "url": URL["url"]},
    {"source": "url", "url": "http://lists.invalid/"},
    {"source": "url", "url": "https://127.0.0.1/"},
    {"source": "url", "url": "https://[::ffff:169.254.169.254]/"},
    {"source": "url", "url": "file:///etc/passwd"},
    {**URL, "key": "secret"},
    {**URL, "refreshMinutes": 1},
    LAPI,
    {**LAPI, "key": "ä"},
    {"source": "dns"},
    {"source": "own", "networks": []},
)


def test_a_wrong_source_or_name_is_rejected(people: Cast, site: str) -> None:
    for body in WRONG_SOURCES:
        assert people.bob.put(f"{site}/network-lists/a", json=body).status_code == 400, body
    for name in ("A", "-a", "a%20b", "a" * 65, "ä"):
        assert refusal(people.bob.put(f"{site}/network-lists/{name}", json=URL)) == (400, "invalid_request")


def test_a_wrong_network_is_rejected(people: Cast, site: str) -> None:
    path = own(people, site)
    for text in ("203.0.113.1/24", "300.1.1.1", "example.com", "0.0.0.0/33"):
        assert people.bob.post(f"{path}/networks", json={"add": [text]}).status_code == 400
        assert people.rita.get(f"{path}/networks", params={"q": text}).status_code == 400
    assert people.rita.get(f"{path}/networks", params={"cursor": "forged"}).status_code == 400


def test_limits_hold(people: Cast, site: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = own(people, site)
    too_many = [f"10.{number >> 8}.{number & 255}.1" for number in range(NETWORKS_PER_CHANGE + 1)]
    assert people.bob.post(f"{path}/networks", json={"add": too_many}).status_code == 400
    monkeypatch.setattr(network_endpoints, "NETWORKS_PER_SITE", 100)
    assert people.bob.post(f"{path}/networks", json={"add": too_many[:100]}).status_code == 200
    assert refusal(people.bob.post(f"{path}/networks", json={"add": ["192.0.2.1"]})) == (409, "invalid_state")
    other = own(people, site, "other")
    assert refusal(people.bob.post(f"{other}/networks", json={"add": ["192.0.2.1"]})) == (409, "invalid_state")
    assert people.bob.post(f"{path}/networks", json={"remove": ["10.0.0.0/26"]}).json()["networks"] == 99
    for number in range(2, NETWORK_LISTS_PER_SITE):
        own(people, site, f"list-{number}")
    assert refusal(people.bob.put(f"{site}/network-lists/more", json=URL)) == (409, "invalid_state")


def test_the_networks_of_a_source_are_not_changed_by_hand(people: Cast, site: str) -> None:
    path = f"{site}/network-lists/drop"
    assert people.bob.put(path, json=URL).status_code == 200
    assert refusal(people.bob.post(f"{path}/networks", json={"add": ["192.0.2.1"]})) == (409, "invalid_state")
    assert refusal(people.bob.put(path, json={"source": "own"})) == (409, "invalid_state")
    assert refusal(people.bob.post(f"{own(people, site)}/refresh", json={})) == (409, "invalid_state")


def test_a_stored_key_is_not_sent_to_another_server_and_not_shown(
    service: RunningService, people: Cast, site: str
) -> None:
    """An attacker with write permission, who does not know the key of CrowdSec, names their server."""
    path = f"{site}/network-lists/crowdsec"
    made = people.bob.put(path, json={**LAPI, "key": "bouncer-key-0123"})
    assert made.status_code == 200, made.text
    assert people.bob.put(path, json={**LAPI, "note": "no key needed"}).status_code == 200
    moved = {"source": "crowdsec", "url": "https://attacker.invalid/"}
    assert refusal(people.bob.put(path, json=moved)) == (400, "invalid_request")
    assert people.bob.put(path, json={**moved, "key": "another"}).status_code == 200
    # Back at the first server, the first key is gone too.
    assert refusal(people.bob.put(path, json=LAPI)) == (400, "invalid_request")
    pages = (
        people.rita.get(f"{site}/network-lists").text + people.rita.get(f"{site}/changes").text + service.log.getvalue()
    )
    assert "bouncer-key-0123" not in pages
