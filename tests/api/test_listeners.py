"""The routes that each listener has, and the routes that it must never have."""

import socket
from urllib.parse import urlsplit

import pytest

from tests.support.service import ADMIN_KEY, RunningService

SPELLINGS = (
    "/v1/admin/sites",
    "/v1/admin/session",
    "/v1/admin",
    "/v1/admin/",
    "/v1//admin/sites",
    "//v1/admin/sites",
    "/v1/./admin/sites",
    "/x/../v1/admin/sites",
    "/v1%2fadmin/sites",
    "/v1/%61dmin/sites",
    "/V1/Admin/sites",
    "/v1/admin;x/sites",
    "/v1/admin/sites;x",
    "/v1\\admin\\sites",
    "/metrics",
    "/openapi/admin.json",
)


@pytest.mark.parametrize("path", SPELLINGS)
def test_the_public_listener_knows_nothing_of_the_admin_api(service: RunningService, path: str) -> None:
    request = service.public.build_request("GET", service.public_url, headers={"X-Admin-Key": ADMIN_KEY})
    request.url = request.url.copy_with(raw_path=path.encode())

    reply = service.public.send(request)

    unknown = service.public.get("/v1/nothing", headers={"X-Admin-Key": ADMIN_KEY})
    assert (reply.status_code, reply.content) == (unknown.status_code, unknown.content)
    assert unknown.status_code == 404
    assert unknown.json()["error"] == "not_found"


def test_a_path_without_the_method_shows_which_it_has(service: RunningService) -> None:
    reply = service.operator.delete("/v1/admin/sites")

    assert (reply.status_code, reply.headers["allow"]) == (405, "GET, HEAD, POST")
    assert reply.json()["error"] == "invalid_request"


def test_the_process_shows_that_it_lives_on_both_listeners(service: RunningService) -> None:
    for client in (service.public, service.anonymous):
        reply = client.get("/healthz")
        assert (reply.status_code, reply.json()) == (200, {"status": "ok"})


def test_readiness_shows_its_checks_to_operators_only(service: RunningService) -> None:
    public, private = service.public.get("/readyz"), service.anonymous.get("/readyz")

    assert (public.status_code, public.json()) == (200, {"status": "ready"})
    assert private.json()["status"] == "ready"
    assert set(private.json()["checks"]) == {"config", "hot", "stats", "events", "fast", "intel", "clock"}


def test_a_draining_service_is_not_ready(service: RunningService) -> None:
    service.application.readiness.draining = True

    for client in (service.public, service.anonymous):
        reply = client.get("/readyz")
        assert (reply.status_code, reply.headers["retry-after"]) == (503, "5")
        assert reply.json()["status"] == "unavailable"


def test_metrics_are_on_the_private_listener(service: RunningService) -> None:
    service.operator.get("/v1/admin/sites")

    reply = service.anonymous.get("/metrics")

    assert reply.status_code == 200
    assert 'route="/v1/admin/sites"' in reply.text


def test_every_response_carries_the_strictest_headers_and_a_request_id(service: RunningService) -> None:
    replies = [
        service.operator.get("/v1/admin/sites"),
        service.public.get("/v1/nothing"),
        service.public.get("/readyz"),
    ]

    for reply in replies:
        assert reply.headers["cache-control"] == "no-store"
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["content-security-policy"].startswith("default-src 'none'")
        assert len(reply.headers["x-request-id"]) == 16
        assert "server" not in reply.headers


def test_head_responds_like_get_without_the_body(service: RunningService) -> None:
    head, get = service.operator.head("/v1/admin/sites"), service.operator.get("/v1/admin/sites")

    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == get.headers["content-length"]


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (b"{", "application/json"),
        (b'{"name": NaN}', "application/json"),
        (b'{"name": "a", "name": "b"}', "application/json"),
        (b'{"name": "\\ud800"}', "application/json"),
        (b'\xef\xbb\xbf{"name": "a"}', "application/json"),
        (b'{"name": "\xff"}', "application/json"),
        (b'{"name": "a\\u0000b"}', "application/json"),
        (b'{"actions":' + b"[" * 100_000, "application/json"),
        (b'{"name": "a"}', "text/plain"),
        (b'{"name": "a"}', "application/x-www-form-urlencoded"),
        (b"", "application/json"),
        (b'{"name": "' + b"a" * 300_000 + b'"}', "application/json"),
    ],
)
def test_a_malformed_body_is_rejected(service: RunningService, content: bytes, media_type: str) -> None:
    reply = service.operator.post("/v1/admin/sites", content=content, headers={"Content-Type": media_type})

    assert reply.status_code == 400
    assert reply.json()["error"] in {"invalid_request", "invalid_site"}
    assert service.operator.get("/v1/admin/sites").json() == {"items": []}


def test_the_openapi_documents_are_served_where_their_api_is(service: RunningService) -> None:
    admin, public = service.anonymous.get("/openapi/admin.json"), service.public.get("/openapi/public.json")

    assert (admin.json()["openapi"], admin.json()["info"]["version"]) == ("3.1.0", "1.0.0")
    assert "/v1/admin/sites" in admin.json()["paths"]
    assert "/readyz" in public.json()["paths"]
    assert service.anonymous.get("/openapi/admin").headers["content-type"].startswith("text/html")


def test_a_load_balancer_that_speaks_http_1_0_without_a_host_hears_that_the_process_lives(
    service: RunningService,
) -> None:
    for url in (service.public_url, service.admin_url):
        parts = urlsplit(url)
        with socket.create_connection((parts.hostname, parts.port), timeout=10) as probe:
            probe.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
            # The service closes the connection after the response.
            answer = b"".join(iter(lambda: probe.recv(4096), b""))

        assert answer.startswith(b"HTTP/1.1 200 ")
        assert answer.endswith(b'{"status":"ok"}')
