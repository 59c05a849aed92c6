"""Time-based codes: the RFC's own examples, another implementation, and the URL that authenticators read."""

import base64
import random
from urllib.parse import parse_qs, unquote, urlsplit

import pyotp
import pytest

from agentgate.people.identity.totp import code_of, matching_step, otpauth_url, secret_text, step_at

RFC_SECRET = b"12345678901234567890"
# RFC 6238, appendix B: seconds and the code of eight digits, SHA-1.
RFC_CODES = [
    (59, "94287082"),
    (1_111_111_109, "07081804"),
    (1_111_111_111, "14050471"),
    (1_234_567_890, "89005924"),
    (2_000_000_000, "69279037"),
    (20_000_000_000, "65353130"),
]
# RFC 4226, appendix D: the codes of the steps 0 to 9.
COUNTED_CODES = ["755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871", "520489"]
NOW_MS = 1_794_744_015_000


@pytest.mark.parametrize(("seconds", "code"), RFC_CODES)
def test_the_codes_are_the_ones_of_rfc_6238(seconds, code):
    assert code_of(RFC_SECRET, step_at(seconds * 1000), digits=8) == code
    assert code_of(RFC_SECRET, step_at(seconds * 1000)) == code[2:]


def test_the_codes_are_the_ones_of_rfc_4226():
    assert [code_of(RFC_SECRET, step) for step in range(10)] == COUNTED_CODES


def test_the_codes_are_the_ones_of_another_implementation():
    source = random.Random(6238)
    for _ in range(2_000):
        secret = source.randbytes(20)
        seconds = source.randrange(0, 2**33)
        assert code_of(secret, step_at(seconds * 1000)) == pyotp.TOTP(secret_text(secret)).at(seconds)


@pytest.mark.parametrize(
    ("moment_ms", "step"), [(0, 0), (29_999, 0), (30_000, 1), (59_999, 1), (NOW_MS, NOW_MS // 30_000)]
)
def test_a_step_is_thirty_seconds(moment_ms, step):
    assert step_at(moment_ms) == step


@pytest.mark.parametrize(("behind", "matches"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)])
def test_a_code_counts_in_its_own_step_and_in_those_next_to_it(behind, matches):
    step = step_at(NOW_MS) + behind

    assert matching_step(RFC_SECRET, code_of(RFC_SECRET, step), NOW_MS) == (step if matches else None)


@pytest.mark.parametrize("extra", ["", " ", "0", "\0", "\n"])
def test_only_the_six_digits_alone_are_a_code(extra):
    code = code_of(RFC_SECRET, step_at(NOW_MS))

    assert matching_step(RFC_SECRET, code + extra, NOW_MS) == (None if extra else step_at(NOW_MS))
    assert matching_step(RFC_SECRET, extra + code, NOW_MS) == (None if extra else step_at(NOW_MS))


@pytest.mark.parametrize("code", ["", "0", "12345", "1234567", "abcdef", "١٢٣٤٥٦", "\ud800", "9" * 100_000])
def test_what_is_no_code_matches_nothing(code):
    assert matching_step(RFC_SECRET, code, NOW_MS) is None


def test_digits_of_other_scripts_are_not_read_as_ours():
    code = code_of(RFC_SECRET, step_at(NOW_MS))
    full_width = code.translate({ord(digit): ord(digit) + 0xFEE0 for digit in "0123456789"})

    assert matching_step(RFC_SECRET, full_width, NOW_MS) is None


def test_of_two_steps_with_the_same_code_the_newer_counts():
    first = 910_737  # found by trying

    assert code_of(RFC_SECRET, first) == code_of(RFC_SECRET, first + 1)
    assert matching_step(RFC_SECRET, code_of(RFC_SECRET, first), first * 30_000) == first + 1


def test_in_the_first_step_of_all_there_is_none_before():
    assert matching_step(RFC_SECRET, COUNTED_CODES[0], 0) == 0


@pytest.mark.parametrize("email", ["ann@example.com", "a+b&c=d?#%/o'x@example.com", "!#$%&'*+-/=?^_`{|}~@b.example"])
def test_the_url_carries_what_an_authenticator_needs(email):
    secret = b"\xff" * 20
    url = otpauth_url(secret, email)
    parts = urlsplit(url)

    assert (parts.scheme, parts.netloc, parts.fragment) == ("otpauth", "totp", "")
    assert unquote(parts.path) == f"/AgentGate:{email}"
    assert parse_qs(parts.query, strict_parsing=True) == {
        "secret": [secret_text(secret)],
        "issuer": ["AgentGate"],
        "algorithm": ["SHA1"],
        "digits": ["6"],
        "period": ["30"],
    }


def test_another_implementation_reads_the_url_back():
    secret = bytes(range(20))
    read = pyotp.parse_uri(otpauth_url(secret, "ann+tag@example.com"))

    assert (read.name, read.issuer, read.interval, read.digits) == ("ann+tag@example.com", "AgentGate", 30, 6)
    assert read.at(1_111_111_109) == code_of(secret, step_at(1_111_111_109_000))


def test_the_secret_is_base32_without_padding():
    text = secret_text(bytes(range(20)))

    assert len(text) == 32
    assert base64.b32decode(text) == bytes(range(20))
