"""Mutated request lines and headers through real proxies: no protected route runs without evaluation as protected.

The visitor has neither token nor clearance, so the service blocks every request that it evaluates as protected. A
request that reaches the site must therefore run no protected route, however the site reads it. Each proxy gets five
thousand requests here, a hundred thousand in the soak.
"""

from collections import Counter
from collections.abc import Iterator

import pytest

from agentgate.sites import route_table
from agentgate_tools.adapters.render import Installation
from tests.proxies.flood import Backend, Flood, Ran, send_all
from tests.proxies.mutations import ROUTES, make_request
from tests.proxies.readings import paths, protected_by
from tests.proxies.running import running_proxy
from tests.support.browser_client import create_site
from tests.support.service import RunningService

PROXIES = ("nginx", "haproxy", "caddy", "traefik", "envoy")
QUICK, SOAK = 2_000, 100_000
ORIGIN = "https://shop.example"


@pytest.fixture(scope="module")
def backend() -> Iterator[Backend]:
    """The site behind."""
    made = Backend()
    made.start()
    yield made
    made.stop()


def install(gateway: RunningService, backend: Backend) -> Installation:
    """Create a site without rules in the service: only route protection decides."""
    site_key = create_site(
        gateway, mode="enforce", actions={"login": {"browserRequired": True, "clearance": True}}, routes=ROUTES
    )
    rules = {"revision": 0, "ruleSet": {"version": "1", "rules": [], "default_action": "allow"}}
    assert gateway.operator.put(f"/v1/admin/sites/{site_key}/rules", json=rules).status_code == 200
    made = gateway.operator.post(f"/v1/admin/sites/{site_key}/credentials", json={"name": "proxy"})
    return Installation(
        site=site_key,
        service=gateway.public_url,
        origin=ORIGIN,
        upstream=f"http://127.0.0.1:{backend.port}",
        secret=made.json()["secret"],
        mode="enforce",
    )


@pytest.fixture(scope="module")
def installation(gateway: RunningService, backend: Backend) -> Installation:
    """The site in the service."""
    return install(gateway, backend)


@pytest.fixture(scope="module", params=PROXIES)
def proxy(request: pytest.FixtureRequest, installation: Installation) -> Iterator[tuple[str, int]]:
    """Each proxy with the configuration that we ship: its name and its port."""
    with running_proxy(request.param, installation) as port:
        yield request.param, port


def run(proxy: tuple[str, int], backend: Backend, numbers: range) -> tuple[Flood, list[Ran]]:
    """Send the requests of these numbers; return the responses, and the requests that reached the site."""
    backend.ran.clear()
    flood = send_all(proxy[1], [make_request(number) for number in numbers], network=10 + PROXIES.index(proxy[0]))
    return flood, list(backend.ran)


def violations(ran: list[Ran]) -> list[str]:
    """Return what ran a protected route under some reading."""
    found = []
    for each in ran:
        readings = protected_by(each.method, each.target, each.headers)
        if readings:
            case = each.headers.get(b"x-case", b"?").decode()
            found.append(
                f"case {case}: {each.method!r} {each.target!r} as {readings[0]} (and {len(readings) - 1} more)"
            )
    return found


def judge(proxy: tuple[str, int], backend: Backend, numbers: range) -> None:
    flood, ran = run(proxy, backend, numbers)

    assert violations(ran) == []
    # Requests that the proxy rejects itself, or a run that blocks everything, would prove nothing: both 200 and 401
    # must be frequent.
    assert sum(flood.statuses.values()) == len(numbers)
    assert flood.statuses.get(200, 0) > len(numbers) // 20, flood.statuses
    assert flood.statuses.get(401, 0) > len(numbers) // 10, flood.statuses
    # Nothing runs twice, and nothing runs that was not sent.
    cases = Counter(each.headers.get(b"x-case", b"") for each in ran)
    assert set(cases.values()) <= {1}, cases.most_common(3)


def share_of(proxy: tuple[str, int], first: int, count: int) -> range:
    """Return the numbers that fall to a proxy: others for each."""
    start = first + PROXIES.index(proxy[0]) * count
    return range(start, start + count)


def test_no_protected_route_runs_unchecked(proxy: tuple[str, int], backend: Backend) -> None:
    judge(proxy, backend, share_of(proxy, 0, QUICK))


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_no_protected_route_runs_unchecked_in_a_hundred_thousand(proxy: tuple[str, int], backend: Backend) -> None:
    judge(proxy, backend, share_of(proxy, SOAK, SOAK))


def test_matching_the_path_only_as_it_came_would_be_found(
    gateway: RunningService, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(route_table, "is_plain", lambda _: True)
    monkeypatch.setattr(route_table, "folded_path", lambda path: path.decode("latin-1"))

    # Create a separate site, because results for paths are cached.
    with running_proxy("nginx", install(gateway, backend)) as port:
        _, ran = run(("nginx", port), backend, range(400))

    assert len(violations(ran)) > 5


@pytest.mark.parametrize(
    ("target", "path"),
    [
        (b"/admin", b"/admin"),
        (b"/%61dmin", b"/admin"),
        (b"/%2561dmin", b"/admin"),
        (b"/x/../admin", b"/admin"),
        (b"/x/%2e%2e/admin", b"/admin"),
        (b"/x/..;/admin", b"/admin"),
        (b"//admin", b"/admin"),
        (b"/ADMIN", b"/admin"),
        (b"/admin/", b"/admin"),
        (b"/\\admin", b"/admin"),
        (b"/admin%00.html", b"/admin"),
        (b"/%c0%ae%c0%ae/admin", b"/admin"),
        (b"/%u0061dmin", b"/admin"),
        (b"/admin%3fx", b"/admin"),
        (b"/admin%23x", b"/admin"),
        (b"http://other.example/admin", b"/admin"),
        (b"/admin;a=b", b"/admin"),
    ],
)
def test_the_readings_know_what_servers_do(target: bytes, path: bytes) -> None:
    assert path in {found for _, found in paths(target)}


@pytest.mark.parametrize("target", [b"/", b"/open", b"/administrator", b"/open?x=/admin", b"/open/admin", b"/login"])
def test_the_readings_do_not_protect_what_is_open(target: bytes) -> None:
    assert protected_by(b"GET", target, {}) == []


def test_the_same_number_is_the_same_request() -> None:
    assert make_request(7) == make_request(7)
    assert len({make_request(number) for number in range(1000)}) > 900
