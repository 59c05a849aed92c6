"""Looking up names and addresses at a real DNS server on the loopback, an honest one and others."""

import asyncio
import socket
import struct

import pytest

from agentgate.http.outbound.dns import LookupFailed, NameLookup, system_servers
from tests.support.dns_server import PTR, A, DnsServer, dns_server


@pytest.fixture
def server():
    with dns_server() as running:
        yield running


def lookup_at(*servers: DnsServer) -> NameLookup:
    return NameLookup(tuple(("127.0.0.1", server.port) for server in servers))


def names(lookup: NameLookup, address: str) -> tuple[str, ...]:
    return asyncio.run(lookup.names_of(address))


def test_an_address_has_its_names_and_a_name_its_addresses(server: DnsServer) -> None:
    server.point("66.249.66.1", "crawl-66-249-66-1.googlebot.com")
    server.point("2001:db8::7", "six.search.msn.com")
    lookup = lookup_at(server)

    assert names(lookup, "66.249.66.1") == ("crawl-66-249-66-1.googlebot.com",)
    assert names(lookup, "2001:db8::7") == ("six.search.msn.com",)
    assert asyncio.run(lookup.addresses_of("crawl-66-249-66-1.googlebot.com", 4)) == ("66.249.66.1",)
    assert asyncio.run(lookup.addresses_of("six.search.msn.com", 6)) == ("2001:db8::7",)


def test_what_has_no_name_has_none(server: DnsServer) -> None:
    assert names(lookup_at(server), "192.0.2.1") == ()


def test_a_server_that_fails_is_followed_by_the_next(server: DnsServer) -> None:
    server.code = 2
    with dns_server() as second:
        second.point("192.0.2.1", "host.example")

        assert names(lookup_at(server, second), "192.0.2.1") == ("host.example",)


def test_servers_that_all_fail_are_distinguished_from_no_names(server: DnsServer) -> None:
    server.code = 5

    with pytest.raises(LookupFailed):
        names(lookup_at(server), "192.0.2.1")


def test_a_closed_port_and_no_server_at_all_fail(server: DnsServer) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    with pytest.raises(LookupFailed):
        names(NameLookup((("127.0.0.1", port),)), "192.0.2.1")
    with pytest.raises(LookupFailed):
        names(NameLookup(()), "192.0.2.1")


def test_responses_to_other_questions_are_not_taken(server: DnsServer) -> None:
    server.point("192.0.2.1", "true.example")
    server.noise = [
        b"",
        b"\0" * 11,
        b"\xff" * 40,
        b"\0\0" + struct.pack("!5H", 0x8180, 1, 0, 0, 0) + b"\1x\0\0\x0c\0\1",
    ]

    assert names(lookup_at(server), "192.0.2.1") == ("true.example",)


@pytest.mark.parametrize("value", ["a" * 63 + ".example", "x.y.z"])
def test_names_of_any_length_come_whole(server: DnsServer, value: str) -> None:
    server.records["1.2.0.192.in-addr.arpa", PTR] = [value]

    assert names(lookup_at(server), "192.0.2.1") == (value,)


@pytest.mark.parametrize("name", ["", "a..b", "x" * 64, "é.example", "a." * 130])
def test_what_is_no_name_is_not_asked_for(server: DnsServer, name: str) -> None:
    with pytest.raises((LookupFailed, UnicodeEncodeError)):
        asyncio.run(lookup_at(server).addresses_of(name, 4))

    assert server.asked == []


def test_the_machines_servers_are_read(tmp_path) -> None:
    file = tmp_path / "resolv.conf"
    file.write_text("# a remark\nsearch example\nnameserver 192.0.2.53\nnameserver 2001:db8::53\nnameserver\n")

    assert system_servers(file) == (("192.0.2.53", 53), ("2001:db8::53", 53))
    assert system_servers(tmp_path / "absent") == ()


def test_several_addresses_come_together(server: DnsServer) -> None:
    server.records["many.example", A] = [f"192.0.2.{number}" for number in range(1, 60)]

    assert len(asyncio.run(lookup_at(server).addresses_of("many.example", 4))) == 59
