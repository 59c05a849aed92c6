"""Pushing decisions: which, in which order, to whom, and what is noted of it. Failures are in `test_failures.py`."""

import json

import pytest
from msgspec.structs import replace

from agentgate.events.webhooks import deliver, editing
from agentgate.events.webhooks.records import WebhookEvent, WebhookFilter, WebhookFormat, WebhookPatch, WebhookStatus
from agentgate.lib.clock import DAY_MS, SECOND_MS
from agentgate.lib.enums import AccountStatus, DecisionKind, Outcome
from tests.unit.events.webhooks.scene import SEALER, Scene, ids_of, is_signed, saying

pytestmark = pytest.mark.anyio


async def test_decisions_arrive_in_order_and_signed(scene: Scene) -> None:
    webhook_id, secret = await scene.create()
    made = await scene.decide(3, outcome=Outcome.BLOCK, rule="bots")

    await scene.deliver()

    [request] = scene.server.received
    body = json.loads(request.body)
    assert (request.method, request.headers["content-type"]) == ("POST", "application/json")
    assert (body["type"], body["siteKey"]) == ("decisions", "site_key_st_1")
    assert ids_of(request) == made
    assert body["items"][0]["matchedRule"] == "bots"
    assert body["items"][0]["explanation"].startswith("Blocked: this request came from a network that people")
    assert int(request.headers["webhook-timestamp"]) == scene.clock.now_ms() // 1000
    assert is_signed(request, secret)
    shown = await scene.shown(webhook_id)
    assert (shown.status, shown.last_delivery_at) == (WebhookStatus.OK, scene.clock.now_ms())


async def test_each_line_is_a_decision_in_the_other_format(scene: Scene) -> None:
    await scene.create(format=WebhookFormat.NDJSON)
    made = await scene.decide(3)

    await scene.deliver()

    [request] = scene.server.received
    assert request.headers["content-type"] == "application/x-ndjson"
    assert [json.loads(line)["id"] for line in request.body.splitlines()] == made


async def test_what_was_reported_is_not_reported_again(scene: Scene) -> None:
    await scene.create()
    await scene.decide()
    await scene.deliver()
    await scene.deliver()
    later = await scene.decide()
    await scene.deliver()

    assert [ids_of(request) for request in scene.server.received][1:] == [later]


async def test_only_decisions_after_its_making_are_reported(scene: Scene) -> None:
    await scene.decide()
    scene.clock.advance(ms=1)
    await scene.create()
    later = await scene.decide()
    await scene.deliver()

    assert [ids_of(request) for request in scene.server.received] == [later]


async def test_a_decision_is_unchanged_for_three_seconds(scene: Scene) -> None:
    await scene.create()
    made = await scene.decide()

    await scene.deliver(seconds=3)
    assert scene.server.received == []
    await scene.deliver(seconds=0.001)
    assert [ids_of(request) for request in scene.server.received] == [made]


async def test_a_delivery_carries_at_most_500_decisions(scene: Scene) -> None:
    await scene.create()
    made = await scene.decide(1203)

    await scene.deliver()

    assert [len(ids_of(request)) for request in scene.server.received] == [500, 500, 203]
    assert [each for request in scene.server.received for each in ids_of(request)] == made


async def test_decisions_of_several_days_arrive_in_order(scene: Scene) -> None:
    await scene.create()
    made = []
    for _ in range(3):
        made += await scene.decide(2)
        scene.clock.advance(days=1)

    await scene.deliver()

    assert [each for request in scene.server.received for each in ids_of(request)] == made


async def test_a_filter_chooses_by_outcome_and_kind(scene: Scene) -> None:
    await scene.create(filter=WebhookFilter(outcomes=[Outcome.BLOCK, Outcome.DROP], kinds=[DecisionKind.REQUEST]))
    await scene.decide(2)
    blocked = await scene.decide(outcome=Outcome.BLOCK)
    await scene.decide(outcome=Outcome.BLOCK, kind=DecisionKind.CHALLENGE)
    dropped = await scene.decide(outcome=Outcome.DROP)
    await scene.deliver()

    assert [ids_of(request) for request in scene.server.received] == [blocked + dropped]


async def test_what_no_one_wants_is_passed_over_once(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deliver, "MOST_SCANNED", 1000)
    webhook_id, _ = await scene.create(filter=WebhookFilter(outcomes=[Outcome.DROP]))
    await scene.decide(2500)
    wanted = await scene.decide(outcome=Outcome.DROP)
    before = (await scene.stored(webhook_id)).progress.position

    await scene.deliver()

    assert (await scene.stored(webhook_id)).progress.position > before
    assert [ids_of(request) for request in scene.server.received] == [wanted]


async def test_a_quiet_webhook_writes_only_once_a_day(scene: Scene) -> None:
    webhook_id, _ = await scene.create()
    before = await scene.stored(webhook_id)
    await scene.deliver()
    assert await scene.stored(webhook_id) == before

    await scene.deliver(seconds=DAY_MS / SECOND_MS)
    assert (await scene.stored(webhook_id)).progress.revision == before.progress.revision + 1


async def test_a_disabled_webhook_continues_where_it_stopped(scene: Scene) -> None:
    webhook_id, _ = await scene.create()
    await scene.change(webhook_id, enabled=False)
    made = await scene.decide()
    await scene.deliver()
    assert scene.server.received == []

    await scene.change(webhook_id, enabled=True)
    await scene.deliver()

    assert [ids_of(request) for request in scene.server.received] == [made]


async def test_nothing_is_pushed_for_an_account_that_is_suspended(scene: Scene) -> None:
    await scene.create()
    account = await scene.stores.store.read.accounts.find_account("acc_1")
    await scene.stores.store.change(
        lambda stores: stores.accounts.save_account(replace(account, status=AccountStatus.SUSPENDED))
    )
    await scene.decide()
    await scene.deliver()

    assert scene.server.received == []


async def test_a_moved_site_pushes_nothing_until_its_new_account_shows_it(scene: Scene) -> None:
    webhook_id, _ = await scene.create()
    site = await scene.stores.store.read.sites.find_site("site_key_st_1", account_id=None)
    await scene.stores.store.change(lambda stores: stores.sites.save_site(replace(site, customer_id="acc_2")))
    await scene.decide()
    await scene.deliver()
    assert scene.server.received == []

    await _enable_as(scene, webhook_id, "acc_2")
    await scene.deliver()

    assert len(scene.server.received) == 1


async def _enable_as(scene: Scene, webhook_id: str, account_id: str) -> None:
    call = scene.call(account_id)
    assert editing.show(await scene.stored(webhook_id), call).status is WebhookStatus.PAUSED
    body = WebhookPatch(enabled=True)
    await scene.stores.store.change(lambda stores: editing.change(stores, call, webhook_id, body))


async def test_another_filter_takes_another_id(scene: Scene) -> None:
    webhook_id, _ = await scene.create()
    scene.server.answer = saying(500, 200)
    await scene.decide(2)
    blocked = await scene.decide(outcome=Outcome.BLOCK)
    await scene.deliver()

    await scene.change(webhook_id, filter=WebhookFilter(outcomes=[Outcome.BLOCK]))
    await scene.deliver(seconds=7)

    first, second = scene.server.received
    assert ids_of(second) == blocked
    assert first.headers["webhook-id"] != second.headers["webhook-id"]


async def test_decisions_asked_for_later_are_reported_from_then_on(scene: Scene) -> None:
    webhook_id, _ = await scene.create(events=[WebhookEvent.HEALTH])
    await scene.decide()
    scene.clock.advance(ms=1)
    await scene.change(webhook_id, events=[WebhookEvent.DECISIONS])
    made = await scene.decide()
    await scene.deliver()

    assert [ids_of(request) for request in scene.server.received] == [made]


async def test_deliveries_are_listed_with_their_attempts_and_the_oldest_discarded(scene: Scene) -> None:
    webhook_id, _ = await scene.create()
    scene.server.answer = saying(500, 200)
    await scene.decide(2)
    await scene.deliver()
    await scene.deliver(seconds=7)
    [first] = await scene.stores.store.read.webhooks.list_deliveries(webhook_id, 100)
    assert (first.attempts, first.status, first.delivered, first.items, first.error) == (2, 200, True, 2, None)

    for _ in range(51):
        await scene.decide()
        await scene.deliver()

    listed = await scene.stores.store.read.webhooks.list_deliveries(webhook_id, 100)
    assert len(listed) == 50
    assert first.id not in {each.id for each in listed}
    assert listed[0].time_ms == scene.clock.now_ms()


async def test_attempts_are_counted(scene: Scene) -> None:
    await scene.create()
    scene.server.answer = saying(500, 200)
    await scene.decide()
    await scene.deliver()
    await scene.deliver(seconds=7)

    shown = scene.metrics.exposition()[0].decode()
    for result in ("delivered", "failed"):
        assert f'agentgate_webhook_deliveries_total{{result="{result}",type="decisions"}} 1.0' in shown


async def test_both_secrets_sign_for_a_day_after_rotation(scene: Scene) -> None:
    webhook_id, old = await scene.create()
    made = await scene.stores.store.change(lambda stores: editing.rotate(stores, scene.call(), webhook_id, SEALER))
    await scene.decide()
    await scene.deliver()
    scene.clock.advance(days=1)
    await scene.decide()
    await scene.deliver()

    during, after = scene.server.received
    assert (is_signed(during, old), is_signed(during, made.secret)) == (True, True)
    assert (is_signed(after, old), is_signed(after, made.secret)) == (False, True)
