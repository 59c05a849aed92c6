"""Evidence of HTTP clients other than the name: the headers of a page load, and the TLS fingerprint."""

import pytest

from agentgate.decision.signals.facts import RequestFacts
from agentgate.decision.signals.observe import observe
from agentgate.decision.threat_data.intel import load_intel
from tests.population.visitors import population

INTEL = load_intel(None)
HOME = "81.2.69.160"
CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{}.0.0.0 Safari/537.36"
)
FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0"
SAFARI = (
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/18.2 Safari/605.1.15"
)
PAGE = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"


def labels_of(headers, **facts):
    given = {"now_ms": 0, "method": "GET", "target": "/", "address": HOME, **facts}
    return observe(RequestFacts(headers=tuple(headers), **given), INTEL).labels


def page_load(user_agent, *, accept=PAGE, order=("ua", "accept", "encoding", "language"), encoding="gzip, deflate, br"):
    fields = {
        "ua": ("user-agent", user_agent),
        "accept": ("accept", accept),
        "encoding": ("accept-encoding", encoding),
        "language": ("accept-language", "en-US,en;q=0.9"),
    }
    return [("host", "shop.example"), *(fields[name] for name in order)]


@pytest.mark.parametrize(
    ("headers", "unlike"),
    [
        (page_load(CHROME.format(130)), False),
        (page_load(CHROME.format(130), order=("accept", "language", "ua", "encoding")), True),
        (page_load(CHROME.format(130), accept="text/html"), True),
        (page_load(CHROME.format(130), accept="text/html,application/xhtml+xml"), True),
        # Before 60 the order was another one, and too few people have those releases to learn which.
        (page_load(CHROME.format(55), order=("accept", "ua", "encoding", "language")), False),
        (page_load(FIREFOX, order=("ua", "accept", "language", "encoding")), False),
        (page_load(FIREFOX), True),
        (page_load(SAFARI, order=("accept", "ua", "language", "encoding")), False),
        (page_load(SAFARI, order=("accept", "language", "encoding", "ua")), True),
        (page_load(SAFARI, order=("language", "accept", "ua", "encoding")), True),
        # A script of a page may request HTML with other headers.
        ([*page_load(CHROME.format(130), accept="text/html"), ("referer", "https://shop.example/")], False),
        ([*page_load(CHROME.format(130), accept="text/html"), ("x-requested-with", "XMLHttpRequest")], False),
    ],
)
def test_a_page_load_is_written_as_the_claimed_engine_writes_it(headers, unlike):
    assert ("http.unlike_browser" in labels_of(headers, is_plain=True)) is unlike


CHROMIUM_TLS = "t13d1517h2_8daaf6152771_234dc10236f4"
FIREFOX_TLS = "t13d1717h2_5b57614c22b0_3cbfd9057e0d"


@pytest.mark.parametrize(
    ("user_agent", "ja4", "mismatch"),
    [
        (CHROME.format(130), CHROMIUM_TLS, False),
        (CHROME.format(130), FIREFOX_TLS, True),
        (FIREFOX, FIREFOX_TLS, False),
        (FIREFOX, CHROMIUM_TLS, True),
        (SAFARI, "t13d2013h2_a09f3c656075_7f0f34a4126d", False),
        # requests, httpx and urllib; curl; Node.js; Go.
        (CHROME.format(130), "t13d1812h1_85036bcba153_b26ce05bbdd6", True),
        (CHROME.format(130), "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6", True),
        (CHROME.format(130), "t13d5911h1_a33745022dd6_1f22a2ca17c4", True),
        (SAFARI, "t13d1312h2_f57a46bbacb6_ab7e3b40a677", True),
        # An unknown release of a browser, and an unknown TLS library.
        (CHROME.format(199), "t13d1416h2_0123456789ab_0123456789ab", False),
        (CHROME.format(130), "t13d4010h2_0123456789ab_0123456789ab", True),
        (CHROME.format(130), "t12d1516h2_8daaf6152771_02713d6af862", True),
        (CHROME.format(130), "q13d0312h3_55b375c5d22e_06cda9e17597", False),
        # A browser too old to judge, a client that is not a browser, an invalid fingerprint, and no fingerprint.
        (CHROME.format(60), "t12d1409h1_0123456789ab_0123456789ab", False),
        ("curl/8.5.0", "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6", False),
        (CHROME.format(130), "nonsense", False),
        (CHROME.format(130), None, False),
    ],
)
def test_the_handshake_is_one_of_the_claimed_engine(user_agent, ja4, mismatch):
    assert ("http.tls_mismatch" in labels_of(page_load(user_agent), ja4=ja4)) is mismatch


def test_people_s_page_loads_are_not_unlike():
    for visitor in population(11, visitors=400, pages=1):
        headers = [(name.lower(), value) for name, value in visitor.first_navigation().headers]

        assert "http.unlike_browser" not in labels_of(headers, address=visitor.address), visitor.browser.user_agent


@pytest.mark.parametrize("left_out", ["accept", "accept-encoding", "accept-language", "sec-fetch-dest"])
def test_a_page_load_with_a_header_left_out_is_unlike(left_out):
    visitor = next(each for each in population(5, visitors=50, pages=1) if each.browser.name == "Chrome")
    headers = [(name.lower(), value) for name, value in visitor.first_navigation().headers]

    labels = labels_of([pair for pair in headers if pair[0] != left_out], address=visitor.address)

    assert "http.unlike_browser" in labels


def changed(user_agent_part, change):
    """Return the labels of a visitor's page load with such a browser, after a change of its headers."""
    everybody = population(5, visitors=200, pages=1)
    visitor = next(each for each in everybody if user_agent_part in each.browser.user_agent)
    headers = [(name.lower(), value) for name, value in visitor.first_navigation().headers]
    return labels_of(change(headers), address=visitor.address)


def moved_behind(name, before):
    def change(headers):
        pair = next(pair for pair in headers if pair[0] == name)
        rest = [each for each in headers if each != pair]
        place = [each for each, _ in rest].index(before) + 1
        return [*rest[:place], pair, *rest[place:]]

    return change


def test_brave_writes_the_language_behind_the_wish_for_privacy():
    def brave(headers):
        place = [name for name, _ in headers].index("accept") + 1
        return moved_behind("accept-language", "sec-gpc")([*headers[:place], ("sec-gpc", "1"), *headers[place:]])

    assert "http.unlike_browser" not in changed("Chrome/", brave)
    assert "http.unlike_browser" in changed("Chrome/", moved_behind("accept-language", "accept"))


@pytest.mark.parametrize("in_front", ["cf-ray", "cdn-loop", "via", "x-varnish"])
def test_a_network_in_front_writes_the_encodings_itself(in_front):
    def by_network(headers):
        rest = [pair for pair in headers if pair[0] not in {"host", "accept-encoding"}]
        return [headers[0], ("accept-encoding", "gzip"), (in_front, "1"), *rest]

    def without_encodings(headers):
        return [*(pair for pair in headers if pair[0] != "accept-encoding"), (in_front, "1")]

    for browser in ("Chrome/", "Firefox/", "iPhone"):
        assert "http.unlike_browser" not in changed(browser, by_network), browser
        assert "http.unlike_browser" not in changed(browser, without_encodings), browser


def test_a_navigation_for_no_one_is_one_that_chromiums_worker_passed_on():
    def for_nobody(headers):
        kept = [pair for pair in headers if pair[0] != "sec-fetch-user"]
        return [(name, "empty" if name == "sec-fetch-dest" else value) for name, value in kept]

    passed_on = changed(
        "Chrome/", lambda headers: moved_behind("upgrade-insecure-requests", "accept")(for_nobody(headers))
    )

    assert "http.fetch_metadata_mismatch" not in passed_on
    assert "http.fetch_metadata_mismatch" not in changed("Chrome/", lambda headers: sorted(for_nobody(headers)))
    assert "http.fetch_metadata_mismatch" in changed("Chrome/", for_nobody)


def test_only_a_page_accepts_one():
    def picture(accept):
        values = {"sec-fetch-dest": "image", "sec-fetch-mode": "no-cors", "accept": accept}
        dropped = {"sec-fetch-user", "upgrade-insecure-requests"}
        return lambda headers: [(name, values.get(name, value)) for name, value in headers if name not in dropped]

    page = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    for browser in ("Chrome/", "Firefox/", "iPhone"):
        assert "http.fetch_metadata_mismatch" in changed(browser, picture(page)), browser
        assert "http.fetch_metadata_mismatch" not in changed(browser, picture("image/avif,image/webp,*/*")), browser


def test_a_navigation_for_no_one_without_a_user_agent_is_judged_as_well():
    headers = (("sec-fetch-site", "none"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "empty"))

    assert "ua.missing" in labels_of([("host", "shop.example"), *headers, ("upgrade-insecure-requests", "1")])
