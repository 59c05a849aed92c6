"""Headers of a visitor that name another request, and names that only AgentGate may send."""

import pytest

from agentgate.gateway.request.target_headers import OWN_HEADERS, TARGET_HEADERS
from tests.api.public.printed_adapter import Adapter
from tests.support.browser_client import new_address
from tests.support.gateway import VISITOR
from tests.support.service import RunningService


@pytest.fixture
def adapter(service: RunningService) -> Adapter:
    return Adapter(service)


@pytest.fixture(scope="module")
def shared_adapter(shared_service: RunningService) -> Adapter:
    return Adapter(shared_service)


# Headers with another target.


def _cased(name: str) -> str:
    return "-".join(part.capitalize() for part in name.split("-"))


@pytest.mark.parametrize("name", sorted(TARGET_HEADERS))
def test_a_header_with_another_target_is_judged_like_the_target(shared_adapter: Adapter, name: str) -> None:
    adapter = shared_adapter
    # A visitor with many requests would be challenged for that.
    adapter.visitor.address = new_address()
    for spelled in (_cased(name), name.replace("-", "_"), name.replace("-", ".")):
        reply = adapter.check("/", (spelled, "/members"), *VISITOR.items())
        assert (reply.status_code, reply.headers["x-service-reason"]) == (401, "receipt_required"), spelled
    assert adapter.check("/", (name, "/elsewhere"), *VISITOR.items()).status_code == 204


def test_prefix_and_path_are_judged_together(service: RunningService) -> None:
    adapter = Adapter(service, routes=[{"method": "*", "path": "/shop/members", "action": "read"}])

    assert adapter.check("/members", *VISITOR.items()).status_code == 204
    assert adapter.check("/members", ("X-Forwarded-Prefix", "/shop"), *VISITOR.items()).status_code == 401
    both = (("X-Original-URL", "/members"), ("X-Script-Name", "/shop"))
    assert adapter.check("/", *both, *VISITOR.items()).status_code == 401


@pytest.mark.parametrize("name", ["X-Original-Method", "X_Forwarded_Method"])
def test_a_header_with_another_method_is_judged_like_an_override(service: RunningService, name: str) -> None:
    adapter = Adapter(service, routes=[{"method": "POST", "path": "/members", "action": "read"}])

    assert adapter.check("/members", *VISITOR.items()).status_code == 204
    assert adapter.check("/members", (name, "POST"), *VISITOR.items()).status_code == 401


@pytest.mark.parametrize("name", sorted(OWN_HEADERS))
def test_own_names_are_blocked(shared_adapter: Adapter, name: str) -> None:
    adapter = shared_adapter
    # A visitor with many requests would be challenged for that.
    adapter.visitor.address = new_address()
    for spelled in (_cased(name), name.replace("-", "_"), name.replace("-", ".")):
        reply = adapter.check("/", (spelled, "allow"), *VISITOR.items())
        assert (reply.status_code, reply.headers["x-service-reason"]) == (401, "invalid_request"), spelled


@pytest.mark.parametrize(
    "header",
    [("X_AgentGate_Secret", "x"), ("X.AgentGate.Request", "x"), ("Upgrade", "h2c"), ("Upgrade", "websocket, h2c")],
)
def test_other_spellings_and_tunnels_are_blocked(adapter: Adapter, header: tuple[str, str]) -> None:
    reply = adapter.check("/", header, *VISITOR.items())
    assert (reply.status_code, reply.headers["x-service-reason"]) == (401, "invalid_request")


def test_a_sites_own_name_is_allowed(adapter: Adapter) -> None:
    assert adapter.check("/", ("X-Service-Name", "checkout"), *VISITOR.items()).status_code == 204


@pytest.mark.parametrize("header", [("X-Service-Decision", "allow"), ("Host", "shop.example/robots.txt?")])
def test_monitor_mode_records_what_it_would_block(service: RunningService, header: tuple[str, str]) -> None:
    adapter = Adapter(service, mode="monitor")
    reply = adapter.check("/members", header, *VISITOR.items())

    assert reply.status_code == 204
    assert reply.headers["x-service-would-decision"] == "block"
    assert reply.headers["x-service-decision-id"].startswith("dec_")
