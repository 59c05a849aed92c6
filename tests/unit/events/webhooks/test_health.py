"""Changes of health: noticed once each, told in the end, and never told when nothing changed."""

import json

import pytest

from agentgate.events.health_records import FailedCheck, SiteHealth
from agentgate.events.webhooks.health import HealthWatch
from agentgate.events.webhooks.records import WebhookEvent
from agentgate.lib.enums import HealthCheck, HealthSeverity
from agentgate.lib.moment import Moment
from tests.unit.events.webhooks.scene import Scene, ids_of, is_signed, saying

pytestmark = pytest.mark.anyio

HEALTH = [WebhookEvent.HEALTH]
CHECK = {"check": "no_traffic", "severity": "warning", "message": "Nothing arrives.", "detail": {"hours": 24}}


def health(status: str, now_ms: int) -> SiteHealth:
    check = FailedCheck(
        check=HealthCheck.NO_TRAFFIC, severity=HealthSeverity.WARNING, message="Nothing arrives.", detail={"hours": 24}
    )
    return SiteHealth(
        site_key="site_key_st_1", status=HealthSeverity(status), from_=Moment(0), to=Moment(now_ms), checks=[check]
    )


async def look(scene: Scene, status: str) -> list[str]:
    """Check the health of a site with this status; return the keys of the checked sites."""
    looked = []

    async def read_health(site_id: str, site_key: str, now_ms: int) -> SiteHealth:
        assert (site_id, now_ms) == ("st_1", scene.clock.now_ms())
        looked.append(site_key)
        return health(status, now_ms)

    await HealthWatch(scene.stores.store, read_health, scene.clock).notice_changes()
    return looked


def told(scene: Scene) -> list[tuple[str, str]]:
    return [(body["previous"], body["status"]) for body in (json.loads(each.body) for each in scene.server.received)]


async def test_a_change_is_shown_once_with_its_checks(scene: Scene) -> None:
    _, secret = await scene.create(events=HEALTH)
    await look(scene, "ok")
    await scene.deliver()
    assert scene.server.received == []

    for _ in range(2):
        await look(scene, "warning")
        await scene.deliver()

    [request] = scene.server.received
    assert json.loads(request.body) == {
        "type": "health",
        "siteKey": "site_key_st_1",
        "status": "warning",
        "previous": "ok",
        "checks": [CHECK],
    }
    assert is_signed(request, secret)


async def test_each_change_is_reported_from_what_was_reported_before(scene: Scene) -> None:
    await scene.create(events=HEALTH)
    for status in ("ok", "warning", "critical", "ok"):
        await look(scene, status)
        await scene.deliver()

    assert told(scene) == [("ok", "warning"), ("warning", "critical"), ("critical", "ok")]


async def test_a_change_that_could_not_be_reported_is_repeated_with_the_same_id(scene: Scene) -> None:
    await scene.create(events=HEALTH)
    await look(scene, "ok")
    scene.server.answer = saying(500, 200)
    await look(scene, "critical")
    await scene.deliver()
    await look(scene, "critical")
    await scene.deliver(seconds=7)

    first, second = scene.server.received
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.body == second.body


async def test_what_changed_again_before_it_was_reported_is_reported_as_it_is(scene: Scene) -> None:
    await scene.create(events=HEALTH)
    for status in ("ok", "warning", "critical"):
        await look(scene, status)
    await scene.deliver()
    assert told(scene) == [("ok", "critical")]

    for status in ("ok", "critical"):
        await look(scene, status)
    await scene.deliver()

    assert told(scene) == [("ok", "critical")]


async def test_health_and_decisions_reach_the_same_webhook(scene: Scene) -> None:
    await scene.create(events=[WebhookEvent.DECISIONS, WebhookEvent.HEALTH])
    await look(scene, "ok")
    await look(scene, "info")
    made = await scene.decide()
    await scene.deliver()

    assert [json.loads(each.body)["type"] for each in scene.server.received] == ["health", "decisions"]
    assert ids_of(scene.server.received[1]) == made


async def test_only_sites_with_such_a_webhook_are_inspected_and_each_once(scene: Scene) -> None:
    await scene.create()
    assert await look(scene, "ok") == []
    await scene.create(events=HEALTH)
    await scene.create(events=HEALTH)
    await scene.create(events=HEALTH, enabled=False)

    assert await look(scene, "ok") == ["site_key_st_1"]


async def test_health_asked_for_again_begins_again(scene: Scene) -> None:
    webhook_id, _ = await scene.create(events=HEALTH)
    await look(scene, "ok")
    await look(scene, "critical")
    await scene.change(webhook_id, events=[WebhookEvent.DECISIONS])
    await scene.change(webhook_id, events=HEALTH)
    await look(scene, "critical")
    await scene.deliver()

    assert scene.server.received == []
