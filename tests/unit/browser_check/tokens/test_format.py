"""Receipts: one spelling, one algorithm, one key each; any change is rejected."""

import base64

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from agentgate.browser_check.tokens.receipts import Claims, NotAReceipt, read_receipt, write_receipt
from agentgate.lib.enums import ReceiptKind
from tests.unit.browser_check.tokens.made import CLAIMS, HEADER, KEYS, receipt, resigned
from tests.unit.browser_check.tokens.malformed import cases

RECEIPT = receipt()
# Signed with the same key, for the same claims.
OF_THE_RELEASE_BEFORE = (
    "eyJhbGciOiJFZERTQSIsImtpZCI6ImtWVXAxdkJmOHRlWmd2RlhFWXNCR1BscHU5ZFZSVzZiQ0ItWTdHUnF2LWsiLCJ0eXAiOiJhZ2VudGdhdGUtcm"
    "VjZWlwdCtqd3QifQ.eyJpc3MiOiJodHRwczovL2dhdGUuZXhhbXBsZSIsImF1ZCI6InNpdGVfYWJjZGVmZ2gxMjM0NTY3OCIsImp0aSI6InJjcF8wM"
    "DAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMCIsImlhdCI6MTc5NDc0NDAwMCwiZXhwIjoxNzk0NzQ0MTIwLCJraW5kIjoiYnJvd3NlciIsImFjdGlvbiI"
    "6ImxvZ2luIiwic3ViIjoiMDEyMzQ1Njc4OWFiY2RlZiIsImRlY2lzaW9uSWQiOiJkZWNfMDAwMDAwMDAwMDAwMCIsIm9yaWdpbiI6Imh0dHBzOi8vc"
    "2hvcC5leGFtcGxlIn0._2JCjg1riRW9hvzLOKO4eM4Y5aXkuz0IYns7C4UfMtB_pdL6JzghBmBs6FTjHFnIbrerknr2a0igzD1HbedWAA"
)
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
# Each text once, whatever ways there are to come to it.
CASES = {name: text for text, name in {text: name for name, text in cases()}.items()}


def test_what_was_written_reads_back():
    read = read_receipt(RECEIPT, KEYS)

    assert read.claims == CLAIMS
    assert not read.test


def test_a_token_of_the_release_before_is_accepted():
    assert read_receipt(OF_THE_RELEASE_BEFORE, KEYS).claims == CLAIMS


def test_the_second_name_of_the_algorithm_is_accepted():
    assert read_receipt(resigned({**HEADER, "alg": "Ed25519"}), KEYS).claims == CLAIMS


def test_there_are_many_malformed_texts():
    assert len(CASES) >= 300


@pytest.mark.parametrize("name", CASES)
def test_a_malformed_text_is_not_a_receipt(name):
    with pytest.raises(NotAReceipt):
        read_receipt(CASES[name], KEYS)


@given(st.integers(0, len(RECEIPT) - 1), st.sampled_from("ABCabc019_-=.+/ \n\u0660"))
def test_a_token_with_one_character_changed_is_rejected(place, character):
    changed = RECEIPT[:place] + character + RECEIPT[place + 1 :]
    if changed == RECEIPT:
        return

    with pytest.raises(NotAReceipt):
        read_receipt(changed, KEYS)


@given(st.text(max_size=300))
def test_any_text_is_rejected_without_a_failure(text):
    with pytest.raises(NotAReceipt):
        read_receipt(text, KEYS)


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)


@given(
    st.builds(
        Claims,
        iss=TEXTS,
        aud=TEXTS,
        jti=TEXTS,
        iat=st.integers(0, 2**40),
        exp=st.integers(0, 2**40),
        kind=st.sampled_from(ReceiptKind),
        action=TEXTS,
        sub=TEXTS,
        decision_id=TEXTS,
        origin=TEXTS,
        c_data=TEXTS,
        keyid=TEXTS,
        submission_id=TEXTS,
        content_digest=TEXTS,
        price=TEXTS,
    )
)
def test_whatever_claims_say_they_read_back(claims):
    try:
        written = write_receipt(claims, KEYS.current(test=False))
    except ValueError:
        return

    assert read_receipt(written, KEYS).claims == claims


def test_a_receipt_that_would_be_too_long_is_not_written():
    with pytest.raises(ValueError, match="at most 2048 characters"):
        receipt(c_data="x" * 1500)


def test_a_signature_has_one_spelling_only():
    # The last of 86 characters carries two bits; the other four are free in sloppy decoders.
    assert [text for text in (RECEIPT[:-1] + last for last in ALPHABET) if _is_accepted(text)] == [RECEIPT]


def test_every_bit_of_a_token_counts():
    for place, character in enumerate(RECEIPT):
        others = [ALPHABET[ALPHABET.index(character) ^ 1 << bit] for bit in range(6)] if character != "." else "A-_"
        for other in others:
            assert not _is_accepted(RECEIPT[:place] + other + RECEIPT[place + 1 :]), place


def test_parts_of_two_tokens_make_none():
    first, second = RECEIPT.split("."), receipt(jti="rcp_" + "1" * 26, kind=ReceiptKind.AGENT).split(".")

    for claims, signature in ((first[1], second[2]), (second[1], first[2])):
        assert not _is_accepted(".".join((first[0], claims, signature)))


def test_the_public_key_verifies_what_we_sign():
    signed, _, signature = RECEIPT.rpartition(".")
    public = Ed25519PublicKey.from_public_bytes(KEYS.current(test=False).private.public.raw)
    public.verify(base64.urlsafe_b64decode(signature + "=="), signed.encode())

    with pytest.raises(InvalidSignature):
        public.verify(base64.urlsafe_b64decode(signature + "=="), signed.encode() + b"x")


def test_test_tokens_are_signed_by_keys_that_are_not_published():
    assert read_receipt(receipt(test=True), KEYS).test
    assert KEYS.current(test=True).key_id not in {published.kid for published in KEYS.published()}


def _is_accepted(text):
    try:
        read_receipt(text, KEYS)
    except NotAReceipt:
        return False
    return True
