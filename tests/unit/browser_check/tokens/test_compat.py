"""The names that other services have for our codes, and what stands for an idempotency key."""

import re

import pytest

from agentgate.browser_check.tokens.compat_endpoints import (
    HCAPTCHA,
    RECAPTCHA,
    TURNSTILE,
    refusal_writer,
    request_id_of,
)
from agentgate.browser_check.tokens.records import REQUEST_ID_PATTERN
from agentgate.lib import errors

# As the documentation of each lists them (Turnstile: server-side validation; reCAPTCHA: verifying the user's response;
# hCaptcha: siteverify error codes table), and `internal-error`, which only the first one has. Never sent: hCaptcha's
# `missing-remoteip` and `invalid-remoteip`.
COMMON = {
    "missing-input-secret",
    "invalid-input-secret",
    "missing-input-response",
    "invalid-input-response",
    "bad-request",
    "internal-error",
}
DOCUMENTED = {
    "turnstile": (TURNSTILE, COMMON | {"timeout-or-duplicate"}),
    "recaptcha": (RECAPTCHA, COMMON | {"timeout-or-duplicate"}),
    "hcaptcha": (
        HCAPTCHA,
        COMMON
        | {"expired-input-response", "already-seen-response", "sitekey-secret-mismatch", "not-using-dummy-passcode"},
    ),
}


@pytest.mark.parametrize("service", DOCUMENTED)
def test_every_code_has_a_name_that_the_service_documents_and_every_name_is_used(service):
    dialect, documented = DOCUMENTED[service]
    write = refusal_writer(dialect)

    written = [write(code, "why") for code in errors.COMPAT.rows]

    assert {code for answer in written for code in answer.error_codes} == documented
    assert not any(answer.success for answer in written)


@pytest.mark.parametrize("key", ["k", "5a1f3c1e-7d2b-4c7f-9b58-0f2a0c6a7d11", "a b", "ä", "x\n", "k" * 128])
def test_every_key_represents_its_own_request_id(key):
    found = request_id_of(key)

    assert found is not None
    assert re.match(REQUEST_ID_PATTERN, found)
    assert found != request_id_of(f"{key}!")


def test_no_key_and_an_empty_one_stand_for_none():
    assert request_id_of(None) is None
    assert request_id_of("") is None
