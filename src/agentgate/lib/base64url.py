"""base64url without padding, in one spelling: what is signed or compared as text must not have a second one."""

import binascii

_TO_URL = bytes.maketrans(b"+/", b"-_")
# What base64 has and base64url without padding has not becomes a blank, which neither has.
_FROM_URL = bytes.maketrans(b"-_+/=", b"+/   ")


def encode(data: bytes) -> str:
    """Return the text without padding."""
    return encode_bytes(data).decode("ascii")


def encode_bytes(data: bytes) -> bytes:
    """Return the text, as ASCII."""
    return binascii.b2a_base64(data, newline=False).rstrip(b"=").translate(_TO_URL)


def decode(text: str) -> bytes:
    """Return the data; ValueError for every text that `encode` does not give."""
    return decode_bytes(text.encode("ascii"))


def decode_bytes(text: bytes) -> bytes:
    """Return the data of a text as ASCII; ValueError for every text that `encode_bytes` does not give."""
    padded = text.translate(_FROM_URL) + b"=" * (-len(text) % 4)
    data = binascii.a2b_base64(padded)
    # `binascii` skips foreign characters and ignores bits behind the last byte.
    if binascii.b2a_base64(data, newline=False) != padded:
        raise ValueError("it is not base64url without padding")
    return data
