"""Doctor's check of feeds: it requests each feed that the front page links, as a feed reader without a known name."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from agentgate.lib.clock import SystemClock
from agentgate_tools.doctor.asking import Site
from agentgate_tools.doctor.checks import Installation
from agentgate_tools.doctor.feed_checks import check_feeds
from agentgate_tools.doctor.findings import Finding, State

LINKS = b"""<link rel="alternate" type="application/rss+xml" href="/news.xml">
<link rel="alternate" type="application/atom+xml" href="/?feed=atom">"""


class Feeds(BaseHTTPRequestHandler):
    """A site whose feeds have the statuses of the test."""

    page = LINKS
    statuses: dict[str, int]
    readers: list[str]

    def do_GET(self) -> None:
        if self.path != "/":
            self.readers.append(self.headers["User-Agent"])
        body = self.page if self.path == "/" else b"<rss></rss>"
        self.send_response(self.statuses.get(self.path, 200))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[tuple[str, type[Feeds]]]:
    handler = type("Handler", (Feeds,), {"statuses": {}, "readers": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as listening:
        thread = Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}", handler
        listening.shutdown()
        thread.join()


def checked(address: str) -> Finding:
    site = Site(address)
    home = site.try_asking("GET", site.path)
    assert home is not None
    return check_feeds(Installation(site=site, clock=SystemClock()), home)


@pytest.mark.parametrize("status", [401, 403, 429])
def test_a_feed_that_readers_cannot_load_is_named_with_the_command_that_declares_all(
    server: tuple[str, type[Feeds]], status: int
) -> None:
    address, handler = server
    handler.statuses["/news.xml"] = status

    found = checked(address)

    assert (found.state, found.found) == (State.WARN, "feed readers are blocked or challenged at /news.xml")
    assert found.fix == "Declare all feeds of the page: agentgate site feeds SITE_KEY /news.xml '/?feed=atom'"


def test_feeds_that_readers_can_load_pass(server: tuple[str, type[Feeds]]) -> None:
    address, handler = server

    found = checked(address)

    assert (found.state, found.found) == (State.PASS, "feed readers can load /news.xml, /?feed=atom")
    assert not any("Mozilla" in reader for reader in handler.readers), "a browser's name proves nothing for readers"


def test_a_page_without_feeds_passes(server: tuple[str, type[Feeds]]) -> None:
    address, handler = server
    handler.page = b"<p>No feeds</p>"

    assert checked(address).found == "the page links no feed"
