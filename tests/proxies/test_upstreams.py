"""Odd requests through each proxy to real frameworks: none reaches a handler that the client may not reach plainly.

The site behind the proxy records each request that arrives, byte for byte, and the test sends the same bytes to the
upstreams. A plain request for each handler shows which handlers the client may not reach. Each proxy gets a few hundred
requests here, twenty thousand in the soak.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest

from agentgate.sites import route_table
from tests.proxies.flood import Backend, ClientHeaders, Flood, send_all
from tests.proxies.mutations import Request
from tests.proxies.odd_requests import OVERRIDES, make_odd_request
from tests.proxies.running import STARTERS, running_proxy
from tests.proxies.site_shapes import SHAPES, client_of, install
from tests.support.service import RunningService
from tests.upstreams.handlers import HANDLERS, Handler
from tests.upstreams.running import Upstreams, running_upstreams

PROXIES = list(STARTERS)
# For each proxy and shape.
QUICK, SOAK = 40, 5_000
# Number of upstreams that get each request, in rotation.
QUICK_UPSTREAMS, SOAK_UPSTREAMS = 2, 6
NETWORK = 40
# Written as people and programs write them. Some are odd; none names a route that is protected.
ORDINARY = [
    *("/", "/open/page", "/open/page/", "/open/page?x=1&y=/a/b", "/a%20b", "/voil%C3%A0", "/a+b", "/a/b.c/d,e"),
    *("/img;v=2/logo.png", "/files//x", "/wiki/Caf%C3%A9_(Paris)", "/search?q=a%26b%20c", "/a'b", "/~user/", "/@me"),
    *("/items", "/item/7", "/payments", "/administration", "/a%2Fb", "/x?next=%2Fhome&ok=200", "/%E6%97%A5%E6%9C%AC"),
]
# The service blocks a plain request for each of these. An unknown method, override or escape must not change that.
NOT_UNDERSTOOD = [
    *(Request("GET", b"/tasks", ((name, value),)) for name in OVERRIDES for value in (b"FOO", b"", b"GET, FOO")),
    *(Request("POST", b"/tasks", ((name, b"FOO"),), b"{}") for name in OVERRIDES),
    *(Request(method, b"/admin/users") for method in ("PURGE", "FOO", "QUERY", "get", "BREW")),
    *(Request("PURGE", target) for target in (b"/pay", b"/tasks", b"/items/7", b"/admin/users/")),
    *(Request("GET", target) for target in (b"/admin/us%u0065rs", b"/admin/%zz/../users", b"/%e9/../admin/users")),
    *(
        Request("GET", target)
        for target in (b"/tasks;%ff", b"/tasks%ff", b"/%ff/../tasks", b"/t%61sk%u0073", b"/tasks%")
    ),
    *(Request("POST", target, (), b"a=b") for target in (b"/pay;%ff", b"/%e9/../pay", b"/p%u0061y", b"/pay;%ff=a")),
    *(
        Request("POST", b"/items/7" + query, (), b"a=b")
        for query in (b"?_method=FOO", b"?%5fmethod=%ff", b"?_method[]=x")
    ),
]


@pytest.fixture(scope="module")
def backend() -> Iterator[Backend]:
    """The site to which the proxies pass requests."""
    made = Backend()
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def upstreams() -> Iterator[Upstreams]:
    """The frameworks that this machine has."""
    with running_upstreams() as running:
        yield running


@dataclass
class Trial:
    """A client of one kind before a site of one shape behind a proxy."""

    backend: Backend
    port: int
    network: int
    client: ClientHeaders

    def send(self, requests: Sequence[Request]) -> tuple[Flood, list[bytes]]:
        """Send requests; return the responses, and the messages that reached the site."""
        self.backend.ran.clear()
        flood = send_all(self.port, requests, network=self.network, client=self.client)
        return flood, [ran.message for ran in self.backend.ran]

    def refused(self) -> set[str]:
        """Return the handlers that this client may not reach."""
        return {each.name for each in HANDLERS if not self.send([plain(each)])[1]}


def plain(handler: Handler) -> Request:
    """Return an unambiguous request; it carries neither a form nor JSON, which could name a method."""
    if handler.method == "POST":
        return Request("POST", handler.path.encode(), ((b"Content-Type", b"text/plain"),), b"{}")
    return Request(handler.method, handler.path.encode())


def around(messages: Sequence[bytes], upstreams: Upstreams, *, refused: set[str], asked: int) -> tuple[list[str], int]:
    """Return the messages that reached a handler denied to the client, and how many requests ran some handler.

    Each message is sent to `asked` of the upstreams.
    """
    names = sorted(upstreams.ports)
    asked = min(asked, len(names))
    chosen: dict[str, list[bytes]] = {name: [] for name in names}
    for number, message in enumerate(messages):
        for turn in range(asked):
            chosen[names[(number * asked + turn) % len(names)]].append(message)
    told = [
        (name, message, handlers)
        for name, ran in upstreams.ask(chosen).items()
        for message, handlers in zip(chosen[name], ran, strict=True)
        if handlers
    ]
    found = [f"{name} ran {sorted(ran & refused)}: {message!r}" for name, message, ran in told if ran & refused]
    return found, len(told)


@pytest.fixture(scope="module", params=[(proxy, shape) for proxy in PROXIES for shape in SHAPES], ids="-".join)
def trial(request: pytest.FixtureRequest, gateway: RunningService, backend: Backend) -> Iterator[Trial]:
    """Each shape of a site behind each proxy."""
    proxy, shape = request.param
    installation = install(gateway, SHAPES[shape], backend.port)
    network = NETWORK + PROXIES.index(proxy) * len(SHAPES) + list(SHAPES).index(shape)
    client = client_of(gateway, SHAPES[shape], installation.site)
    with running_proxy(proxy, installation) as port:
        yield Trial(backend, port, network, client)


def judge(trial: Trial, upstreams: Upstreams, *, count: int, asked: int) -> tuple[int, int]:
    """Send so many requests; return how many came through, and how many of those that were tried ran a handler."""
    refused = trial.refused()
    first = trial.network * SOAK
    flood, messages = trial.send([make_odd_request(number) for number in range(first, first + count)])

    assert {"pay", "users", "add_user", "tasks", "delete_item"} <= refused, refused
    assert {"home", "page", "members", "item"} & refused == set()
    # Enough requests reached the site, and enough were blocked.
    assert len(messages) > count // 10, flood.statuses
    assert sum(flood.statuses.get(status, 0) for status in (401, 402, 403)) > count // 10, flood.statuses
    found, ran = around(messages, upstreams, refused=refused, asked=asked)
    assert found == []
    return len(messages), ran


def test_no_odd_request_gets_around_the_gate(trial: Trial, upstreams: Upstreams) -> None:
    judge(trial, upstreams, count=QUICK, asked=QUICK_UPSTREAMS)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_none_of_twenty_thousand_odd_requests_gets_around_the_gate(trial: Trial, upstreams: Upstreams) -> None:
    came, ran = judge(trial, upstreams, count=SOAK, asked=SOAK_UPSTREAMS)

    # The upstreams understood enough of it.
    assert ran > came // 10


def test_a_request_that_is_not_understood_could_be_any_route(trial: Trial) -> None:
    flood, messages = trial.send(NOT_UNDERSTOOD)

    assert messages == []
    assert 200 not in flood.statuses


def test_ordinary_requests_are_not_blocked(trial: Trial) -> None:
    flood, _ = trial.send([Request("GET", target.encode()) for target in ORDINARY])

    assert flood.statuses == {200: len(ORDINARY)}


def test_the_upstreams_run_their_handlers(upstreams: Upstreams) -> None:
    messages = [_message(each) for each in HANDLERS]
    ran = upstreams.ask(dict.fromkeys(upstreams.ports, messages))

    expected = [frozenset({each.name}) for each in HANDLERS]
    assert ran == dict.fromkeys(upstreams.ports, expected), upstreams.missing
    assert {"flask", "django", "fastapi"} <= set(upstreams.ports), upstreams.missing


def test_every_upstream_exists(upstreams: Upstreams) -> None:
    if upstreams.missing:
        pytest.skip("; ".join(f"{name}: {reason}" for name, reason in sorted(upstreams.missing.items())))


def _message(handler: Handler) -> bytes:
    request = plain(handler)
    lines = [b"%s %s HTTP/1.1" % (request.method.encode(), request.target), b"Host: shop.example"]
    lines += [b"%s: %s" % header for header in request.headers]
    lines += [b"Content-Length: %d" % len(request.body)] if request.body else []
    return b"\r\n".join([*lines, b"", request.body])


def test_matching_a_target_only_as_it_came_would_be_found(
    gateway: RunningService, backend: Backend, upstreams: Upstreams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(route_table, "is_plain", lambda _: True)
    monkeypatch.setattr(route_table, "folded_path", lambda path: path.decode("latin-1"))
    installation = install(gateway, SHAPES["catch-all"], backend.port)

    with running_proxy("nginx", installation) as port:
        trial = Trial(backend, port, NETWORK - 1, client_of(gateway, SHAPES["catch-all"], installation.site))
        refused = trial.refused()
        _, messages = trial.send([make_odd_request(number) for number in range(200)])

    assert len(around(messages, upstreams, refused=refused, asked=3)[0]) > 3
