"""Content-Digest: what names a body and what does not. The published digests are in `test_vectors`."""

import base64
import hashlib

import pytest

from agentgate.agents.signing.fields import digest_of, matches

BODY = b'{"message":"Good day"}'
SHA_256 = base64.b64encode(hashlib.sha256(BODY).digest()).decode()
SHA_512 = base64.b64encode(hashlib.sha512(BODY).digest()).decode()
MD5 = base64.b64encode(hashlib.md5(BODY, usedforsecurity=False).digest()).decode()
OTHER = base64.b64encode(hashlib.sha256(b"other").digest()).decode()


def test_what_we_write_names_the_body() -> None:
    assert matches(digest_of(BODY).encode(), BODY)


@pytest.mark.parametrize(
    ("header", "named"),
    [
        (f"sha-256=:{SHA_256}:", True),
        (f"sha-512=:{SHA_512}:", True),
        (f"sha-256=:{SHA_256}:, sha-512=:{SHA_512}:", True),
        (f"sha-256=:{SHA_256}:;note=1", True),
        (f"md5=:{MD5}:, sha-256=:{SHA_256}:", True),
        (f"sha-256=:{SHA_256}:, sha-512=:{OTHER}:", False),
        (f"sha-512=:{SHA_512}:, sha-256=:{OTHER}:", False),
        (f"sha-256=:{OTHER}:, sha-256=:{SHA_256}:", False),
        (f"md5=:{MD5}:", False),
        (f"sha-256=:{SHA_256[:20]}:", False),
        (f'sha-256="{SHA_256}"', False),
        (f"sha-256={SHA_256}", False),
        (f"SHA-256=:{SHA_256}:", False),
        (f"sha-256=(:{SHA_256}:)", False),
        ("sha-256", False),
        ("sha-256=::", False),
        ("", False),
        (f"sha-256=:{SHA_256}:," + " " * 9000, False),
    ],
)
def test_every_digest_that_we_know_must_be_right(header: str, named: bool) -> None:
    assert matches(header.encode(), BODY) is named
