"""The consoles' APIs compress responses, except after changes and with secrets; the gateway never does."""

import gzip
from typing import Any, get_args, get_type_hints

import httpx
import pytest
from msgspec import Struct

from agentgate.http.endpoint import shape_of
from agentgate.routes import ADMIN_LISTENER, PUBLIC_LISTENER
from tests.support.service import ADMIN_KEY, RunningService

# Fields whose value grants access.
SECRETS = {"secret", "csrf_token", "invite_url", "reset_url", "recovery_codes", "otpauth_url", "body"}
NEVER = {"gateway", "account", "agents", "browser"}


def raw(service: RunningService, path: str, encoding: str, *, method: str = "GET") -> httpx.Response:
    headers = {"X-Admin-Key": ADMIN_KEY, "Accept-Encoding": encoding}
    with httpx.Client(base_url=service.admin_url) as client:
        return client.send(client.build_request(method, path, headers=headers), stream=False)


@pytest.mark.parametrize("path", ["/openapi/admin.json", "/openapi/admin", "/v1/admin/settings", "/v1/admin/service"])
def test_a_long_response_is_compressed_for_who_accepts_it(service: RunningService, path: str) -> None:
    plain, packed = raw(service, path, "identity"), raw(service, path, "br, gzip;q=0.8")

    assert (plain.headers.get("content-encoding"), packed.headers["content-encoding"]) == (None, "gzip")
    assert int(packed.headers["content-length"]) < int(plain.headers["content-length"]) / 2
    assert "Accept-Encoding" in plain.headers["vary"]
    assert "Accept-Encoding" in packed.headers["vary"]
    if path.startswith("/openapi"):
        assert packed.content == plain.content


@pytest.mark.parametrize("encoding", ["", "identity", "br", "gzip;q=0", "gzip;q=0.0, br", "xgzip"])
def test_who_does_not_accept_it_gets_it_plain(service: RunningService, encoding: str) -> None:
    assert "content-encoding" not in raw(service, "/v1/admin/settings", encoding).headers


def test_a_short_response_a_change_and_secrets_stay_plain(service: RunningService) -> None:
    for number in range(12):
        service.operator.post("/v1/admin/accounts", json={"email": f"ann{number}@example.com"})

    outbox = raw(service, "/v1/admin/outbox", "gzip")
    assert len(outbox.content) > 1024
    for answer in (outbox, raw(service, "/v1/admin/session", "gzip"), raw(service, "/healthz", "gzip")):
        assert "content-encoding" not in answer.headers
    made = raw(service, "/v1/admin/keys/receipt/rotate", "gzip", method="POST")
    assert (made.status_code, made.headers.get("content-encoding")) == (201, None)


def test_a_head_request_tells_the_length_of_the_compressed_response(service: RunningService) -> None:
    head = raw(service, "/openapi/admin.json", "gzip", method="HEAD")

    if head.status_code == 200:
        assert head.content == b""
        assert head.headers["content-encoding"] == "gzip"


def fields_of(kind: Any) -> set[str]:
    """Return the names of all fields of a record, also of those inside it."""
    found: set[str] = set()
    waiting, seen = [kind], set()
    while waiting:
        each = waiting.pop()
        waiting += get_args(each)
        if isinstance(each, type) and issubclass(each, Struct) and each not in seen:
            seen.add(each)
            found |= set(each.__struct_fields__)
            waiting += get_type_hints(each).values()
    return found


def test_no_response_that_holds_a_secret_can_be_compressed() -> None:
    rows = [
        (surface, row)
        for surface in (*ADMIN_LISTENER, *PUBLIC_LISTENER)
        if surface.compressed
        for row in surface.rows
        if row.method == "GET" and not row.holds_secret
    ]

    assert len(rows) > 50
    assert {surface.name for surface, _ in rows}.isdisjoint(NEVER)
    assert [row.path for _, row in rows if fields_of(shape_of(row.handler).reply) & SECRETS] == []


def test_every_worker_compresses_to_the_same_bytes(service: RunningService) -> None:
    with (
        httpx.Client(base_url=service.admin_url) as client,
        client.stream("GET", "/openapi/admin.json", headers={"Accept-Encoding": "gzip"}) as answer,
    ):
        body = b"".join(answer.iter_raw())

    assert gzip.decompress(body).startswith(b"{")
    assert body[4:8] == b"\0\0\0\0", "the time of compression is no part of the answer"
