"""Rates of rules behind real proxies: no header, spelling or cookie of a client avoids them."""

from collections.abc import Callable, Iterator

import pytest

from tests.proxies.visiting import NAVIGATION, Installed, new_address

RULE = {
    "name": "slow",
    "match": {"paths": ["/blame/*"]},
    "action": "block",
    "rate": {"by": "visitor", "more_than": 4, "within": 600},
}


@pytest.fixture
def slow(site: Installed) -> Iterator[None]:
    """A rule with a rate, for the length of a test."""
    path = f"/v1/admin/sites/{site.site_key}/rules"
    before = site.service.operator.get(path).json()
    body = {"ruleSet": {"version": "1", "rules": [RULE], "default_action": "allow"}, "revision": before["revision"]}
    saved = site.service.operator.put(path, json=body)
    assert saved.status_code == 200, saved.text
    yield
    body = {"ruleSet": before["ruleSet"], "revision": before["revision"] + 1}
    assert site.service.operator.put(path, json=body).status_code == 200


EVASIONS = [
    lambda n: ("/blame/x", [("X-Forwarded-For", f"198.51.100.{n}"), ("X-Real-IP", f"198.51.100.{n}")]),
    lambda n: ("/blame/x", [("X-Original-Address", f"198.51.100.{n}"), ("Forwarded", f"for=198.51.100.{n}")]),
    lambda n: ("/BLAME/x" if n % 2 else "/%62lame/x", []),
    lambda n: (f"/blame/x?n={n}", [("Cookie", f"agc_x={n}; session={n}")]),
    lambda n: (f"/blame/{n}", [("X-HTTP-Method-Override", "HEAD")]),
]


@pytest.mark.parametrize("evasion", EVASIONS)
def test_no_client_exceeds_its_rate(
    installed: Installed, slow: None, evasion: Callable[[int], tuple[str, list[tuple[str, str]]]]
) -> None:
    address = new_address()
    found = []
    for number in range(7):
        target, headers = evasion(number)
        found.append(installed.visit("GET", target, usual=[*NAVIGATION, *headers], address=address).status)
    # Some proxies reject an override or a forged header themselves.
    assert all(status != 200 for status in found[4:]), found
    assert installed.visit("GET", "/page", usual=NAVIGATION, address=address).status == 200
    assert installed.visit("GET", "/blame/x", usual=NAVIGATION, address=new_address()).status == 200


def test_a_request_over_the_rate_gets_429_with_retry_after(installed: Installed, slow: None) -> None:
    address = new_address()
    for _ in range(4):
        assert installed.visit("GET", "/blame/x", usual=NAVIGATION, address=address).status == 200
    told = installed.visit("GET", "/blame/x", usual=NAVIGATION, address=address)
    assert (told.status, told.headers["Retry-After"]) == (429, "60")
