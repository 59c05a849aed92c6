"""base64url without padding: one text for each data, and no other text is taken."""

import base64
import secrets

import pytest

from agentgate.lib import base64url


@pytest.mark.parametrize("length", range(40))
def test_what_was_encoded_is_decoded_and_has_no_padding(length: int) -> None:
    data = secrets.token_bytes(length)

    text = base64url.encode(data)

    assert text == base64.urlsafe_b64encode(data).decode().rstrip("=")
    assert base64url.decode(text) == data


@pytest.mark.parametrize(
    "text",
    ["AA==", "AB", "A", "AAAAA", "+A", "/w", "A A", "A\n", "AA.", "AA\0", "ÄA", "\ud800", "=", "AAA=AAAA", "__-"],
)
def test_another_spelling_is_rejected(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the message of `binascii` differs from ours
        base64url.decode(text)
