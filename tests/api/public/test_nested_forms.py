"""Nested multipart bodies: every route that takes a form rejects them at once, without an account."""

import time
from collections.abc import Callable

import httpx
import pytest

from tests.api.public.challenge_page import Visitor, facts_of
from tests.support.service import RunningService

CONTENT_TYPE = "multipart/form-data; boundary=b0"
# The least of a few, so that a busy machine does not count. A nested parser needs 80 ms for 4 KB and 4 s for 64 KB.
CALLS = 7
MOST_S = 0.04


def nested(size: int, depth: int = 300) -> bytes:
    """Return nested parts, filled up with empty lines, each of which a nested parser reads once per open part."""
    part = b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n"
    return (b"--b0\r\n" + b"".join(part % (n, n) for n in range(1, depth)) + b"\n" * size)[:size]


def fastest(call: Callable[[], httpx.Response]) -> tuple[float, httpx.Response]:
    """Return the least time of a few calls, and the last response."""
    times = []
    for _ in range(CALLS):
        started = time.perf_counter()
        reply = call()
        times.append(time.perf_counter() - started)
    return min(times), reply


@pytest.mark.parametrize(
    ("route", "size", "status"),
    [
        ("/siteverify", 4 * 1024, 200),
        ("/compat/turnstile/v0/siteverify", 4 * 1024, 200),
        ("/v1/pages/sign-in", 16 * 1024, 400),
        ("/v1/pages/request-access", 16 * 1024, 400),
    ],
)
def test_a_nested_form_is_rejected_at_once(shared_service: RunningService, route: str, size: int, status: int) -> None:
    headers = {"Content-Type": CONTENT_TYPE, "Origin": shared_service.public_url, "Sec-Fetch-Site": "same-origin"}

    took_s, reply = fastest(lambda: shared_service.public.post(route, content=nested(size), headers=headers))

    assert reply.status_code == status, reply.text
    assert took_s < MOST_S


def test_a_nested_form_that_is_challenged_is_not_saved(shared_service: RunningService) -> None:
    visitor = Visitor(shared_service)

    took_s, reply = fastest(lambda: visitor.post_form(nested(64 * 1024), Content_Type=CONTENT_TYPE))

    assert reply.status_code == 401
    assert facts_of(reply)["resend"] is True
    assert took_s < MOST_S


def test_a_nested_appeal_is_rejected_at_once(shared_service: RunningService) -> None:
    visitor = Visitor(shared_service)
    headers = {**visitor.adapter("POST", "/.agentgate/v1/gateway/appeal"), "Content-Type": CONTENT_TYPE}
    headers |= {"Origin": "https://shop.example", "Sec-Fetch-Site": "same-origin"}

    took_s, reply = fastest(
        lambda: shared_service.public.post("/v1/gateway/appeal", content=nested(16 * 1024), headers=headers)
    )

    assert reply.status_code == 403, reply.text
    assert took_s < MOST_S
