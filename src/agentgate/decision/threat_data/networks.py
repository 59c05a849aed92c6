"""Address tables: sorted arrays of ranges, searched by halving. No object per range, IPv4 and IPv6.

Which lists a table is made of is in `intel.py`; how the files are read is in `agentgate_tools.threat_lists`.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv4Network, IPv6Network
from itertools import pairwise

from msgspec import Struct

from agentgate.lib.ip_address import AddressNumber

# Flags of an address, so that one look-up finds them all.
DATACENTER, TOR, VPN, PRIVATE, ALLOW, BLOCK = 1, 2, 4, 8, 16, 32
# The rest of the bits are operators, by the number of each.
OPERATOR_BITS = 0xFFFF_FFFF_FFFF_FF00

HIGH_LAST = 2**64 - 1

# Four and eight bytes wherever Python runs today.
FOUR_BYTES, EIGHT_BYTES = "I", "Q"
# Flags have a bit for each operator.
FLAG_BYTES = EIGHT_BYTES

# First and last address as numbers (both within the range), and a value.
Range = tuple[int, int, int]


def network_range(network: IPv4Network | IPv6Network, value: int) -> Range:
    """Return the first and last number of a network, with a value."""
    return int(network.network_address), int(network.broadcast_address), value


class AddressSegments(Struct, frozen=True):
    """A line of numbers cut in segments: `values[i]` holds from `starts[i]` up to the next start."""

    starts: "array[int]"
    values: "array[int]"

    def __len__(self) -> int:
        return len(self.starts)


def check_segments(segments: AddressSegments) -> bool:
    """Return whether segments read from a file can be searched: one value each, from 0, ascending."""
    starts = segments.starts
    if not starts or starts[0] != 0 or len(starts) != len(segments.values):
        return False
    return all(before < after for before, after in pairwise(starts))


class AddressTable(Struct, frozen=True):
    """Values of addresses. IPv6 is searched by its upper half; ranges finer than a /64 are in `narrow`."""

    v4: AddressSegments
    v6: AddressSegments
    # Upper half -> ranges of the lower half with their values. Few: single IPv6 addresses in hand-kept lists.
    narrow: Mapping[int, tuple[Range, ...]] = {}

    def find(self, address: AddressNumber) -> int:
        """Return the value of an address; 0 if it is unknown."""
        if address.version == 4:
            return self.v4.values[bisect_right(self.v4.starts, address.number) - 1]
        high, low = address.number >> 64, address.number & HIGH_LAST
        found = self.v6.values[bisect_right(self.v6.starts, high) - 1]
        for first, last, value in self.narrow.get(high, ()):
            if first <= low <= last:
                found |= value
        return found


def make_flags(v4: Iterable[Range], v6: Iterable[Range]) -> AddressTable:
    """Make a table in which overlapping ranges add up their bits."""
    wide: list[Range] = []
    narrow: dict[int, list[Range]] = {}
    for first, last, value in v6:
        if first & HIGH_LAST == 0 and last & HIGH_LAST == HIGH_LAST:
            wide.append((first >> 64, last >> 64, value))
        elif first >> 64 == last >> 64:
            narrow.setdefault(first >> 64, []).append((first & HIGH_LAST, last & HIGH_LAST, value))
        else:
            raise ValueError("an IPv6 range is either whole /64 networks or within one")
    return AddressTable(
        v4=_segments(_overlaid(v4), FOUR_BYTES, FLAG_BYTES),
        v6=_segments(_overlaid(wide), EIGHT_BYTES, FLAG_BYTES),
        narrow={high: tuple(ranges) for high, ranges in narrow.items()},
    )


def make_values(v4: Iterable[Range], v6: Iterable[Range]) -> AddressTable:
    """Make a table of one value per address, such as its ASN. Published tables of these do not overlap."""
    high = ((first >> 64, last >> 64, value) for first, last, value in v6)
    return AddressTable(v4=_segments(_laid(v4), FOUR_BYTES), v6=_segments(_laid(high), EIGHT_BYTES))


def _overlaid(ranges: Iterable[Range]) -> Iterator[tuple[int, int]]:
    """Sweep over starts and ends, and yield each number where the bits change, with the new bits."""
    changes: dict[int, list[tuple[int, int]]] = {}
    for first, last, value in ranges:
        changes.setdefault(first, []).append((value, 1))
        changes.setdefault(last + 1, []).append((value, -1))
    depth: dict[int, int] = {}
    for number in sorted(changes):
        for value, step in changes[number]:
            depth[value] = depth.get(value, 0) + step
        bits = 0
        for value, count in depth.items():
            bits |= value if count else 0
        yield number, bits


def _laid(ranges: Iterable[Range]) -> Iterator[tuple[int, int]]:
    end = -1
    for first, last, value in sorted(ranges):
        if end >= 0 and first > end:
            yield end, 0
        yield first, value
        end = max(end, last + 1)
    if end >= 0:
        yield end, 0


def _segments(changes: Iterable[tuple[int, int]], width: str, values_width: str = FOUR_BYTES) -> AddressSegments:
    starts, values = array(width, [0]), array(values_width, [0])
    most = 2 ** (8 * starts.itemsize) - 1
    for number, value in changes:
        if number > most:
            break
        if number == starts[-1]:
            values[-1] = value
        elif value != values[-1]:
            starts.append(number)
            values.append(value)
    return AddressSegments(starts=starts, values=values)


def country_code(text: str) -> int:
    """Return a country's two letters as the number that tables hold; ValueError when they are not two letters."""
    lowered = text.lower()
    if len(lowered) != 2 or not lowered.isascii() or not lowered.isalpha():
        raise ValueError(f"{text!r} is not a country code")
    return ord(lowered[0]) << 8 | ord(lowered[1])
