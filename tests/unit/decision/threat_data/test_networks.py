"""Address tables against the plain reading of the same ranges."""

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgate.decision.threat_data.networks import (
    ALLOW,
    BLOCK,
    DATACENTER,
    TOR,
    make_flags,
    make_values,
    network_range,
)
from agentgate.lib.ip_address import AddressNumber, read_address, read_network

FLAGS = st.sampled_from([DATACENTER, TOR, ALLOW, BLOCK])
# Few distinct addresses, so that networks overlap and addresses hit them.
V4 = st.tuples(st.integers(0, 1023), st.integers(20, 32)).map(
    lambda pair: ip_network((pair[0] << 8, pair[1]), strict=False)
)
V6 = st.tuples(
    st.integers(0, 7), st.integers(0, 255), st.integers(0, 3), st.sampled_from([16, 48, 64, 80, 127, 128])
).map(lambda parts: ip_network(((parts[0] << 112) + (parts[1] << 64) + parts[2], parts[3]), strict=False))
V4_ADDRESSES = st.integers(0, 1 << 18).map(ip_address)
V6_ADDRESSES = st.tuples(st.integers(0, 7), st.integers(0, 255), st.integers(0, 3)).map(
    lambda parts: ip_address((1 << 127) | (parts[0] << 112) + (parts[1] << 64) + parts[2])
)


def table_of(entries):
    v4 = [network_range(network, flag) for network, flag in entries if network.version == 4]
    v6 = [network_range(network, flag) for network, flag in entries if network.version == 6]
    return make_flags(v4, v6)


def expected_flags(entries, address):
    bits = 0
    for network, flag in entries:
        if address.version == network.version and address in network:
            bits |= flag
    return bits


@given(st.lists(st.tuples(V4, FLAGS), max_size=12), st.lists(V4_ADDRESSES, min_size=1, max_size=20))
def test_a_table_of_ipv4_shows_what_its_networks_show(entries, addresses):
    table = table_of(entries)

    for address in addresses:
        assert table.find(read_address(str(address))) == expected_flags(entries, address)


@given(st.lists(st.tuples(V6, FLAGS), max_size=12), st.lists(V6_ADDRESSES, min_size=1, max_size=20))
def test_a_table_of_ipv6_shows_what_its_networks_show(entries, addresses):
    moved = [
        (ip_network(((1 << 127) | int(network.network_address), network.prefixlen)), flag) for network, flag in entries
    ]
    table = table_of(moved)

    for address in addresses:
        assert table.find(read_address(str(address))) == expected_flags(moved, address)


def test_the_first_and_the_last_address_can_be_in_a_list():
    table = table_of(
        [(ip_network("0.0.0.0/8"), TOR), (ip_network("255.0.0.0/8"), BLOCK), (ip_network("ff00::/8"), BLOCK)]
    )

    assert table.find(read_address("0.0.0.0")) == TOR
    assert table.find(read_address("255.255.255.255")) == BLOCK
    assert table.find(read_address("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")) == BLOCK
    assert table.find(read_address("1.0.0.0")) == table.find(read_address("::1")) == 0


def test_a_table_of_values_keeps_neighbours_and_gaps_apart():
    table = make_values([(10, 19, 7), (20, 29, 8), (40, 49, 9)], [(5 << 64, (6 << 64) - 1, 3)])

    assert [table.find(AddressNumber(4, number)) for number in (9, 10, 19, 20, 29, 30, 39, 40, 49, 50)] == [
        0,
        7,
        7,
        8,
        8,
        0,
        0,
        9,
        9,
        0,
    ]
    assert [table.find(AddressNumber(6, number << 64)) for number in (4, 5, 6)] == [0, 3, 0]


@pytest.mark.parametrize(
    "text", ["", "a", "1.2.3", "1.2.3.4.5", "300.1.1.1", "::g", "1.2.3.4/32", "x" * 5000, "1.2.3.4\0"]
)
def test_what_is_no_address_is_none(text):
    assert read_address(text) is None


def test_an_ipv4_address_written_as_ipv6_is_the_same_address():
    assert read_address("::ffff:1.2.3.4") == read_address("1.2.3.4")
    assert read_network("::ffff:1.2.3.0/120") == ip_network("1.2.3.0/24")
