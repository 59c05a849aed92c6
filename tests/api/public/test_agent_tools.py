"""Tools manifests: what agents read about a site, and what they never learn."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.handoff import HandoffScene
from tests.support.service import RunningService

# The form of the manifest as the contract's example has it; the values are this example's own.
EXAMPLE = json.loads((Path(__file__).parent / "agentgate-tools.example.json").read_text())
OWN = "/.well-known/agentgate-tools.json"


@pytest.fixture(scope="module")
def scene(shared_service: RunningService) -> HandoffScene:
    made = HandoffScene(shared_service, site_key="site_tools_tests")
    priced = {"submit": {"price": "USD 0.05", "handoff": True}, "order": {"price": "EUR 1.00", "handoff": False}}
    agents = {"https://rich.example": {"decision": "allow", "name": "Rich", "price": "USD 9.99", "quotaPerMinute": 7}}
    made.set_policy(agents=agents, actions=priced, quotaPerMinute=30)
    return made


def manifest(scene: HandoffScene, path: str | None = None) -> Any:
    reply = scene.service.public.get(path or f"/v1/agent-tools/{scene.site_key}")
    assert reply.status_code == 200, reply.text
    return reply.json()


def shape(value: Any) -> Any:
    """Return the names of a value's members, all the way down; a tool's own words are its own."""
    if isinstance(value, dict):
        return {name: shape(part) for name, part in value.items() if name not in {"inputSchema", "outputSchema"}}
    return type(value).__name__


def test_a_manifest_has_the_form_of_the_contracts_example(scene: HandoffScene) -> None:
    found = manifest(scene)

    assert shape({**found, "tools": None}) == shape({**EXAMPLE, "tools": None})
    tool = next(tool for tool in found["tools"] if tool["name"] == "submit")
    assert set(tool) | {"title"} == set(EXAMPLE["tools"][0])
    assert set(tool["_meta"]) == set(EXAMPLE["tools"][0]["_meta"])
    assert found["authentication"] == EXAMPLE["authentication"]


def test_every_action_is_a_tool_with_its_public_terms(scene: HandoffScene) -> None:
    found = manifest(scene)

    assert found["siteKey"] == scene.site_key
    assert found["site"] == {"name": "Shop", "origins": ["https://shop.example"]}
    assert {tool["name"]: tool["_meta"] for tool in found["tools"]} == {
        "submit": {
            "agentgate/action": "submit",
            "agentgate/price": "USD 0.05",
            "agentgate/handoff": True,
            "agentgate/contentDigest": False,
        },
        "order": {
            "agentgate/action": "order",
            "agentgate/price": "EUR 1.00",
            "agentgate/handoff": False,
            "agentgate/contentDigest": False,
        },
    }
    assert found["quota"] == {"requests": 30, "windowSeconds": 60}
    assert found["payment"]["currency"] == ["EUR", "USD"]


def test_nothing_about_other_agents_or_the_rules_is_reported(scene: HandoffScene) -> None:
    text = json.dumps(manifest(scene))

    for secret in ("rich.example", "Rich", "9.99", "jwks", "rules", "mode", scene.site_id):
        assert secret not in text


def test_a_policy_describes_its_tools_in_its_own_words(scene: HandoffScene) -> None:
    schema = {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}
    described = [
        {
            "name": "contact",
            "title": "Write to the shop",
            "description": "Sends a message.",
            "inputSchema": schema,
            "_meta": {"agentgate/action": "submit", "agentgate/price": "USD 0.00", "note": "ours"},
        },
        {"name": "gone", "inputSchema": schema},
    ]
    scene.set_policy(tools=described, actions={"submit": {"price": "USD 0.05"}})
    [tool] = manifest(scene)["tools"]

    assert (tool["name"], tool["title"], tool["inputSchema"]) == ("contact", "Write to the shop", schema)
    assert tool["_meta"]["agentgate/price"] == "USD 0.05"
    assert "note" not in tool["_meta"]


def test_a_manifest_is_for_every_page_and_cached(scene: HandoffScene) -> None:
    path = f"/v1/agent-tools/{scene.site_key}"
    reply = scene.service.public.get(path, headers={"Origin": "https://anywhere.example"})

    assert reply.headers["access-control-allow-origin"] == "*"
    assert reply.headers["cache-control"] == "public, max-age=300"
    for tag in (reply.headers["etag"], f"W/{reply.headers['etag']}", f'"x", {reply.headers["etag"]}', "*"):
        again = scene.service.public.get(path, headers={"If-None-Match": tag})
        assert (again.status_code, again.content) == (304, b"")
    assert scene.service.public.get(path, headers={"If-None-Match": '"x"'}).status_code == 200


def test_a_change_of_the_site_changes_its_manifest(scene: HandoffScene) -> None:
    path = f"/v1/agent-tools/{scene.site_key}"
    before = scene.service.public.get(path).headers["etag"]
    scene.service.operator.patch(f"/v1/admin/sites/{scene.site_key}", json={"name": "Better shop"})
    scene.service.run(scene.service.application.refresher.refresh())

    assert scene.service.public.get(path).headers["etag"] != before
    assert manifest(scene)["site"]["name"] == "Better shop"


@pytest.mark.parametrize("site_key", ["site_nobodys", "x", "site_test_always_pass", "%00", "ho_" + "0" * 26])
def test_an_unknown_site_has_no_manifest(scene: HandoffScene, site_key: str) -> None:
    reply = scene.service.public.get(f"/v1/agent-tools/{site_key}")

    assert (reply.status_code, reply.json()["error"]) == (404, "site_not_found")


def test_the_services_own_manifest_lists_no_customer(scene: HandoffScene) -> None:
    found = manifest(scene, OWN)

    assert found["tools"] == []
    assert {"siteKey", "site"}.isdisjoint(found)
    assert found["endpoints"]["siteTools"]["url"].endswith("/v1/agent-tools/{siteKey}")
    assert scene.site_key not in json.dumps(found)
    assert scene.service.public.get(OWN).headers["access-control-allow-origin"] == "*"
