"""The keys that sign receipts: published before they sign, and until their last receipt has expired."""

import base64
import hashlib
import json
from typing import Any

import pytest

from agentgate.browser_check.tokens.receipts import Grant, NotAReceipt, ReceiptIssuer, SigningKeys, read_receipt
from agentgate.lib.ed25519 import PublicKey
from agentgate.lib.enums import ReceiptKind
from agentgate.lib.keyring import Keyring
from tests.unit.browser_check.tokens.made import CLAIMS, NOW_MS, key, keyring, receipt


def test_a_new_key_is_published_before_it_signs_and_an_old_one_verifies_until_it_is_retired():
    keyring = Keyring([key(b"a" * 32)], NOW_MS)
    keys = SigningKeys(keyring)
    old, issued = keys.current(test=False), receipt(keys=keys)
    rotated = [key(b"a" * 32, retired_ms=NOW_MS + 1000), key(b"b" * 32, active_ms=NOW_MS + 500)]

    keyring.replace(rotated, NOW_MS)
    assert keys.current(test=False).key_id == old.key_id
    assert len(keys.published()) == 2

    keyring.replace(rotated, NOW_MS + 500)
    assert keys.current(test=False).key_id != old.key_id
    assert read_receipt(issued, keys).claims == CLAIMS
    assert len(keys.published()) == 2

    keyring.replace(rotated, NOW_MS + 1000)
    assert [published.kid for published in keys.published()] == [keys.current(test=False).key_id]
    with pytest.raises(NotAReceipt):
        read_receipt(issued, keys)


def test_a_key_goes_by_its_thumbprint():
    published = SigningKeys(Keyring([key(b"a" * 32)], NOW_MS)).published()[0]

    canonical = json.dumps({"crv": "Ed25519", "kty": "OKP", "x": published.x}, separators=(",", ":")).encode()
    assert base64.urlsafe_b64encode(hashlib.sha256(canonical).digest()).decode().rstrip("=") == published.kid


def test_each_key_of_the_keyring_makes_another_pair_for_real_and_for_test():
    keys = SigningKeys(Keyring([key(b"a" * 32), key(b"b" * 32)], NOW_MS))

    found = {keys.current(test=test).key_id for test in (True, False)} | {each.kid for each in keys.published()}
    assert len(found) == 3


def issued(keys: SigningKeys, **changes: Any) -> str:
    """Return a receipt that a worker with these keys has issued itself."""
    usual = {"site_key": "site_a", "kind": ReceiptKind.BROWSER, "action": "login", "subject": "s", "decision_id": "d"}
    issuer = ReceiptIssuer(keys, issuer="https://gate.example", lifetime_s=120)
    return issuer.issue(Grant(**usual | changes), now_ms=NOW_MS).receipt


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"test": True},
        {"origin": "https://shop.example", "c_data": 'a "quoted" \u00fc'},
        {"kind": ReceiptKind.AGENT, "keyid": "k", "submission_id": "s", "content_digest": "sha-256=:x:", "price": "1"},
    ],
)
def test_what_a_worker_issued_itself_reads_as_it_does_on_every_other(changes):
    keys = SigningKeys(keyring())
    receipt_text = issued(keys, **changes)

    assert read_receipt(receipt_text, keys) == read_receipt(receipt_text, SigningKeys(keyring()))


def test_a_receipt_that_differs_in_one_character_from_an_issued_one_is_rejected():
    keys = SigningKeys(keyring())
    receipt_text = issued(keys)

    for place in range(0, len(receipt_text), 7):
        other = "A" if receipt_text[place] != "A" else "B"
        with pytest.raises(NotAReceipt):
            read_receipt(receipt_text[:place] + other + receipt_text[place + 1 :], keys)


def test_an_issued_receipt_is_rejected_once_its_key_is_retired():
    ring = Keyring([key(b"a" * 32)], NOW_MS)
    keys = SigningKeys(ring)
    receipt_text = issued(keys)

    ring.replace([key(b"a" * 32, retired_ms=NOW_MS + 1), key(b"b" * 32)], NOW_MS + 1)

    with pytest.raises(NotAReceipt):
        read_receipt(receipt_text, keys)


@pytest.mark.parametrize("test", [False, True])
def test_a_receipt_is_checked_with_the_public_key(monkeypatch, test):
    """Only libsodium computes with the private key."""
    keys = SigningKeys(keyring())
    text = receipt(keys=keys, test=test)
    assert read_receipt(text, keys).claims.jti == CLAIMS.jti

    monkeypatch.setattr(PublicKey, "has_signed", lambda *_: False)

    with pytest.raises(NotAReceipt, match="signature is wrong"):
        read_receipt(text, keys)


def test_a_receipt_under_a_key_that_is_nobodys_is_rejected():
    with pytest.raises(NotAReceipt, match="not signed with a key"):
        read_receipt(receipt(keys=SigningKeys(keyring(b"b"))), SigningKeys(keyring(b"a")))


def test_the_header_of_one_key_does_not_carry_the_signature_of_another():
    keys = SigningKeys(keyring(b"a", b"b"))
    real, test = keys.current(test=False), keys.current(test=True)
    other = SigningKeys(keyring(b"a")).current(test=False)
    assert len({real.key_id, test.key_id, other.key_id}) == 3
    for header, signer in ((real, test), (test, real), (real, other), (other, real)):
        signed = receipt(keys=keys).encode().split(b".")
        signed[0] = header.headers[0]
        text = b".".join(signed[:2])
        signature = base64.urlsafe_b64encode(signer.private.sign(text)).rstrip(b"=")

        with pytest.raises(NotAReceipt, match="its signature is wrong"):
            read_receipt((text + b"." + signature).decode(), keys)


def test_no_key_of_another_purpose_signs_receipts():
    made = receipt(keys=SigningKeys(Keyring([key(b"a" * 32), key(b"b" * 32, purpose="clearance")], NOW_MS)))

    with pytest.raises(NotAReceipt):
        read_receipt(made, SigningKeys(Keyring([key(b"b" * 32), key(b"a" * 32, purpose="clearance")], NOW_MS)))
