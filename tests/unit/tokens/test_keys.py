"""The keys that sign receipts: published before they sign, and until their last receipt is over."""

import base64
import hashlib
import json

import pytest

from agentgate.core.keyring import Keyring
from agentgate.tokens.format import NotAReceipt, read_receipt
from agentgate.tokens.keys import SigningKeys
from tests.unit.tokens.made import CLAIMS, NOW_MS, key, receipt


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
