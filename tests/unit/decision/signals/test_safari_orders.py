"""Safari's header orders: no captured order is challenged, and an order that no capture shows is no proof alone."""

import itertools
import json
from pathlib import Path

import pytest

from tests.unit.decision.signals.deciding import decide

CAPTURES = json.loads((Path(__file__).parents[3] / "cases/safari_captures.json").read_text("utf-8"))
ENGINE = "AppleWebKit/605.1.15 (KHTML, like Gecko) Version/{} "
MAC = f"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) {ENGINE}Safari/605.1.15"
PHONE = f"Mozilla/5.0 (iPhone; CPU iPhone OS {{}} like Mac OS X) {ENGINE}Mobile/15E148 Safari/604.1"
VALUES = {
    "host": "shop.example",
    "accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "accept-language": "en-US,en;q=0.9",
    "accept-encoding": "gzip, deflate, br",
    "connection": "keep-alive",
    "cookie": "a=b",
    "referer": "https://shop.example/",
    "origin": "https://shop.example",
    "content-type": "application/x-www-form-urlencoded",
    "content-length": "9",
    "cache-control": "max-age=0",
    "dnt": "1",
    "priority": "u=0, i",
    "upgrade-insecure-requests": "1",
    "sec-fetch-site": "none",
    "sec-fetch-mode": "navigate",
    "sec-fetch-dest": "document",
}
FIRST_LOAD = ("sec-fetch-dest", "user-agent", "accept", "sec-fetch-site", "sec-fetch-mode")
LANGUAGE, ENCODING = "accept-language", "accept-encoding"
# The beginnings of libraries whose users copy Safari's headers, and the orders of other browsers.
LIBRARIES = {
    "requests": ("user-agent", ENCODING, "accept", "connection", LANGUAGE, *FIRST_LOAD[3:], "sec-fetch-dest"),
    "undici": ("accept", LANGUAGE, "sec-fetch-mode", "user-agent", ENCODING, "sec-fetch-site", "sec-fetch-dest"),
    "httpx": ("accept", ENCODING, "connection", "user-agent", "sec-fetch-mode", "sec-fetch-site", LANGUAGE),
    "copied into curl": ("user-agent", "accept", LANGUAGE, ENCODING, "sec-fetch-dest", *FIRST_LOAD[3:]),
    "Chromium": ("user-agent", "accept", *FIRST_LOAD[3:], "sec-fetch-dest", ENCODING, LANGUAGE),
    "Firefox": ("user-agent", "accept", LANGUAGE, ENCODING, "sec-fetch-dest", "sec-fetch-mode", "sec-fetch-site"),
}


def load(names, user_agent, **changed):
    values = {**VALUES, "user-agent": user_agent, **changed}
    return [(name, values[name]) for name in names]


def agent_of(capture):
    version = capture["version"]
    return PHONE.format(version.replace(".", "_"), version) if capture.get("phone") else MAC.format(version)


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda each: f"{each['version']}-{each['source'][:30]}")
def test_no_captured_page_load_of_safari_is_challenged(capture):
    names = capture["headers"].split()
    headers = load(names, agent_of(capture))
    facts = {"method": capture.get("method", "GET"), "is_plain": "sec-fetch-site" not in names}

    assert capture["source"]
    assert capture["date"]
    assert decide(headers, **facts) == "allow"


WITH_FETCH = [each for each in CAPTURES if "sec-fetch-site" in each["headers"]]


@pytest.mark.parametrize("capture", WITH_FETCH, ids=lambda each: f"{each['version']}-{each['source'][:30]}")
def test_a_captured_order_counts_nothing_beside_another_oddity(capture):
    headers = load(capture["headers"].split(), agent_of(capture), **{ENCODING: "gzip, deflate"})

    assert decide(headers, method=capture.get("method", "GET")) == "allow"


def test_captures_reach_from_safari_12_to_26_over_both_protocols():
    majors = {(int(each["version"].partition(".")[0]), each["http"]) for each in CAPTURES}

    assert {12, 13, 14, 15, 16, 17, 18, 26} <= {major for major, _ in majors}
    assert {http for major, http in majors if major >= 15} == {1, 2}


UNSEEN = ("accept", "user-agent", "sec-fetch-dest", "sec-fetch-site", LANGUAGE, "sec-fetch-mode", ENCODING)


def test_an_order_that_no_capture_shows_is_no_reason_alone_and_one_with_another():
    agent = MAC.format("18.6")

    assert decide(load(("host", *UNSEEN), agent)) == "allow"
    # Over TLS, Safari accepts Brotli. This alone is not enough either.
    old = {"accept-encoding": "gzip, deflate"}
    assert decide(load(("host", *FIRST_LOAD, LANGUAGE, ENCODING), agent, **old)) == "allow"
    assert decide(load(("host", *UNSEEN), agent, **old)) == "challenge"


@pytest.mark.parametrize("name", LIBRARIES)
def test_an_order_of_libraries_and_other_engines_is_challenged_under_safaris_name(name):
    # A client that has read the source can write a captured order. Its headers are Safari's then.
    assert decide(load(("host", *LIBRARIES[name]), MAC.format("18.6"))) == "challenge"


def test_most_orders_are_known_to_be_wrong():
    names = (*FIRST_LOAD, LANGUAGE, ENCODING)
    outcomes = [decide(load(("host", *order), MAC.format("18.6"))) for order in itertools.permutations(names)]

    assert outcomes.count("challenge") > 0.85 * len(outcomes)
