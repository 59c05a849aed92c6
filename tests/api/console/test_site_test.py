"""`POST /sites/{siteKey}/test`: only the site's own origins, and not often."""

from collections.abc import Iterator

import pytest

from tests.api.console.steps import CONSOLE, refusal
from tests.support.cast import Cast
from tests.support.http_receiver import Receiver, receiver


@pytest.fixture
def site() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


def test_an_origin_of_another_site_is_rejected(people: Cast, site: Receiver) -> None:
    own, other = "https://shop.example", site.url(path="")
    made = people.alice.post(f"{CONSOLE}/sites", json={"name": "Shop", "allowedOrigins": [own]}).json()
    path = f"{CONSOLE}/sites/{made['siteKey']}/test"
    for origin in (other, "https://shop.example.evil.example", "https://shop.example@127.0.0.1", own + "/x"):
        assert refusal(people.alice.post(path, json={"origin": origin})) == (400, "invalid_request")
    assert site.received == []


def test_a_private_host_is_not_asked_and_tests_are_limited_per_account(people: Cast, site: Receiver) -> None:
    origin = site.url(path="")
    made = [
        people.alice.post(f"{CONSOLE}/sites", json={"name": name, "allowedOrigins": [origin]}).json()["siteKey"]
        for name in ("One", "Two")
    ]
    for number in range(6):
        reply = people.alice.post(f"{CONSOLE}/sites/{made[number % 2]}/test", json={"origin": origin})
        (found,) = reply.json()["items"]
        assert (found["check"], found["state"]) == ("reachable", "fail")
        assert "AGENTGATE_SITE_PRIVATE_HOSTS" in found["fix"]
    reply = people.alice.post(f"{CONSOLE}/sites/{made[0]}/test", json={"origin": origin})
    assert refusal(reply) == (429, "rate_limited")
    assert site.received == []
