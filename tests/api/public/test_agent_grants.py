"""Grants: a person allows an agent further uses beforehand; the site's owner sees them and ends them."""

import itertools
from typing import Any

import pytest

from agentgate.lib.clock import HOUR_MS
from tests.support.agent_client import SigningAgent
from tests.support.handoff import OTHER_SEED, HandoffScene
from tests.support.service import RunningService

# Each test has a separate site: another test would use up its grants.
_numbers = itertools.count()


@pytest.fixture
def scene(shared_service: RunningService) -> HandoffScene:
    return HandoffScene(shared_service, site_key=f"site_grant_tests_{next(_numbers)}")


def allow(scene: HandoffScene, submission_id: str, **fields: Any) -> str:
    """Approve a handoff with a grant, and return the result page."""
    handoff = scene.open(submission_id=submission_id, action=fields.pop("action", "submit"))
    token = scene.token(handoff.id, action=handoff.action)
    reply = scene.choose(handoff.id, "approve", token=token, remember="on", **fields)
    assert reply.status_code == 200, reply.text
    return reply.text


def grants(scene: HandoffScene) -> list[dict[str, Any]]:
    reply = scene.service.operator.get(f"/v1/admin/sites/{scene.site_key}/agent-grants")
    assert reply.status_code == 200, reply.text
    items: list[dict[str, Any]] = reply.json()["items"]
    return items


def use(scene: HandoffScene, agent: SigningAgent | None = None, action: str = "submit") -> str | None:
    """Use a grant as a submission does."""
    agents = scene.service.application.agents
    identity = scene.identity(agent)
    return scene.service.run(agents.handoffs.use_grant(scene.site, identity, action=action, now_ms=scene.now_ms))


def trail(scene: HandoffScene, action: str) -> list[dict[str, Any]]:
    reply = scene.service.operator.get(f"/v1/admin/customers/{scene.customer_id}/audit", params={"action": action})
    items: list[dict[str, Any]] = reply.json()["items"]
    return items


def test_a_grant_is_listed_used_up_and_left_in_the_trail(scene: HandoffScene) -> None:
    assert "without approval" in allow(scene, "given", uses="3", hours="24")
    [grant] = grants(scene)

    assert (grant["agent"], grant["keyId"], grant["action"]) == (scene.agent.url, scene.agent.keyid, "submit")
    assert (grant["uses"], grant["usesLeft"]) == (3, 3)
    [entry] = trail(scene, "agent_grant.create")
    assert (entry["target"], entry["detail"]["uses"]) == (grant["id"], 3)
    assert [use(scene) for _ in range(4)] == [grant["id"]] * 3 + [None]
    assert grants(scene)[0]["usesLeft"] == 0


def test_a_grant_is_good_for_the_key_and_the_action_it_was_given_for(scene: HandoffScene) -> None:
    allow(scene, "bound", uses="1")

    assert use(scene, SigningAgent(seed=OTHER_SEED)) is None
    assert use(scene, scene.other) is None
    assert use(scene, action="order") is None
    assert use(scene) is not None


def test_a_grant_ends_when_its_time_has_ended(scene: HandoffScene) -> None:
    allow(scene, "timed", uses="100", hours="1")
    assert use(scene) is not None
    scene.service.clock.advance(ms=HOUR_MS)

    assert use(scene) is None


def test_a_revoked_grant_is_useless_and_its_end_is_in_the_trail_once(scene: HandoffScene) -> None:
    allow(scene, "revoked", uses="10", hours="720")
    grant = grants(scene)[0]
    path = f"/v1/admin/sites/{scene.site_key}/agent-grants/{grant['id']}"

    assert [scene.service.operator.delete(path).status_code for _ in range(2)] == [204, 204]
    assert use(scene) is None
    assert "revokedAt" in grants(scene)[0]
    assert [entry["target"] for entry in trail(scene, "agent_grant.revoke")] == [grant["id"]]
    assert scene.service.operator.delete(path[:-1] + "x").json()["error"] == "not_found"


def test_without_the_policys_word_no_one_can_give_a_grant_or_use_one(scene: HandoffScene) -> None:
    allow(scene, "before", uses="10", hours="720")
    known = len(grants(scene))
    scene.set_policy(actions={})
    try:
        handoff = scene.open(submission_id="unoffered")
        page = scene.service.public.get(f"/handoff/{handoff.id}").text
        assert "remember" not in page
        assert "without approval" not in allow(scene, "not-offered")
        assert len(grants(scene)) == known
        assert use(scene) is None
    finally:
        scene.set_policy()
    assert use(scene) is not None


def test_an_action_without_the_policys_word_offers_no_grant(scene: HandoffScene) -> None:
    known = len(grants(scene))
    allow(scene, "order", action="order")

    assert len(grants(scene)) == known


def test_who_declines_or_leaves_the_box_empty_grants_nothing(scene: HandoffScene) -> None:
    known = len(grants(scene))
    declined, plain = scene.open(submission_id="no"), scene.open(submission_id="plain")
    scene.choose(declined.id, "decline", remember="on", uses="10")
    scene.choose(plain.id, "approve", uses="10", hours="24")

    assert len(grants(scene)) == known
