"""Signatures agree with another library, and a signature with any defect is rejected."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from agentgate.lib.ed25519 import PrivateKey, PublicKey

SEED = bytes(range(32))
HAS_SIGNED = PrivateKey(SEED).public.has_signed
# The order of the group: a second number that stands for the same signature is this much greater.
ORDER = 2**252 + 27742317777372353535851937790883648493
# The neutral element and a point of order eight: under them, some signature fits any message.
SMALL = (b"\x01" + bytes(31), bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"))


@given(seed=st.binary(min_size=32, max_size=32), message=st.binary(max_size=300))
def test_both_libraries_make_and_accept_the_same_signatures(seed: bytes, message: bytes) -> None:
    ours, theirs = PrivateKey(seed), Ed25519PrivateKey.from_private_bytes(seed)

    assert ours.public.raw == theirs.public_key().public_bytes_raw()
    assert ours.sign(message) == theirs.sign(message)
    assert ours.public.has_signed(message, theirs.sign(message))
    theirs.public_key().verify(ours.sign(message), message)


def test_one_bit_more_or_less_and_it_is_not_a_signature() -> None:
    signature = PrivateKey(SEED).sign(b"message")
    for place in range(64 * 8):
        changed = bytearray(signature)
        changed[place // 8] ^= 1 << place % 8

        assert not HAS_SIGNED(b"message", bytes(changed))
    assert HAS_SIGNED(b"message", signature)


@pytest.mark.parametrize("length", [0, 1, 63, 65, 71])
def test_bytes_cannot_move_between_signature_and_message(length: int) -> None:
    both = PrivateKey(SEED).sign(b"message") + b"message"

    assert not HAS_SIGNED(both[length:], both[:length])


def test_a_second_spelling_of_a_signature_is_rejected() -> None:
    signature = PrivateKey(SEED).sign(b"message")
    second = signature[:32] + (int.from_bytes(signature[32:], "little") + ORDER).to_bytes(32, "little")

    assert not HAS_SIGNED(b"message", second)


def test_the_halves_of_two_signatures_make_none() -> None:
    key, other = PrivateKey(SEED), PrivateKey(bytes(32))
    mine, more, theirs = key.sign(b"message"), key.sign(b"another"), other.sign(b"message")

    for first, second in ((mine, more), (more, mine), (mine, theirs), (theirs, mine), (theirs, theirs)):
        assert not HAS_SIGNED(b"message", first[:32] + second[32:])
    assert not HAS_SIGNED(b"another", mine)


@pytest.mark.parametrize("raw", SMALL)
def test_a_key_of_small_order_has_signed_nothing(raw: bytes) -> None:
    nothing = b"\x01" + bytes(63)
    # Elsewhere it has: so this can fail.
    if raw == SMALL[0]:
        Ed25519PublicKey.from_public_bytes(raw).verify(nothing, b"message")

    assert not PublicKey(raw).has_signed(b"message", nothing)
