"""Lists: which entry counts, compared with a slow reference, and when entries end."""

from ipaddress import ip_address, ip_network
from random import Random

from agentgate.lib.enums import ListKind, ListOutcome
from agentgate.sites.lists.records import StoredEntry
from agentgate.sites.lists.site_lists import SiteLists, in_force, next_end_ms

VALUES = {
    ListKind.ADDRESS: ("203.0.113.7", "203.0.113.8", "2001:db8::7"),
    ListKind.NETWORK: (
        "203.0.113.0/24",
        "203.0.113.0/29",
        "203.0.0.0/16",
        "2001:db8::/32",
        "2001:db8::/64",
        "10.0.0.0/8",
    ),
    ListKind.VISITOR: ("0000000000000001", "0000000000000002"),
}
ADDRESSES = (
    "203.0.113.7",
    "203.0.113.8",
    "203.0.113.9",
    "203.0.113.99",
    "203.0.9.9",
    "2001:db8::7",
    "2001:db8:1::",
    "1.1.1.1",
)


def entry(number: int, kind: ListKind, value: str, outcome: ListOutcome, expires_ms: int | None = None) -> StoredEntry:
    return StoredEntry(
        id=f"lst_{number:016x}",
        site_id="st_1",
        kind=kind,
        value=value,
        outcome=outcome,
        note="",
        created_ms=0,
        created_by="x",
        expires_ms=expires_ms,
    )


def reference(entries: list[StoredEntry], address: str, visitor: int) -> str | None:
    """Return the outcome of the most specific entry; at the same rank, block."""
    ranked: list[tuple[int, bool]] = []
    for each in entries:
        is_block = each.outcome is ListOutcome.BLOCK
        if each.kind is ListKind.VISITOR:
            if int(each.value, 16) == visitor:
                ranked.append((1_000, is_block))
        elif ip_address(address) in ip_network(each.value):
            length = ip_network(each.value).prefixlen
            ranked.append((1_000 if each.kind is ListKind.ADDRESS else length, is_block))
    return None if not ranked else "block" if max(ranked)[1] else "allow"


def test_the_entry_that_shows_most_counts_as_the_reference_shows_it() -> None:
    chance = Random(31)
    found = set()
    for _ in range(500):
        named = chance.sample(
            [(kind, value) for kind, values in VALUES.items() for value in values], chance.randint(0, 7)
        )
        entries = [entry(number, *each, chance.choice(list(ListOutcome))) for number, each in enumerate(named)]
        lists = SiteLists(entries)
        for address in ADDRESSES:
            visitor = chance.randint(0, 3)
            listed = lists.of_client(address, visitor).listed
            outcome = None if listed is None else listed.outcome.value
            assert outcome == reference(entries, address, visitor), (entries, address, visitor)
            found.add(outcome)
    assert found == {None, "allow", "block"}


def test_entries_end_at_their_term_and_the_next_end_is_known() -> None:
    entries = (
        entry(1, ListKind.ADDRESS, "203.0.113.7", ListOutcome.BLOCK, 100),
        entry(2, ListKind.ADDRESS, "203.0.113.8", ListOutcome.BLOCK, 200),
        entry(3, ListKind.ADDRESS, "203.0.113.9", ListOutcome.BLOCK),
    )

    assert in_force(entries, 99) == entries
    assert next_end_ms(in_force(entries, 99)) == 100
    after = in_force(entries, 100)
    assert after == entries[1:]
    assert next_end_ms(after) == 200
    assert next_end_ms(in_force(entries, 200)) is None
