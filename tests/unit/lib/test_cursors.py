"""Cursors: valid only where they were issued; no bit of them can be changed."""

import base64
import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgate.lib.cursors import Cursors, Position
from agentgate.lib.errors import Refused
from agentgate.lib.keyring import Keyring, StoredKey

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
ROUTE = "/v1/admin/sites/{siteKey}/changes"


def ring(*materials: bytes) -> Keyring:
    """Return a keyring whose last cursor key is the newest."""
    keys = [
        (StoredKey(id=str(at), purpose="cursor", sealed=b"", created_ms=at, active_ms=at), material)
        for at, material in enumerate(materials)
    ]
    return Keyring(keys, 1_000)


KEYRING = ring(b"k" * 32)


def cursors(*scope: str, route: str = ROUTE, keyring: Keyring = KEYRING) -> Cursors:
    return Cursors(keyring, route, *scope)


def is_refused(reader: Cursors, cursor: str) -> bool:
    try:
        reader.read(cursor)
    except Refused as refused:
        return refused.code == "invalid_cursor"
    return False


_POSITIONS = st.lists(st.integers(-(2**63), 2**63 - 1) | st.text(max_size=12), max_size=4).map(tuple)


@given(_POSITIONS, st.lists(st.text(max_size=8), max_size=3))
@settings(deadline=None)
def test_what_was_issued_is_read_back(position: Position, scope: list[str]) -> None:
    with contextlib.suppress(UnicodeEncodeError):
        assert cursors(*scope).read(cursors(*scope).issue(position)) == position


def test_every_single_bit_flip_is_rejected() -> None:
    reader = cursors("st_1")
    raw = base64.urlsafe_b64decode(reader.issue((1_794_744_000_000, "a")) + "==")

    for bit in range(len(raw) * 8):
        changed = bytearray(raw)
        changed[bit // 8] ^= 1 << bit % 8
        assert is_refused(reader, base64.urlsafe_b64encode(changed).decode().rstrip("=")), bit


def test_every_other_character_at_every_place_is_rejected() -> None:
    reader = cursors("st_1")
    cursor = reader.issue((7, "abc"))

    accepted = [
        (place, other)
        for place in range(len(cursor))
        for other in ALPHABET
        if other != cursor[place] and not is_refused(reader, cursor[:place] + other + cursor[place + 1 :])
    ]

    assert accepted == []


@pytest.mark.parametrize("position", [(1,), (12,), (123,)])
def test_a_second_spelling_of_the_same_bytes_is_rejected(position: Position) -> None:
    reader = cursors()
    cursor = reader.issue(position)
    raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    last = [cursor[:-1] + other for other in ALPHABET if other != cursor[-1]]
    twins = [each for each in last if base64.urlsafe_b64decode(each + "=" * (-len(each) % 4)) == raw]
    # If the length is not a multiple of four, base64 has bits that decoders ignore.
    assert bool(twins) == (len(cursor) % 4 != 0)

    padded = [cursor + "=", cursor + "==", cursor + "=" * (-len(cursor) % 4 or 4)]
    spaced = [f" {cursor}", f"{cursor}\n", f"{cursor[:4]}\n{cursor[4:]}"]
    standard = base64.b64encode(raw).decode().rstrip("=")

    for other in [*twins, *padded, *spaced, *([standard] if standard != cursor else [])]:
        assert is_refused(reader, other), other


@pytest.mark.parametrize(
    "other",
    [
        cursors("st_2", "block"),
        cursors("st_1", "allow"),
        cursors("st_1"),
        cursors("st_1", "block", ""),
        cursors("st_1b", "lock"),
        cursors("block", "st_1"),
        cursors("st_1", "block", route="/v1/console/sites/{siteKey}/changes"),
        cursors("st_1", "block", keyring=ring(b"other" * 8)),
    ],
)
def test_another_route_site_filter_or_key_rejects_it(other: Cursors) -> None:
    assert is_refused(other, cursors("st_1", "block").issue((5,)))


def test_a_position_cannot_be_cut_or_extended() -> None:
    reader = cursors()
    raw = base64.urlsafe_b64decode(reader.issue((123456, "abcdef")) + "==")

    for changed in (raw[:-1], raw[:16], raw[:15], raw + b" ", raw[16:], b""):
        assert is_refused(reader, base64.urlsafe_b64encode(changed).decode().rstrip("="))


@given(
    st.text() | st.text(ALPHABET, max_size=80) | st.binary(max_size=80).map(lambda raw: base64.b64encode(raw).decode())
)
@settings(deadline=None)
def test_no_text_that_was_not_issued_is_read_or_raises_anything_else(text: str) -> None:
    assert is_refused(cursors(), text)


def test_a_very_long_cursor_is_rejected_and_a_position_that_would_make_one_is_a_mistake() -> None:
    assert is_refused(cursors(), "A" * 100_000)
    with pytest.raises(ValueError, match="too long"):
        cursors().issue(("x" * 400,))


def test_after_a_rotation_old_cursors_still_read_and_new_ones_use_the_new_key() -> None:
    old, both, new = ring(b"a" * 32), ring(b"a" * 32, b"b" * 32), ring(b"b" * 32)

    assert cursors(keyring=both).read(cursors(keyring=old).issue((1,))) == (1,)
    assert cursors(keyring=new).read(cursors(keyring=both).issue((2,))) == (2,)
    assert is_refused(cursors(keyring=new), cursors(keyring=old).issue((1,)))


def test_a_tag_made_for_another_purpose_is_not_a_cursor() -> None:
    keys = [
        (StoredKey(id=purpose, purpose=purpose, sealed=b"", created_ms=0, active_ms=0), b"k" * 32)
        for purpose in ("cursor", "csrf")
    ]
    keyring = Keyring(keys, 1)
    tag = keyring.mac("csrf", ROUTE.encode(), b"[1]")[:16]

    assert is_refused(cursors(keyring=keyring), base64.urlsafe_b64encode(tag + b"[1]").decode().rstrip("="))
