"""Requests to addresses that strangers name: where they go, where they never go, and when they end."""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgate.http.outbound.client import MOST_BODY_BYTES, Outbound, OutboundFailed, read_target
from tests.support.http_receiver import Answering, Receiver, make_certificate, receiver

pytestmark = pytest.mark.anyio

LOCAL = frozenset({"localhost", "127.0.0.1", "hook.example"})


@pytest.fixture
def server() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


async def loopback(_name: str, _port: int) -> list[str]:
    return ["127.0.0.1"]


async def reason_of(outbound: Outbound, url: str) -> str:
    with pytest.raises(OutboundFailed) as caught:
        await outbound.post(url, {}, b"x")
    return caught.value.reason


async def test_a_body_arrives_as_it_was_sent(server: Receiver) -> None:
    server.answer = lambda _request: Answering(status=202, body=b"thanks", headers=(("X-Mark", "1"),))

    answer = await Outbound(LOCAL).post(server.url(path="/a/b?c=d%20e"), {"content-type": "text/x"}, b"\x00body")

    request = server.received[0]
    assert (request.method, request.path, request.body) == ("POST", "/a/b?c=d%20e", b"\x00body")
    assert request.headers["host"] == f"localhost:{server.port}"
    assert request.headers["content-type"] == "text/x"
    assert request.headers["accept-encoding"] == "identity"
    assert (answer.status, answer.body, answer.complete, answer.headers["x-mark"]) == (202, b"thanks", True, "1")


async def test_a_page_is_fetched(server: Receiver) -> None:
    server.answer = lambda _request: Answering(body=b"keys")

    answer = await Outbound(LOCAL).get(server.url(path=""), {})

    assert (server.received[0].method, server.received[0].path, answer.body) == ("GET", "/", b"keys")


async def test_tls_is_checked_against_the_name_and_the_connection_goes_to_the_resolved_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, certificate = make_certificate(tmp_path, "hook.example")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    with receiver(certificate) as server:
        outbound = Outbound(LOCAL, resolve=loopback)
        answer = await outbound.post(server.url("hook.example"), {}, b"x")
        assert answer.status == 200
        assert server.received[0].headers["host"] == f"hook.example:{server.port}"
        wrong_name = await reason_of(outbound, server.url("localhost"))
        assert "certificate is not accepted" in wrong_name
        assert len(server.received) == 1


async def test_a_certificate_of_an_unknown_authority_is_rejected(tmp_path: Path) -> None:
    _authority, certificate = make_certificate(tmp_path, "localhost")
    with receiver(certificate) as server:
        assert "certificate is not accepted" in await reason_of(Outbound(LOCAL), server.url())
        assert server.received == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_a_response_and_not_followed(server: Receiver, status: int) -> None:
    with receiver() as other:
        server.answer = lambda _request: Answering(status=status, headers=(("location", other.url()),))

        answer = await Outbound(LOCAL).post(server.url(), {}, b"x")

        assert answer.status == status
        assert other.received == []


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/",
        "ftp://example.com/",
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://[::ffff:1.1.1.1]/",
        "https://[64:ff9b::808:808]/",
        "https://10.0.0.1:8443/x",
        "https://169.254.169.254/latest/meta-data/",
        "https://user@example.com/",
        "https://example.com@127.0.0.1/",
        "https://example.com/#part",
        "https://example.com:0/",
        "https://example.com:99999/",
        "https://[fe80::1%25eth0]/",
        "https://exa mple.com/",
        "https://example.com\\@127.0.0.1/",
        "https:///path",
        "https://-/",
        "https://ex%61mple.com/",
        "https://münchen.example/",
        "//example.com/",
        "https://" + "a" * 2100,
        "",
    ],
)
def test_a_url_that_is_never_asked_is_rejected_at_once(url: str) -> None:
    with pytest.raises(OutboundFailed):
        Outbound(LOCAL - {"127.0.0.1"}).check(url)


@pytest.mark.parametrize(
    ("url", "host", "port", "path"),
    [
        ("https://Example.COM", "example.com", 443, "/"),
        ("https://example.com:8443/a?b", "example.com", 8443, "/a?b"),
        ("https://[2606:4700:0::1111]/", "[2606:4700::1111]", 443, "/"),
        ("https://a_b.example.com./x", "a_b.example.com.", 443, "/x"),
    ],
)
def test_a_url_is_read(url: str, host: str, port: int, path: str) -> None:
    target = read_target(url)

    assert (target.host, target.port, target.path) == (host, port, path)


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["::1"],
        ["10.1.2.3"],
        ["169.254.169.254"],
        ["::ffff:127.0.0.1"],
        ["64:ff9b::7f00:1"],
        ["2002:7f00:1::"],
        ["1.1.1.1", "127.0.0.1"],
        ["127.0.0.1", "1.1.1.1"],
        ["2606:4700::1111", "fd00::1"],
        [],
    ],
)
async def test_a_name_with_one_address_that_is_not_public_is_rejected_like_one_that_does_not_exist(
    server: Receiver, addresses: list[str]
) -> None:
    async def lying(_name: str, _port: int) -> list[str]:
        return addresses

    reason = await reason_of(Outbound(resolve=lying), f"https://lying.example:{server.port}/")

    assert reason == "the name does not resolve to a public address"
    assert server.received == []


async def test_an_unknown_name_has_no_address() -> None:
    async def unknown(_name: str, _port: int) -> list[str]:
        raise socket.gaierror(-2, "Name or service not known")

    assert (
        await reason_of(Outbound(resolve=unknown), "https://x.example/")
        == "the name does not resolve to a public address"
    )


@pytest.mark.parametrize("host", ["2130706433", "127.1", "0x7f000001", "017700000001", "localhost", "localhost."])
async def test_other_spellings_of_this_machine_are_rejected(server: Receiver, host: str) -> None:
    assert (
        await reason_of(Outbound(), f"https://{host}:{server.port}/") == "the name does not resolve to a public address"
    )
    assert server.received == []


async def test_the_name_is_resolved_once(server: Receiver) -> None:
    asked = []

    async def rebinding(name: str, _port: int) -> list[str]:
        asked.append(name)
        return ["127.0.0.1"]

    await Outbound(LOCAL, resolve=rebinding).post(server.url("hook.example"), {}, b"x")

    assert asked == ["hook.example"]


async def test_a_private_host_is_meant_by_its_exact_name(server: Receiver) -> None:
    outbound = Outbound(frozenset({"hook.example"}), resolve=loopback)

    for host in ("sub.hook.example", "hook.example.evil.example", "hook.example."):
        assert await reason_of(outbound, f"http://{host}:{server.port}/") == "must start with https://"
    assert server.received == []


async def test_a_rejected_connection_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    assert await reason_of(Outbound(LOCAL), f"http://127.0.0.1:{port}/") == "connection refused"


async def test_an_address_that_rejects_is_passed_over_for_the_next(server: Receiver) -> None:
    async def two(_name: str, _port: int) -> list[str]:
        return ["127.0.0.2", "127.0.0.1"]

    answer = await Outbound(LOCAL, resolve=two).post(server.url("hook.example"), {}, b"x")

    assert answer.status == 200


async def test_no_response_in_time_is_reported(server: Receiver) -> None:
    server.answer = lambda _request: Answering(hold_s=5)

    assert await reason_of(Outbound(LOCAL, whole_s=0.3), server.url()) == "no response within 0.3 seconds"


async def test_a_name_server_that_does_not_respond_is_reported() -> None:
    async def stuck(_name: str, _port: int) -> list[str]:
        await asyncio.sleep(5)
        return []

    outbound = Outbound(resolve=stuck, connect_s=0.1)

    assert await reason_of(outbound, "https://x.example/") == "no connection within 0.1 seconds"


async def test_a_server_that_hangs_up_is_reported(server: Receiver) -> None:
    server.answer = lambda _request: Answering(hang_up=True)

    assert await reason_of(Outbound(LOCAL), server.url()) == "the connection was lost before the response"


async def test_a_long_response_is_cut(server: Receiver) -> None:
    server.answer = lambda _request: Answering(body=b"x" * (MOST_BODY_BYTES + 1))

    answer = await Outbound(LOCAL).post(server.url(), {}, b"x")

    assert (len(answer.body), answer.complete) == (MOST_BODY_BYTES, False)


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"SSH-2.0-OpenSSH_9\r\n\r\n", "the response is not HTTP"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 20_000, "the response is longer than 262144 bytes"),
        (b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 20_000, "the response is not HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", "the response is not HTTP"),
        (b"", "the connection was lost before the response"),
    ],
)
async def test_what_is_not_a_response_is_reported(sent: bytes, reason: str) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"x")
            writer.write(sent)
            await writer.drain()
        except OSError:
            pass
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        assert await reason_of(Outbound(LOCAL), f"http://localhost:{port}/") == reason
    finally:
        server.close()
        await server.wait_closed()
