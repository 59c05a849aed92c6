"""CSRF tokens belong to one session and one key."""

import base64

import pytest

from agentgate.lib.keyring import Keyring, StoredKey
from agentgate.people.identity.sessions import csrf_token, is_csrf_token
from tests.unit.people.identity.calls import NOW_MS

DIGEST = b"d" * 32


def test_a_session_has_one_token_and_it_passes(keyring):
    token = csrf_token(keyring, DIGEST)

    assert token == csrf_token(keyring, DIGEST)
    assert is_csrf_token(keyring, DIGEST, token)


def test_the_token_of_another_session_does_not_pass(keyring):
    assert not is_csrf_token(keyring, DIGEST, csrf_token(keyring, b"e" * 32))


def test_a_token_with_any_character_changed_does_not_pass(keyring):
    token = csrf_token(keyring, DIGEST)
    # The last one carries two bits that belong to nothing.
    changed = [token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1 :] for at in range(len(token) - 1)]

    assert not any(is_csrf_token(keyring, DIGEST, one) for one in changed)


@pytest.mark.parametrize("length", [0, 1, 16, 22, 42])
def test_the_beginning_of_a_token_does_not_pass(keyring, length):
    assert not is_csrf_token(keyring, DIGEST, csrf_token(keyring, DIGEST)[:length])


@pytest.mark.parametrize("extra", ["A", "AAAA", " ", "\n", "ü", "\ud800"])
def test_a_token_with_something_behind_it_does_not_pass(keyring, extra):
    assert not is_csrf_token(keyring, DIGEST, csrf_token(keyring, DIGEST) + extra)


def test_what_another_purpose_made_does_not_pass(keyring):
    tag = keyring.mac("cursor", DIGEST)

    assert not is_csrf_token(keyring, DIGEST, base64.urlsafe_b64encode(tag).decode().rstrip("="))


def test_a_token_passes_while_its_key_verifies_and_no_longer():
    def ring(retired_ms, now_ms):
        keys = [("old", 0, retired_ms, b"o" * 32), ("new", 1, None, b"n" * 32)]
        stored = [
            (StoredKey(id=name, purpose="csrf", sealed=b"", created_ms=0, active_ms=active, retired_ms=retired), key)
            for name, active, retired, key in keys
        ]
        return Keyring(stored, now_ms)

    token = csrf_token(ring(None, 0), DIGEST)

    assert is_csrf_token(ring(NOW_MS + 1, NOW_MS), DIGEST, token)
    assert not is_csrf_token(ring(NOW_MS, NOW_MS), DIGEST, token)
