"""Values that must never appear in a log line."""

import time

import pytest

from agentgate.lib.telemetry.scrub import is_telling, mask_text, scrub


@pytest.mark.parametrize(
    "name",
    [
        "secret", "client_secret", "password", "newPassword", "token", "session_token", "sessionToken", "X-Admin-Key",
        "cookie", "Set-Cookie", "authorization", "Proxy-Authorization", "key", "keys", "apiKey", "credential", "passwd",
        "csrf_token", "email", "client_ip", "address", "body", "accesstoken", "totp", "secretKey", "TOKEN",
    ],
)  # fmt: skip
def test_a_value_with_a_telling_name_is_masked(name):
    assert is_telling(name)
    assert scrub(None, "info", {name: "value"}) == {name: "(hidden)"}


@pytest.mark.parametrize(
    "name",
    ["event", "site_key", "siteKey", "token_id", "token_seconds", "credentialId", "keyboard", "monkey", "ship"],
)
def test_a_value_with_a_plain_name_is_kept(name):
    assert scrub(None, "info", {name: "value"}) == {name: "value"}


def test_secrets_are_masked_at_any_depth():
    event = {"request": {"headers": [{"Cookie": "x"}, {"note": "ags_" + "c" * 43}]}}

    assert scrub(None, "info", event) == {
        "request": {"headers": [{"Cookie": "(hidden)"}, {"note": "ags_(hidden)"}]},
    }


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("with ags_" + "a" * 43 + ".", "with ags_(hidden)."),
        ("agt_" + "-_" * 20, "agt_(hidden)"),
        ("Authorization: Bearer abcdefghij", "Authorization: Bearer (hidden)"),
        ("basic dXNlcjpwYXNz", "basic (hidden)"),
        ("redis://:pass@host:1/0", "redis://:(hidden)@host:1/0"),
        ("GET /v1/account/invite/abc123?x", "GET /v1/account/invite/(hidden)?x"),
        ("POST /v1/account/invite/accept", "POST /v1/account/invite/accept"),
        ("jwt eyJhbGciOiJFZERTQSJ9.eyJhIjoxfQ.c2ln", "jwt (hidden)"),
        ("st_0123456789abcdef and tok_0123456789abcdef", "st_0123456789abcdef and tok_0123456789abcdef"),
        ("https://host/path:1@x", "https://host/path:1@x"),
    ],
)
def test_what_looks_like_a_secret_is_masked_in_text(text, shown):
    assert mask_text(text) == shown


def test_a_long_text_is_cut():
    assert len(mask_text("x" * 1_000_000)) < 20_000


def test_a_deep_value_is_cut():
    nested: list[object] = []
    for _ in range(1_000):
        nested = [nested]

    assert "..." in str(scrub(None, "info", {"value": nested}))


def test_a_wide_value_is_cut():
    assert len(scrub(None, "info", {"value": list(range(10_000))})["value"]) < 100


def test_masking_is_quick_on_hostile_text():
    # Each pattern must stay linear: a text of this size with a backtracking one would take minutes.
    hostile = "://" + ":" * 8_000 + "eyJ" * 2_000 + "ags_" * 500

    began_s = time.monotonic()
    mask_text(hostile)

    assert time.monotonic() - began_s < 1
