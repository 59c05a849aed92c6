"""Networks of lists: read, packed, changed and searched as the library's networks are."""

import random
from ipaddress import ip_address, ip_network

import pytest

from agentgate.lib.ip_address import read_address, read_network
from agentgate.sites.lists.networks import (
    LONGEST_LINE,
    SORTED_AT_ONCE,
    Network,
    changed,
    merge,
    of_network,
    overlaps,
    pack,
    read_list,
    read_plain,
    searchable,
    unpack,
)


def some(chance: random.Random, count: int) -> list[Network]:
    found = []
    for _ in range(count):
        version = chance.choice((4, 6))
        bits = 32 if version == 4 else 128
        prefix = chance.randint(bits - 12, bits)
        base = int(ip_address("203.0.112.0" if version == 4 else "2001:db8::"))
        found.append(Network(version, (base + chance.getrandbits(12)) >> bits - prefix << bits - prefix, prefix))
    return found


@pytest.mark.parametrize("seed", range(20))
def test_packed_networks_contain_the_same_addresses(seed: int) -> None:
    chance = random.Random(seed)
    networks = some(chance, chance.randint(0, 60))
    added, removed = some(chance, 5), some(chance, 5)
    merged = merge(networks)
    assert unpack(pack(merged)) == merged
    after = changed(merged, added, removed)
    found = searchable(pack(after))
    whole = [ip_network(each.text()) for each in [*(one for one in merged if not inside(one, removed)), *added]]
    for _ in range(200):
        version = chance.choice((4, 6))
        base = int(ip_address("203.0.112.0" if version == 4 else "2001:db8::"))
        address = ip_address(str(type(ip_address("::" if version == 6 else "0.0.0.0"))(base + chance.getrandbits(12))))
        number = read_address(str(address))
        assert number is not None
        assert found.has(number) is any(address in each for each in whole if each.version == version)


def inside(one: Network, others: list[Network]) -> bool:
    return any(one.is_inside(other) for other in others)


def test_plain_texts_are_read_as_the_library_reads_them() -> None:
    texts = [
        "192.0.2.1",
        "192.0.2.0/24",
        "192.0.2.1/24",
        "192.0.2.1/32",
        "0.0.0.0/0",
        "1.2.3",
        "1.2.3.4.5",
        "1.2.3.4/33",
    ]
    texts += ["::1", "2001:db8::/32", "2001:db8::1/32", "::ffff:192.0.2.1", "::ffff:192.0.2.0/120", "::/0", "1.2.3.4/"]
    texts += [
        "01.2.3.4",
        "1.2.3.4/08",
        "1.2.3.4/255.255.255.255",
        "fe80::1%eth0",
        "a",
        "",
        "1.2.3.4/-1",
        "1.2.3.4/\uff12\uff14",
        "::FFFF:192.0.2.1",
    ]
    for text in texts:
        try:
            expected: object = of_network(read_network(text))
        except ValueError:
            expected = ValueError
        try:
            found: object = read_plain(text)
        except ValueError:
            found = ValueError
        assert found == expected, text


def test_lines_of_published_lists_are_read() -> None:
    text = (
        "# a\n; b\n\n192.0.2.1 # c\n192.0.2.0/25;SBL1\r\n198.51.100.1\tx\n<p>\n"
        '{"cidr": "203.0.113.0/24"}\n{"type": 1}\n{'
    )
    found = read_list(text)
    assert [each.text() for each in found.networks] == [
        "192.0.2.1/32",
        "192.0.2.0/25",
        "198.51.100.1/32",
        "203.0.113.0/24",
    ]
    assert (found.lines, found.unreadable) == (6, 2)


@pytest.mark.parametrize("seed", range(20))
def test_networks_overlap_exactly_if_the_library_finds_it(seed: int) -> None:
    chance = random.Random(seed)
    known, asked = some(chance, chance.randint(0, 12)), some(chance, 200)
    shares = overlaps(known)
    library = [ip_network(each.text()) for each in known]

    for each in asked:
        one = ip_network(each.text())
        assert shares(each) is any(one.version == other.version and one.overlaps(other) for other in library), each


def test_more_networks_than_are_sorted_at_once_are_merged_in_order() -> None:
    networks = some(random.Random(1), 2 * SORTED_AT_ONCE + 7)

    assert merge(networks) == merge(sorted(networks))
    assert merge(networks) == sorted(set(merge(networks)))


@pytest.mark.parametrize(
    "line", ['{"a":' + "[" * 10_000, '{"cidr":"198.51.100.9"' + " " * LONGEST_LINE + "}", "9 " * 10**6]
)
def test_a_line_that_is_expensive_to_read_is_not_a_network(line: str) -> None:
    found = read_list(f"198.51.100.7\n{line}\n198.51.100.8")

    assert ([each.text() for each in found.networks], found.unreadable) == (["198.51.100.7/32", "198.51.100.8/32"], 1)
