"""Keys: one per purpose, never standing in for each other, rotated without a gap, unreadable under another secret."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgate.lib.clock import FixedClock
from agentgate.lib.keyring import (
    ACTIVATION_MS,
    PURPOSES,
    Keyring,
    KeysUnreadable,
    Sealer,
    StoredKey,
    load_keys,
    rotate_key,
)
from agentgate.server.stores.unit_of_work import SqlStore
from agentgate.storage.migrate import MigratedDatabase, apply
from agentgate.storage.postgres.database import PostgresDatabase
from agentgate.storage.sqlite.database import SqliteDatabase

NOW_MS = 1_794_744_000_000
ROOT = b"r" * 32


def ring(*keys: tuple[str, bytes, int, int | None], now_ms: int = NOW_MS) -> Keyring:
    """Return a keyring of (purpose, material, active_ms, retired_ms)."""
    stored = [
        (
            StoredKey(id="k", purpose=purpose, sealed=b"", created_ms=0, active_ms=active_ms, retired_ms=retired_ms),
            material,
        )
        for purpose, material, active_ms, retired_ms in keys
    ]
    return Keyring(stored, now_ms)


@pytest.fixture
def keyring() -> Keyring:
    # The same material everywhere: what keeps purposes apart must not be the keys alone.
    return ring(*((purpose, b"m" * 32, 0, None) for purpose in PURPOSES))


def test_a_purpose_never_verifies_what_another_made(keyring: Keyring) -> None:
    for made_for in PURPOSES:
        tag = keyring.mac(made_for, b"message")
        assert [purpose for purpose in PURPOSES if keyring.is_mac(tag, purpose, b"message")] == [made_for]


def test_a_tag_is_the_one_of_the_release_before(keyring: Keyring) -> None:
    """Cookies and cursors that people hold stay good."""
    made = "1fa28476b01168689eed4a3349eaf80d8cc0f6059aeb749ee92947dade935582"
    assert keyring.mac("cursor", b"x", b"yz").hex() == made


def test_a_purpose_that_does_not_exist_is_a_mistake(keyring: Keyring) -> None:
    with pytest.raises(KeyError):
        keyring.mac("unknown", b"message")


_PARTS = st.lists(st.binary(max_size=6), max_size=4).map(tuple)


@given(_PARTS, _PARTS)
@settings(deadline=None)
def test_other_parts_never_have_the_same_tag(left: tuple[bytes, ...], right: tuple[bytes, ...]) -> None:
    keyring = ring(("cursor", b"m" * 32, 0, None))

    assert keyring.is_mac(keyring.mac("cursor", *left), "cursor", *right) == (left == right)


@pytest.mark.parametrize(
    "moved",
    [(b"ab", b"c"), (b"abc",), (b"", b"abc"), (b"abc", b""), (b"a", b"b", b"c"), (b"a", b"bc", b""), (b"bc", b"a")],
)
def test_moving_bytes_between_parts_changes_the_tag(keyring: Keyring, moved: tuple[bytes, ...]) -> None:
    assert not keyring.is_mac(keyring.mac("csrf", b"a", b"bc"), "csrf", *moved)


def test_the_length_of_a_part_cannot_be_forged_in_its_bytes(keyring: Keyring) -> None:
    inner = len(b"b").to_bytes(4, "big") + b"b"

    assert keyring.mac("csrf", b"a", b"b") != keyring.mac("csrf", b"a" + inner)


def test_a_tag_may_be_cut_to_16_bytes_and_no_further(keyring: Keyring) -> None:
    tag = keyring.mac("cursor", b"x")

    assert len(tag) == 32
    assert keyring.is_mac(tag[:16], "cursor", b"x")
    assert not keyring.is_mac(tag[:15], "cursor", b"x")
    assert not keyring.is_mac(b"", "cursor", b"x")
    assert not keyring.is_mac(tag + b"\0", "cursor", b"x")


@pytest.mark.parametrize("bit", range(0, 256, 5))
def test_a_tag_with_one_bit_flipped_is_rejected(keyring: Keyring, bit: int) -> None:
    tag = bytearray(keyring.mac("cursor", b"x"))
    tag[bit // 8] ^= 1 << bit % 8

    assert not keyring.is_mac(bytes(tag), "cursor", b"x")


def test_the_newest_active_key_makes_new_things_whatever_the_order_in_the_store() -> None:
    keys = [("cursor", b"old", 10, None), ("cursor", b"new", 20, None), ("cursor", b"later", NOW_MS + 1, None)]

    assert ring(*keys).current("cursor") == b"new"
    assert ring(*reversed(keys)).current("cursor") == b"new"
    assert ring(*keys, now_ms=NOW_MS + 1).current("cursor") == b"later"


def test_a_key_that_is_not_active_yet_already_verifies() -> None:
    # Another worker's clock may be a little ahead.
    ahead = ring(("cursor", b"later", 0, None))
    behind = ring(("cursor", b"now", 0, None), ("cursor", b"later", NOW_MS + 1, None))

    assert behind.is_mac(ahead.mac("cursor", b"x"), "cursor", b"x")


def test_a_retired_key_verifies_nothing_from_its_moment_on() -> None:
    tag = ring(("cursor", b"old", 0, None)).mac("cursor", b"x")
    keys = (("cursor", b"old", 0, NOW_MS), ("cursor", b"new", 1, None))

    assert ring(*keys, now_ms=NOW_MS - 1).is_mac(tag, "cursor", b"x")
    assert not ring(*keys, now_ms=NOW_MS).is_mac(tag, "cursor", b"x")


def test_what_is_sealed_opens_with_its_context_only() -> None:
    sealed = Sealer(ROOT).seal(b"plain", "cursor:1")

    assert b"plain" not in sealed
    assert Sealer(ROOT).open(sealed, "cursor:1") == b"plain"
    with pytest.raises(KeysUnreadable):
        Sealer(ROOT).open(sealed, "cursor:2")


def test_sealing_twice_gives_different_bytes() -> None:
    assert Sealer(ROOT).seal(b"plain", "c") != Sealer(ROOT).seal(b"plain", "c")


@pytest.mark.parametrize("length", [0, 1, 11, 12, 27, 32])
def test_changed_or_cut_bytes_are_unreadable_and_not_another_error(length: int) -> None:
    sealed = Sealer(ROOT).seal(b"plain", "c")
    changed = bytes([sealed[0] ^ 1]) + sealed[1:]

    for wrong in (sealed[:length], changed):
        with pytest.raises(KeysUnreadable, match="root secret"):
            Sealer(ROOT).open(wrong, "c")


def test_a_short_root_secret_is_rejected() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Sealer(b"r" * 31)


@pytest.fixture(params=["sqlite", "postgres"])
async def workers(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[list[SqlStore]]:
    """Four workers' stores on one migrated database."""

    def make() -> MigratedDatabase:
        if request.param == "sqlite":
            return SqliteDatabase(tmp_path / "config.db")
        return PostgresDatabase(request.getfixturevalue("migrated_url"), acquire_timeout_s=5)

    databases = [make() for _ in range(4)]
    await apply(databases[0], "config", clock=FixedClock(NOW_MS))
    yield [SqlStore(database) for database in databases]
    for database in databases:
        await database.close()


@pytest.mark.anyio
async def test_several_workers_that_start_together_create_one_key_per_purpose(workers: list[SqlStore]) -> None:
    loaded = await asyncio.gather(*(load_keys(store, Sealer(ROOT), NOW_MS) for store in workers for _ in range(3)))

    opened = [{stored.purpose: material for stored, material in keys} for keys in loaded]
    assert all(each == opened[0] for each in opened)
    assert all(len(keys) == len(PURPOSES) for keys in loaded)
    assert sorted(key.purpose for key in await workers[0].read.keys.list_keys()) == sorted(PURPOSES)
    assert len(set(opened[0].values())) == len(PURPOSES)


@pytest.mark.anyio
async def test_another_root_secret_is_rejected_with_advice_and_changes_nothing(workers: list[SqlStore]) -> None:
    await load_keys(workers[0], Sealer(ROOT), NOW_MS)
    before = await workers[0].read.keys.list_keys()

    with pytest.raises(KeysUnreadable, match="Put back the root secret"):
        await load_keys(workers[1], Sealer(b"other" * 8), NOW_MS)

    assert await workers[0].read.keys.list_keys() == before


@pytest.mark.anyio
async def test_no_key_is_in_the_store_as_it_is(workers: list[SqlStore]) -> None:
    loaded = await load_keys(workers[0], Sealer(ROOT), NOW_MS)

    stored = b"".join(key.sealed for key in await workers[0].read.keys.list_keys())

    assert not any(material in stored for _, material in loaded)


@pytest.mark.anyio
async def test_the_old_key_makes_things_until_the_new_one_is_active_and_verifies_through_its_grace(
    workers: list[SqlStore],
) -> None:
    store, sealer = workers[0], Sealer(ROOT)

    async def at(now_ms: int) -> Keyring:
        return Keyring(await load_keys(store, sealer, now_ms), now_ms)

    before = await at(NOW_MS)
    made = await rotate_key(store, sealer, "cursor", NOW_MS)
    active_ms, end_ms = NOW_MS + ACTIVATION_MS, NOW_MS + ACTIVATION_MS + PURPOSES["cursor"]
    assert (made.active_ms, made.retired_ms) == (active_ms, None)

    old, tag = before.current("cursor"), before.mac("cursor", b"x")
    assert (await at(active_ms - 1)).current("cursor") == old
    new = (await at(active_ms)).current("cursor")
    assert new != old
    assert (await at(active_ms)).is_mac(tag, "cursor", b"x")
    assert (await at(end_ms - 1)).is_mac(tag, "cursor", b"x")
    assert not (await at(end_ms)).is_mac(tag, "cursor", b"x")
    assert (await at(end_ms)).current("cursor") == new
    assert (await at(end_ms)).current("csrf") == before.current("csrf")


@pytest.mark.anyio
async def test_two_rotations_in_a_row_leave_no_gap(workers: list[SqlStore]) -> None:
    store, sealer = workers[0], Sealer(ROOT)
    before = Keyring(await load_keys(store, sealer, NOW_MS), NOW_MS)
    for purpose in PURPOSES:
        await rotate_key(store, sealer, purpose, NOW_MS)
        await rotate_key(store, sealer, purpose, NOW_MS + 1_000)

    keys = await load_keys(store, sealer, NOW_MS)

    assert len(keys) == 3 * len(PURPOSES)
    seen = []
    for later_ms in (0, ACTIVATION_MS - 1, ACTIVATION_MS, ACTIVATION_MS + 999, ACTIVATION_MS + 1_000):
        keyring = Keyring(keys, NOW_MS + later_ms)
        assert all(keyring.is_mac(keyring.mac(purpose, b"x"), purpose, b"x") for purpose in PURPOSES)
        seen.append(keyring.current("visitor"))
    assert seen[0] == seen[1] == before.current("visitor")
    assert seen[2] == seen[3]
    assert len(set(seen)) == 3
