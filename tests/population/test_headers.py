"""Each browser's headers: their order and spelling, and that none contradicts the User-Agent."""

import re

import pytest

from tests.population.headers import Load, headers_of
from tests.population.visitors import population

SEED = 31
CHROMIUM_PAGE = (
    "Host,sec-ch-ua,sec-ch-ua-mobile,sec-ch-ua-platform,upgrade-insecure-requests,user-agent,accept,sec-fetch-site,"
    "sec-fetch-mode,sec-fetch-user,sec-fetch-dest,referer,accept-encoding,accept-language,cookie,priority"
)
ORDERS = {
    ("chromium", 2): CHROMIUM_PAGE,
    ("chromium", 1): (
        "Host,Connection,sec-ch-ua,sec-ch-ua-mobile,sec-ch-ua-platform,Upgrade-Insecure-Requests,User-Agent,Accept,"
        "Sec-Fetch-Site,Sec-Fetch-Mode,Sec-Fetch-User,Sec-Fetch-Dest,Referer,Accept-Encoding,Accept-Language,Cookie"
    ),
    ("gecko", 2): (
        "Host,user-agent,accept,accept-language,accept-encoding,referer,cookie,upgrade-insecure-requests,"
        "sec-fetch-dest,sec-fetch-mode,sec-fetch-site,sec-fetch-user,priority,te"
    ),
    ("gecko", 1): (
        "Host,User-Agent,Accept,Accept-Language,Accept-Encoding,Connection,Referer,Cookie,Upgrade-Insecure-Requests,"
        "Sec-Fetch-Dest,Sec-Fetch-Mode,Sec-Fetch-Site,Sec-Fetch-User,Priority"
    ),
    ("webkit", 2): (
        "Host,sec-fetch-dest,user-agent,accept,referer,sec-fetch-site,sec-fetch-mode,accept-language,priority,"
        "accept-encoding,cookie"
    ),
}
SAFARI_17 = (
    "Host,accept,sec-fetch-site,cookie,accept-encoding,sec-fetch-mode,user-agent,referer,accept-language,sec-fetch-dest"
)
# Headers that only some versions or users send.
SOMETIMES = frozenset({"priority", "dnt", "sec-gpc"})


@pytest.fixture(scope="module")
def people():
    return list(population(SEED, visitors=3_000, pages=2))


def test_every_browser_keeps_its_order_and_spelling(people):
    for visitor in people:
        browser = visitor.browser
        is_old_safari = browser.engine == "webkit" and browser.version < (18, 0)
        expected = (SAFARI_17 if is_old_safari else ORDERS[browser.engine, browser.http]).split(",")
        names = [name for name, _ in visitor.navigation(1, "c=1").headers]
        present = set(names)

        assert [name for name in names if name.lower() not in {"dnt", "sec-gpc", "x-requested-with"}] == [
            name for name in expected if name.lower() not in SOMETIMES or name in present
        ]


def test_every_order_was_inspected(people):
    assert {(visitor.browser.engine, visitor.browser.http) for visitor in people} == set(ORDERS)
    assert any(visitor.browser.version < (18, 0) for visitor in people if visitor.browser.engine == "webkit")


def test_client_hints_show_what_the_user_agent_shows(people):
    seen = set()
    for visitor in people:
        headers = {name.lower(): value for name, value in visitor.first_navigation().headers}
        agent = headers["user-agent"]
        if visitor.browser.engine != "chromium":
            assert not [name for name in headers if name.startswith("sec-ch-")]
            continue
        major = re.search(r"Chrome/(\d+)\.", agent)[1]
        assert f'"Chromium";v="{major}"' in headers["sec-ch-ua"]
        assert (f'"Microsoft Edge";v="{major}"' in headers["sec-ch-ua"]) == ("Edg" in agent)
        assert (headers["sec-ch-ua-mobile"] == "?1") == (" Mobile " in agent)
        platform = headers["sec-ch-ua-platform"].strip('"')
        words = {"Windows": "Windows NT", "macOS": "Macintosh", "Linux": "X11; Linux", "Android": "Android"}
        assert words[platform] in agent
        seen.add((visitor.browser.name, platform, headers["sec-ch-ua-mobile"]))
    assert {platform for _, platform, _ in seen} == {"Windows", "macOS", "Linux", "Android"}
    assert {("Chrome", "Android", "?0"), ("Chrome", "Android", "?1")} <= seen


def test_no_name_comes_twice_and_no_value_is_empty_or_has_a_line_end(people):
    for visitor in people:
        headers = visitor.navigation(1, "c=1").headers
        names = [name.lower() for name, _ in headers]

        assert len(names) == len(set(names))
        assert all(value and value.isascii() and value.isprintable() for _, value in headers)


@pytest.mark.parametrize("destination", ["style", "script", "image", "font", "empty"])
def test_a_subresource_is_not_a_navigation(people, destination):
    for visitor in people[:300]:
        headers = {name.lower(): value for name, value in visitor.part(destination, "/a").headers}

        assert headers["sec-fetch-dest"] == destination
        assert headers["sec-fetch-mode"] == ("cors" if destination in {"font", "empty"} else "no-cors")
        assert "sec-fetch-user" not in headers
        assert "upgrade-insecure-requests" not in headers
        assert headers["referer"] == visitor.origin + visitor.paths[0]


def test_later_versions_send_what_earlier_ones_did_not(people):
    for visitor in people:
        browser = visitor.browser
        headers = {name.lower(): value for name, value in headers_of(browser, Load("a.example"))}
        since = {"chromium": (123, 124), "gecko": (126, 128)}.get(browser.engine)
        if since and browser.http == 2:
            assert ("zstd" in headers["accept-encoding"]) == (browser.version[0] >= since[0])
            assert ("priority" in headers) == (browser.version[0] >= since[1])
