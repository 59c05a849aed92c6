"""Hosts, ports and time limits of the console's test of a site."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from agentgate.http.outbound.client import SiteOutbound, connect
from agentgate.lib.clock import SystemClock
from agentgate.lib.errors import Refused
from agentgate.lib.settings.schema import Settings
from agentgate.sites.records import Examined, SiteFinding
from agentgate_tools.doctor import examiner as examining
from agentgate_tools.doctor.examiner import AT_ONCE, DoctorExaminer
from tests.support.http_receiver import Answering, Receiver, receiver

pytestmark = pytest.mark.anyio
SETTINGS = Settings(site_private_hosts=("localhost",))
PRIVATE = (
    "http://127.0.0.1",
    "https://10.0.0.1",
    "http://169.254.169.254",
    "http://[::1]",
    "http://[::ffff:127.0.0.1]",
    "https://100.100.100.200",
)


@pytest.fixture
def site() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


async def examined(origin: str, settings: Settings = SETTINGS, **outbound: Any) -> list[SiteFinding]:
    return (await seen(origin, settings, **outbound)).findings


async def seen(origin: str, settings: Settings = SETTINGS, **outbound: Any) -> Examined:
    made = SiteOutbound(frozenset(settings.site_private_hosts), **outbound)
    return await DoctorExaminer(settings, SystemClock(), made).examine(origin, "ann")


async def test_a_site_on_an_allowed_private_host_gets_the_checks(site: Receiver) -> None:
    site.answer = lambda _request: Answering(body=b"<h1>Shop</h1>", headers=(("content-type", "text/html"),))

    found = {each.check: each for each in await examined(site.url(path=""))}

    assert found["application"].state == "pass"
    assert "no sign that the site is behind AgentGate" in found["gate"].found
    assert found["gate"].state == "fail"
    assert {"own-paths", "secret", "clock", "exposure", "admin-routes", "leaks"} <= set(found)
    assert "listeners" not in found, "ports of the host must not be scanned"
    assert len(site.received) < 60
    assert {request.headers["host"] for request in site.received} == {f"localhost:{site.port}"}


LINK = '<link rel="alternate" type="application/rss+xml" href="{}">'
# The last ones are of another origin, or a target that a site cannot declare.
LINKED = ("/news.xml", "?feed=rss2", "//evil.example/feed", "http://10.0.0.1/feed", "/a%2e%2e/b", "/../admin;x", "/")


@pytest.mark.parametrize(("status", "linked"), [(200, ["/news.xml", "/?feed=rss2"]), (404, []), (302, [])])
async def test_only_declarable_feeds_of_the_served_front_page_are_returned(
    site: Receiver, status: int, linked: list[str]
) -> None:
    # The declaration at the end is one that Python's parser does not accept.
    page = ("".join(LINK.format(each) for each in LINKED) + "<![<").encode()
    site.answer = lambda _request: Answering(status=status, body=page, headers=(("content-type", "text/html"),))

    assert (await seen(site.url(path=""))).linked == linked
    asked = {request.path for request in site.received}
    assert asked.isdisjoint({"/news.xml", "/?feed=rss2", "/a%2e%2e/b"}), "feeds must not be requested"


@pytest.mark.parametrize("origin", PRIVATE)
async def test_private_addresses_are_not_asked(origin: str) -> None:
    dialed: list[str] = []

    async def dial(address: str, _port: int) -> Any:
        dialed.append(address)
        raise OSError

    (found,) = await examined(origin, Settings(), dial=dial)

    assert (found.check, found.state) == ("reachable", "fail")
    assert dialed == []


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["10.1.2.3"],
        ["::ffff:169.254.169.254"],
        ["64:ff9b::7f00:1"],
        ["2002:7f00:1::"],
        ["2606:4700::1111", "::1"],
        ["93.184.216.34", "127.0.0.1"],
    ],
)
async def test_private_and_unknown_names_get_the_same_finding(addresses: list[str]) -> None:
    async def resolve(_name: str, _port: int) -> list[str]:
        return addresses

    (private,) = await examined("https://shop.example", Settings(), resolve=resolve)
    (unknown,) = await examined("https://shop.invalid", Settings())

    assert private == unknown


async def test_each_request_resolves_and_checks_the_name_again(site: Receiver) -> None:
    answers = iter([["93.184.216.34"], ["127.0.0.1"]])
    dialed: list[str] = []

    async def resolve(_name: str, _port: int) -> list[str]:
        return next(answers, ["127.0.0.1"])

    async def dial(address: str, _port: int) -> Any:
        dialed.append(address)
        return await connect("127.0.0.1", site.port)

    await examined("http://moving.example", Settings(), resolve=resolve, dial=dial)

    assert dialed == ["93.184.216.34"]
    assert len(site.received) == 1


async def test_redirects_are_not_followed(site: Receiver) -> None:
    with receiver() as other:
        target = other.url(path="/secret")
        site.answer = lambda _request: Answering(status=302, headers=(("location", target),))
        await examined(site.url(path=""))
        assert other.received == []


async def test_other_ports_of_public_hosts_need_https() -> None:
    async def resolve(_name: str, _port: int) -> list[str]:
        return ["93.184.216.34"]

    (found,) = await examined("http://shop.example:6379", Settings(), resolve=resolve)

    assert "must start with https://" in found.found


async def test_a_slow_site_ends_the_test(site: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examining, "WHOLE_S", 0.3)
    site.answer = lambda _request: Answering(hold_s=20)
    began = time.monotonic()

    (found,) = await examined(site.url(path=""))

    assert found.check == "reachable"
    assert time.monotonic() - began < 5


async def test_a_site_that_sends_single_bytes_ends_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examining, "WHOLE_S", 0.5)

    ended = asyncio.Event()

    async def drip(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                writer.write(b"H")
                await writer.drain()
                await asyncio.sleep(0.05)
        except OSError:
            writer.close()
            ended.set()

    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    began = time.monotonic()
    try:
        (found,) = await examined(f"http://localhost:{server.sockets[0].getsockname()[1]}")
        await ended.wait()
    finally:
        server.close()

    assert found.check == "reachable"
    assert time.monotonic() - began < 5


async def test_of_a_large_response_only_the_beginning_is_read(site: Receiver) -> None:
    site.answer = lambda _request: Answering(body=b"<p>" + b"x" * 50_000_000, headers=(("content-type", "text/html"),))
    began = time.process_time()

    found = await examined(site.url(path=""))

    assert {each.check for each in found} >= {"application", "gate"}
    assert max(len(each.found) for each in found) < 1_000
    assert time.process_time() - began < 10


async def test_a_name_server_that_never_responds_does_not_occupy_the_threads_of_the_service(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(examining, "WHOLE_S", 0.3)
    ended = threading.Event()

    def stuck(*_args: Any, **_named: Any) -> list[Any]:
        ended.wait(20)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", stuck)
    examiner = DoctorExaminer(SETTINGS, SystemClock())
    try:
        for _ in range(10):
            found = await asyncio.gather(
                *(examiner.examine("https://slow.example", f"account {n}") for n in range(AT_ONCE))
            )
            assert {each.check for examined in found for each in examined.findings} == {"reachable"}
        async with asyncio.timeout(2):
            assert await asyncio.to_thread(lambda: "done") == "done"
    finally:
        ended.set()


async def test_an_account_that_fills_the_queue_with_slow_sites_holds_one_place(
    site: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examining, "WHOLE_S", 1.0)
    site.answer = lambda _request: Answering(hold_s=5)
    examiner = DoctorExaminer(SETTINGS, SystemClock())
    slow = [asyncio.create_task(examiner.examine(site.url(path=""), "mallory")) for _ in range(10)]
    await asyncio.sleep(0)

    (found,) = (await examiner.examine("http://10.0.0.1", "ann")).findings
    still_slow = sum(not task.done() for task in slow)
    ended = await asyncio.gather(*slow, return_exceptions=True)

    assert found.check == "reachable"
    assert still_slow == 1
    assert sum(isinstance(each, Refused) and each.code == "rate_limited" for each in ended) == 9


async def test_a_test_waits_for_its_turn_while_other_accounts_hold_all_places(
    site: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examining, "WHOLE_S", 0.5)
    site.answer = lambda _request: Answering(hold_s=5)
    examiner = DoctorExaminer(SETTINGS, SystemClock())
    slow = [asyncio.create_task(examiner.examine(site.url(path=""), f"mallory {n}")) for n in range(AT_ONCE)]
    await asyncio.sleep(0)

    (found,) = (await examiner.examine("http://10.0.0.1", "ann")).findings
    await asyncio.gather(*slow)

    assert found.check == "reachable"


async def test_a_test_that_gets_no_turn_is_rejected_and_leaves_the_queue(
    site: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examining, "WHOLE_S", 1.0)
    monkeypatch.setattr(examining, "WAIT_S", 0.1)
    site.answer = lambda _request: Answering(hold_s=5)
    examiner = DoctorExaminer(SETTINGS, SystemClock())
    slow = [asyncio.create_task(examiner.examine(site.url(path=""), f"mallory {n}")) for n in range(AT_ONCE)]
    await asyncio.sleep(0)

    with pytest.raises(Refused, match="rate_limited"):
        await examiner.examine("http://10.0.0.1", "ann")
    await asyncio.gather(*slow)

    assert (await examiner.examine("http://10.0.0.1", "ann")).findings
