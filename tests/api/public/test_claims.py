"""Claims against the default rules in enforce mode: clients that know the source code, without any proof.

No header, name, path or class is worth more than plain browser headers; under `wholeSite` and a route for all paths
none is worth anything. The clock is fixed, so each test is one minute.
"""

from collections.abc import Callable
from itertools import count

import pytest

from agentgate.sites.open_paths import ROOT_FEEDS
from tests.population.sent import Sent, Should
from tests.population.visitors import ORIGIN
from tests.support.service import RunningService
from tests.support.traffic_site import Site, visitor_of

Headers = list[tuple[str, str]]
PER_NETWORK = 1_500
ALL_PATHS = [{"method": "*", "pathPrefix": "/", "action": "open"}]


@pytest.fixture
def site(service: RunningService) -> Site:
    return Site(service)


def program(name: str, *more: tuple[str, str]) -> Headers:
    return [("User-Agent", name), ("Accept", "*/*"), *more]


PYTHON = "python-requests/2.32.3"
LANGUAGE = ("Accept-Language", "en")
JSON = ("Content-Type", "application/json")


class Client:
    """A client at one address that opens pages `/p/1`, `/p/2` and so on, and counts those that it gets."""

    def __init__(self, site: Site, address: str) -> None:
        self.site, self.address = site, address
        self.visitor = visitor_of(address)
        self.numbers = count()
        self.got = 0

    def ask(self, path: str, headers: Headers, method: str = "GET") -> bool:
        status = self.site.status_at_once(Sent("", "", method, ORIGIN + path, headers, self.address, Should.PASS))
        assert status in {204, 401, 403}, (path, status)
        return status == 204

    def open(self, path: str, headers: Headers, method: str = "GET") -> None:
        """Request a page."""
        self.got += self.ask(path.format(next(self.numbers)), headers, method)

    def page(self) -> None:
        self.open("/p/{}", self.visitor.navigation(1).headers)

    def part(self, destination: str = "image", path: str = "/p/{}") -> None:
        self.open(path, self.visitor.part(destination, "/x").headers)

    def file(self) -> None:
        self.ask("/a.js", self.visitor.part("script", "/a.js").headers)


def page_and_files(client: Client) -> None:
    client.page()
    for _ in range(4):
        client.file()


def page_and_parts(client: Client) -> None:
    client.page()
    for _ in range(10):
        client.part()


def robots_and_parts(client: Client) -> None:
    client.ask("/robots.txt", client.visitor.navigation(1).headers)
    for _ in range(10):
        client.part()


def refused_pages_and_parts(client: Client) -> None:
    """Navigations that are challenged, between fetches that may still be allowed."""
    for _ in range(3):
        client.page()
    for _ in range(3):
        client.part("empty")


def everything(client: Client) -> None:
    client.page()
    client.file()
    for destination in ("image", "empty", "script"):
        client.part(destination)
    client.open("/p/{}?feed=rss2", client.visitor.navigation(1).headers)
    client.open("/p/{}", program("Feedly/1.0 (+http://www.feedly.com/fetcher.html)"))
    client.open("/p/{}", program("pip/24.0", LANGUAGE))


def claim(name: str, path: str = "/p/{}", *more: tuple[str, str], method: str = "GET") -> Callable[[Client], None]:
    return lambda client: client.open(path, program(name, *more), method)


CLAIMS: dict[str, Callable[[Client], None]] = {
    "plain browser headers": Client.page,
    "page and four files": page_and_files,
    "page and parts": page_and_parts,
    "parts alone": Client.part,
    "fetches": lambda client: client.part("empty"),
    "robots.txt and parts": robots_and_parts,
    "feed query": lambda client: client.open("/p/{}?feed=rss2", client.visitor.navigation(1).headers),
    "feed type": lambda client: client.open("/p/{}?type=rss", client.visitor.navigation(1).headers),
    "feed path": claim(PYTHON, "/p/{}/feed", LANGUAGE),
    "webhook signature": claim(PYTHON, "/payment/{}", ("X-Signature", "1"), JSON, method="POST"),
    "webhook path": claim(PYTHON, "/hooks/{}", JSON, method="POST"),
    "pip": claim("pip/24.0", "/p/{}", LANGUAGE),
    "rclone": claim("rclone/v1.66", "/p/{}", LANGUAGE),
    "preview": claim("WhatsApp/2.23.20.0"),
    "unknown": claim("Foo/1.0", "/p/{}", LANGUAGE),
    "app": claim("Foo/1.0 (iPhone)", "/p/{}", LANGUAGE),
    "git": claim("git/2.39.0", "/p/{}"),
    "WebDAV": claim("davfs2/1.6", "/p/{}", method="PROPFIND"),
    "preflight": claim(PYTHON, "/p/{}", ("Access-Control-Request-Method", "GET"), method="OPTIONS"),
    "refused pages and parts": refused_pages_and_parts,
    "everything": everything,
}


def run(claimed: Callable[[Client], None], clients: list[Client], rounds: int) -> int:
    for _ in range(rounds):
        for client in clients:
            claimed(client)
    return sum(client.got for client in clients)


@pytest.mark.parametrize("name", CLAIMS)
def test_no_claim_opens_more_pages_than_browser_headers_do(site: Site, name: str) -> None:
    client = Client(site, "81.2.80.1")

    got = run(CLAIMS[name], [client], 250)

    assert got <= 180


@pytest.mark.parametrize("name", ["page and four files", "everything"])
def test_a_network_of_a_hundred_addresses_opens_no_more_than_its_limit(site: Site, name: str) -> None:
    clients = [Client(site, f"81.2.81.{number}") for number in range(1, 101)]

    got = run(CLAIMS[name], clients, 20)

    assert got <= PER_NETWORK


@pytest.mark.parametrize("name", ["plain browser headers", "page and four files", "fetches", "everything"])
def test_no_minute_of_three_opens_more_pages_than_the_limit(site: Site, name: str) -> None:
    client, minutes = Client(site, "81.2.84.1"), []
    for _ in range(3):
        client.got = 0
        for _ in range(250):
            CLAIMS[name](client)
            site.service.clock.advance(ms=240)
        minutes.append(client.got)

    assert max(minutes) <= 180, minutes


def test_a_network_opens_no_more_than_its_limit_within_a_minute(site: Site) -> None:
    clients = [Client(site, f"81.2.85.{number}") for number in range(1, 101)]
    for _ in range(20):
        run(CLAIMS["page and four files"], clients, 1)
        site.service.clock.advance(seconds=3)

    assert sum(client.got for client in clients) <= PER_NETWORK


def test_a_clearance_opens_600_pages_a_minute_with_files_and_as_many_calls(site: Site) -> None:
    client = Client(site, "81.2.84.2")
    clearance = site.clearance(client.visitor)
    for number in range(700):
        client.open("/p/{}", client.visitor.navigation(1, clearance).headers)
        for file in range(4):
            path = f"/{number}-{file}.js"
            client.ask(path, client.visitor.part("script", path, clearance=clearance).headers)
    pages, client.got = client.got, 0
    for _ in range(700):
        client.open("/p/{}", client.visitor.part("empty", "/x", clearance=clearance).headers)

    assert pages <= 600
    assert client.got <= 600


def test_asking_twice_opens_no_page_more(site: Site) -> None:
    """Repeated requests for a loaded target are free; repeated requests for a blocked target are not."""
    clients = [Client(site, f"81.2.83.{number}") for number in range(1, 11)]
    opened = set()
    for client in clients:
        client.page()
        headers = client.visitor.part("empty", "/x").headers
        opened |= {
            (client.address, number) for number in range(200) for _ in range(2) if client.ask(f"/p/{number}", headers)
        }

    assert len(opened) + len(clients) <= PER_NETWORK


def test_a_repeated_target_with_another_in_its_headers_counts(site: Site) -> None:
    client = Client(site, "81.2.82.9")
    headers = client.visitor.part("empty", "/x").headers

    got = sum(client.ask("/p/1", [*headers, ("X-Rewrite-URL", f"/p/{number}")]) for number in range(250))

    assert got <= 180


@pytest.mark.parametrize("setting", [{"wholeSite": True}, {"routes": ALL_PATHS}])
@pytest.mark.parametrize("name", CLAIMS)
def test_a_protected_site_returns_nothing_for_a_claim(site: Site, setting: dict[str, object], name: str) -> None:
    site.change(**setting)
    client = Client(site, "81.2.82.1")

    assert run(CLAIMS[name], [client], 4) == 0


def test_files_are_closed_too_where_a_page_needs_a_clearance(site: Site) -> None:
    client = Client(site, "81.2.82.2")
    site.change(wholeSite=True)

    assert not client.ask("/a.js", client.visitor.part("script", "/a.js").headers)


@pytest.mark.parametrize("setting", [{"wholeSite": True}, {"routes": ALL_PATHS}])
def test_standard_paths_and_root_feeds_are_open_to_reading_alone(site: Site, setting: dict[str, object]) -> None:
    site.change(**setting)
    client = Client(site, "81.2.82.3")
    headers = program(PYTHON)
    paths = ["/robots.txt", "/favicon.ico", "/.well-known/security.txt", "/sitemap_index.xml", *sorted(ROOT_FEEDS)]

    assert [path for path in paths if not client.ask(path, headers)] == []
    assert [path for path in paths if client.ask(path, headers, "POST")] == []
    odd = ("/feed?page=2", "/blog/feed", "//robots.txt", "/robots.txt/", "/.well-known/..%2fpay", "/robots%2etxt")
    assert [path for path in odd if client.ask(path, headers)] == []


@pytest.mark.parametrize("header", ["X-Rewrite-URL", "X-HTTP-DestinationURL", "X-HTTP-Method-Override"])
@pytest.mark.parametrize("setting", [{"wholeSite": True}, {"routes": ALL_PATHS}])
def test_a_standard_path_with_another_target_in_its_headers_is_closed(
    site: Site, setting: dict[str, object], header: str
) -> None:
    site.change(**setting)
    client = Client(site, "81.2.82.4")

    assert not client.ask("/robots.txt", program(PYTHON, (header, "/account")))


def test_a_declared_feed_is_open_by_its_exact_target_and_replaces_the_root_names(site: Site) -> None:
    site.change(wholeSite=True, feeds=["/blog/feed", "/?feed=rss2"])
    client = Client(site, "81.2.82.5")
    headers = program(PYTHON)

    assert [client.ask(path, headers) for path in ("/blog/feed", "/?feed=rss2")] == [True, True]
    others = ("/blog/feed?page=2", "/blog/feed/", "/?feed=rss2&p=1", "/", "/feed", "/x?feed=rss2")
    assert [path for path in others if client.ask(path, headers)] == []


@pytest.mark.parametrize("path", ["/robots.txt", "/feed"])
def test_a_named_route_is_weakened_by_no_path(site: Site, path: str) -> None:
    site.change(routes=[{"method": "GET", "path": path, "action": "open"}])
    client = Client(site, "81.2.82.6")

    assert not client.ask(path, client.visitor.navigation(1).headers)


@pytest.mark.parametrize("feed", ["", "/", "feed", "/a/../b", "/%66eed", "/feed?", "/feed#x", "//feed", "/f?a b"])
def test_a_wrong_feed_is_rejected_with_what_would_be_right(site: Site, feed: str) -> None:
    reply = site.service.operator.patch(f"/v1/admin/sites/{site.key}", json={"feeds": [feed]})

    assert (reply.status_code, reply.json()["error"]) == (400, "invalid_site")
    assert "must be a plain path such as /blog/feed" in reply.json()["message"]


def test_a_name_has_one_budget_for_all_its_clients_on_a_site(site: Site) -> None:
    clients = [Client(site, f"3.80.{number}.1") for number in range(1, 61)]

    got = run(claim("Mozilla/5.0 (compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)"), clients, 1)

    assert got == 20


def test_parts_belong_to_the_browser_that_opened_the_page(site: Site) -> None:
    """Another browser at the same address gets no subresource of a page that needs a clearance."""
    site.change(wholeSite=True)
    client = Client(site, "81.2.82.7")
    opened = client.visitor.navigation(1, site.clearance(client.visitor))

    assert client.ask("/p/1", opened.headers)
    assert not client.ask("/a.js", program(PYTHON, ("Sec-Fetch-Dest", "script"), ("Sec-Fetch-Mode", "no-cors")))


def test_a_webhook_is_open_to_programs_up_to_its_ceiling(site: Site) -> None:
    site.change(wholeSite=True, openPaths=[{"path": "/hooks/own", "sender": "programs", "perMinute": 7}])
    clients = [Client(site, f"81.2.{number}.1") for number in range(90, 110)]
    browser = clients[0].visitor.navigation(1).headers

    assert not clients[0].ask("/hooks/own", browser, "POST")
    assert run(claim(PYTHON, "/hooks/own", JSON, method="POST"), clients, 1) == 7
    assert not clients[0].ask("/hooks/other", program(PYTHON, JSON), "POST")


@pytest.mark.parametrize(
    "entry",
    [
        {"path": "/hooks", "sender": "programs", "perMinute": 0},
        {"path": "/hooks", "sender": "programs", "perMinute": 6_001},
        {"path": "/hooks", "sender": "anyone", "perMinute": 5},
    ],
)
def test_a_wrong_ceiling_is_rejected(site: Site, entry: dict[str, object]) -> None:
    reply = site.service.operator.patch(f"/v1/admin/sites/{site.key}", json={"openPaths": [entry]})

    assert (reply.status_code, reply.json()["error"]) == (400, "invalid_site")
    assert "perMinute must be 1 to 6000" in reply.json()["message"]
