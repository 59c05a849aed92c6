"""Prepared MACs are HMAC-SHA256, whatever key and message."""

import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgate.lib.mac import PreparedMac


@pytest.mark.parametrize("length", [0, 1, 31, 32, 63, 64, 65, 200])
def test_keys_of_all_lengths_give_what_the_library_gives(length: int) -> None:
    key = bytes(range(length))

    assert PreparedMac(key).tag(b"message") == hmac.digest(key, b"message", "sha256")


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_a_prefix_is_before_each_message(prefix: bytes, message: bytes) -> None:
    mac = PreparedMac(b"k" * 32, prefix=prefix)

    # Twice: making a tag changes nothing for the next.
    for _ in range(2):
        assert mac.tag(message) == hmac.digest(b"k" * 32, prefix + message, "sha256")
