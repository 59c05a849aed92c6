"""Secrets: long, unlike each other, kept as digests."""

import hashlib
import re

from agentgate.lib.secrets import API_TOKEN_PREFIX, CREDENTIAL_SECRET_PREFIX, digest, new_secret, same


def test_a_secret_is_its_prefix_and_256_random_bits() -> None:
    made = [new_secret(CREDENTIAL_SECRET_PREFIX) for _ in range(200)]

    assert all(re.fullmatch(r"ags_[A-Za-z0-9_-]{43}", secret) for secret in made)
    assert len(set(made)) == 200
    assert re.fullmatch(r"agt_[A-Za-z0-9_-]{43}", new_secret(API_TOKEN_PREFIX))
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", new_secret())


def test_a_digest_is_sha256_of_the_whole_secret() -> None:
    assert digest("ags_x") == hashlib.sha256(b"ags_x").digest()
    assert digest("ags_x") != digest("ags_x ")


def test_any_text_has_its_own_digest() -> None:
    texts = ["", "\0", "\ud800", "\udc00", "\ud800\udc00", "\U00010000", "é", "e\u0301"]

    assert len({digest(text) for text in texts}) == len(texts)


def test_only_equal_bytes_are_the_same() -> None:
    assert same(b"abc", b"abc")
    assert not same(b"abc", b"abd")
    assert not same(b"abc", b"ab")
    assert not same(b"", b"a")
