"""The client's address: believed from trusted proxies only, right to left, one spelling for one client."""

from ipaddress import ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgate.http.address import ClientAddress, canonical_address, source_of

LOCAL = ClientAddress(["127.0.0.0/8", "::1/128"])
CHAIN = ClientAddress(["127.0.0.1", "10.0.0.0/8", "fd00::/8"])


def test_a_peer_that_is_not_a_trusted_proxy_is_the_client_whatever_it_shows() -> None:
    assert LOCAL.find("192.0.2.1", ["198.51.100.1"]) == "192.0.2.1"
    assert LOCAL.find("192.0.2.1", ["127.0.0.1"]) == "192.0.2.1"


@pytest.mark.parametrize(
    ("lines", "client"),
    [
        ([], "127.0.0.1"),
        (["192.0.2.1"], "192.0.2.1"),
        (["198.51.100.9, 192.0.2.1"], "192.0.2.1"),
        (["192.0.2.1, 10.0.0.1"], "192.0.2.1"),
        (["198.51.100.9, 192.0.2.1, 10.0.0.1, 10.0.0.2"], "192.0.2.1"),
        (["198.51.100.9", "192.0.2.1", "10.0.0.1"], "192.0.2.1"),
        (["198.51.100.9, 192.0.2.1", "10.0.0.1 , 10.0.0.2"], "192.0.2.1"),
        (["10.0.0.3, 10.0.0.1"], "10.0.0.3"),
        (["192.0.2.1:4711"], "192.0.2.1"),
        (["[2001:db8::1]:4711"], "2001:db8::1"),
        (["2001:DB8:0::1"], "2001:db8::1"),
        (["::ffff:192.0.2.1"], "192.0.2.1"),
        (["192.0.2.1, ::ffff:10.0.0.1"], "192.0.2.1"),
        (["fe80::1%eth0"], "fe80::1"),
    ],
)
def test_the_right_most_address_that_is_no_trusted_proxy_is_the_client(lines: list[str], client: str) -> None:
    assert CHAIN.find("127.0.0.1", lines) == client


@pytest.mark.parametrize("hop", ["", "unknown", "_hidden", "1.2.3", "192.0.2.999", "0x7f.1", "192.0.2.01", "a" * 9_000])
def test_what_is_no_address_ends_what_is_believed(hop: str) -> None:
    assert CHAIN.find("127.0.0.1", [f"198.51.100.9, {hop}"]) == "127.0.0.1"
    assert CHAIN.find("127.0.0.1", [f"198.51.100.9, {hop}, 10.0.0.1"]) == "10.0.0.1"


def test_a_peer_on_a_dual_stack_socket_is_the_same_client() -> None:
    assert LOCAL.find("::ffff:192.0.2.1", []) == "192.0.2.1"
    assert LOCAL.find("::ffff:127.0.0.1", ["192.0.2.1"]) == "192.0.2.1"


def test_a_spoofed_list_of_any_length_changes_nothing() -> None:
    spoofed = ", ".join(f"203.0.113.{number % 256}" for number in range(800))
    lines = [spoofed] * 10

    assert CHAIN.find("127.0.0.1", [*lines, "192.0.2.1"]) == "192.0.2.1"
    assert CHAIN.find("192.0.2.1", lines) == "192.0.2.1"


def test_a_peer_without_an_address_is_local_and_trusted() -> None:
    assert LOCAL.find(None, ["192.0.2.1"]) == "192.0.2.1"
    # Also where loopback addresses are not trusted.
    assert ClientAddress(["10.0.0.0/8"]).find(None, ["198.51.100.7, 192.0.2.1"]) == "192.0.2.1"
    assert LOCAL.find(None, []) == "::1"
    assert LOCAL.is_trusted(None)


def test_only_trusted_peers_are_trusted() -> None:
    assert CHAIN.is_trusted("10.9.9.9")
    assert CHAIN.is_trusted("::ffff:10.9.9.9")
    assert CHAIN.is_trusted("fd00::7")
    assert not CHAIN.is_trusted("11.0.0.1")
    assert not CHAIN.is_trusted("2001:db8::1")
    assert not CHAIN.is_trusted("nonsense")


def test_without_trusted_proxies_no_one_is_believed() -> None:
    assert ClientAddress([]).find("127.0.0.1", ["192.0.2.1"]) == "127.0.0.1"


def test_attempts_from_one_ipv6_network_count_together() -> None:
    assert source_of("2001:db8:1:2::1") == source_of("2001:db8:1:2:ffff::9")
    assert source_of("2001:db8:1:2::1") != source_of("2001:db8:1:3::1")


def test_attempts_from_two_ipv4_addresses_count_apart() -> None:
    assert source_of("192.0.2.1") == "192.0.2.1"
    assert source_of("192.0.2.1") != source_of("192.0.2.2")
    assert source_of("::ffff:192.0.2.1") != source_of("::ffff:192.0.2.2")


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6), st.ip_addresses(v=6, network="::/96")))
def test_the_one_spelling_matches_the_standard_library(address):
    mapped = getattr(address, "ipv4_mapped", None)
    spelt = [str(address), address.exploded, str(address).upper()]

    for text in spelt:
        assert canonical_address(text) == str(mapped or address)
    expected = str(address) if mapped or address.version == 4 else str(ip_network((address, 64), strict=False))
    assert source_of(str(address)) == expected
