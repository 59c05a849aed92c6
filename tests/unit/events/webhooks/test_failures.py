"""Deliveries that fail: repeated later and later, given up in the end; and no decision lost on the way."""

import asyncio
import itertools
import random

import pytest

from agentgate.events.webhooks import deliver, progress
from agentgate.events.webhooks.progress import pause_ms
from agentgate.events.webhooks.records import WebhookStatus
from agentgate.lib.clock import DAY_MS, HOUR_MS, SECOND_MS
from tests.support.http_receiver import Answering
from tests.unit.events.webhooks.scene import Scene, ids_of, is_signed, saying

pytestmark = pytest.mark.anyio


class Death(BaseException):
    """The process dies here."""


@pytest.mark.parametrize("status", [302, 410, 500])
async def test_a_failed_delivery_is_repeated_as_it_was_with_the_same_id(scene: Scene, status: int) -> None:
    webhook_id, secret = await scene.create()
    scene.server.answer = saying(status, 200)
    made = await scene.decide(2)
    await scene.deliver()
    shown = await scene.shown(webhook_id)
    assert (shown.status, shown.last_error) == (WebhookStatus.FAILING, f"answered {status}")
    later = await scene.decide(2)

    await scene.deliver(seconds=7)

    first, second, third = scene.server.received
    assert first.body == second.body
    assert first.headers["webhook-id"] == second.headers["webhook-id"] != third.headers["webhook-id"]
    assert first.headers["webhook-timestamp"] != second.headers["webhook-timestamp"]
    assert is_signed(second, secret)
    assert (ids_of(second), ids_of(third)) == (made, later)
    assert (await scene.shown(webhook_id)).status is WebhookStatus.OK


async def test_a_server_that_does_not_respond_is_tried_again(scene: Scene) -> None:
    webhook_id, _ = await scene.create()
    scene.server.answer = lambda _request: Answering(hold_s=2)
    made = await scene.decide()
    await scene.deliver()
    assert (await scene.shown(webhook_id)).last_error == "no response within 0.5 seconds"

    scene.server.answer = saying(204)
    await scene.deliver(seconds=7)

    assert ids_of(scene.server.received[-1]) == made


async def test_a_server_that_is_down_is_tried_again(scene: Scene) -> None:
    port = scene.server.port
    webhook_id, _ = await scene.create(url="http://localhost:1/hook")
    made = await scene.decide()
    await scene.deliver()
    assert (await scene.shown(webhook_id)).last_error == "connection refused"

    await scene.change(webhook_id, url=f"http://localhost:{port}/hook")
    await scene.deliver()

    assert ids_of(scene.server.received[-1]) == made


async def test_failures_are_tried_again_later_and_later(scene: Scene) -> None:
    webhook_id, _ = await scene.create()
    scene.server.answer = saying(500)
    await scene.decide()
    pauses = []
    for _ in range(9):
        await scene.deliver()
        progress = (await scene.stored(webhook_id)).progress
        pauses.append(progress.next_attempt_ms - scene.clock.now_ms())
        scene.clock.advance(ms=pauses[-1] - 4 * SECOND_MS - 1)
        await scene.deliver()
        assert len(scene.server.received) == len(pauses)

    assert 4000 <= pauses[0] <= 6000
    assert all(early < late for early, late in itertools.pairwise(pauses[:7]))
    assert pauses[-1] == HOUR_MS


def test_a_pause_stays_within_its_bounds() -> None:
    assert [pause_ms(attempts, 1.0) // 1000 for attempts in (1, 2, 3, 7, 8, 1000)] == [5, 15, 45, 3600, 3600, 3600]


async def test_after_a_day_of_failures_it_is_paused_until_someone_enables_it(scene: Scene) -> None:
    webhook_id, _ = await scene.create()
    scene.server.answer = saying(500)
    made = await scene.decide()
    await scene.deliver()
    await scene.deliver(seconds=23 * 3600)
    assert (await scene.shown(webhook_id)).status is WebhookStatus.FAILING
    await scene.deliver(seconds=2 * 3600)
    shown = await scene.shown(webhook_id)
    assert (shown.status, shown.enabled, shown.last_error) == (WebhookStatus.PAUSED, False, "answered 500")
    [change] = (await scene.stores.store.read.audit.list_site_changes("st_1", 1))[:1]
    assert (change.actor, change.kind) == ("system", "webhook.update")
    attempts = len(scene.server.received)
    later = await scene.decide()
    await scene.deliver(seconds=3600)
    assert len(scene.server.received) == attempts

    scene.server.answer = saying(200)
    await scene.change(webhook_id, enabled=True)
    await scene.deliver()

    assert [ids_of(request) for request in scene.server.received[attempts:]] == [made, later]
    assert (await scene.shown(webhook_id)).status is WebhookStatus.OK


async def test_what_was_discarded_meanwhile_is_passed_over(scene: Scene) -> None:
    webhook_id, _ = await scene.create()
    scene.server.answer = saying(500)
    await scene.decide(3)
    await scene.deliver()
    scene.clock.advance(days=1)
    kept = await scene.decide()
    today = scene.clock.now_ms() // DAY_MS
    await scene.stores.events.forget(events_before_day=today, metrics_before_day=today)

    scene.server.answer = saying(200)
    await scene.deliver()

    assert ids_of(scene.server.received[-1]) == kept
    assert len(scene.server.received) == 2
    assert (await scene.shown(webhook_id)).status is WebhookStatus.OK


async def test_every_decision_arrives_whatever_fails_and_however_often_the_process_dies(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(7)
    monkeypatch.setattr(deliver, "MOST_ITEMS", 3)
    await scene.create()
    accepted: list[str] = []
    seen: dict[str, list[str]] = {}
    changed: list[str] = []

    def answer(request):
        ids, delivery = ids_of(request), request.headers["webhook-id"]
        if seen.setdefault(delivery, ids) != ids:
            changed.append(delivery)
        fate = chance.random()
        if fate < 0.3:
            return Answering(status=500)
        accepted.extend(each for each in ids if each not in accepted)
        # The yes may get lost on its way back.
        return Answering(hang_up=True) if fate < 0.5 else Answering(status=200)

    scene.server.answer = answer
    made: list[str] = []
    for _ in range(40):
        made += await scene.decide(chance.randrange(1, 5))
        if chance.random() < 0.3:
            monkeypatch.setattr(type(scene.stores.store), "change", _dying(chance, type(scene.stores.store).change))
        try:
            await scene.deliver(seconds=7)
        except Death:
            pass
        finally:
            monkeypatch.undo()
            monkeypatch.setattr(deliver, "MOST_ITEMS", 3)
    scene.server.answer = lambda request: accepted.extend(ids_of(request)) or Answering()
    await scene.deliver(seconds=7200)

    assert changed == []
    assert len(made) > 50
    assert list(dict.fromkeys(accepted)) == made


def _dying(chance, change):
    """Return a `change` after or before which the process may die."""

    async def dying(store, work):
        if chance.random() < 0.3:
            raise Death
        result = await change(store, work)
        if chance.random() < 0.3:
            raise Death
        return result

    return dying


async def test_two_who_deliver_at_once_skip_nothing(scene: Scene) -> None:
    await scene.create()
    made = await scene.decide(4)
    scene.clock.advance(seconds=4)

    await asyncio.gather(scene.push().push_due(), scene.push().push_due())
    later = await scene.decide()
    await scene.deliver()

    told = list(dict.fromkeys(each for request in scene.server.received for each in ids_of(request)))
    assert told == made + later


async def test_one_webhook_that_fails_does_not_hold_up_another(scene: Scene) -> None:
    await scene.create(url="http://localhost:1/")
    await scene.create()
    made = await scene.decide()

    await scene.deliver()

    assert [ids_of(request) for request in scene.server.received] == [made]


async def test_hanging_endpoints_of_one_account_do_not_delay_another(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliver, "AT_ONCE", 4)
    monkeypatch.setattr(deliver, "OF_ACCOUNT", 3)
    monkeypatch.setattr(deliver, "ROUND_S", 0.05)
    for _ in range(5):
        await scene.create(url=scene.server.url(path="/hang"))
    await scene.create(tenant=2, url=scene.server.url(path="/quick"))
    scene.server.answer = lambda request: Answering(hold_s=0.4 if request.path == "/hang" else 0)
    await scene.decide()
    await scene.decide(site=await scene.stores.store.read.sites.find_number("st_2"))
    scene.clock.advance(seconds=4)
    push = scene.push()

    await push.push_due()
    while all(request.path != "/quick" for request in scene.server.received):
        await asyncio.sleep(0.01)
        assert len(scene.server.received) <= 4
    # A later round neither waits for the hanging deliveries nor repeats them.
    await push.push_due()
    await push.finish()

    assert sorted(request.path for request in scene.server.received) == ["/hang"] * 5 + ["/quick"]


async def test_a_slow_endpoint_gets_its_next_delivery_later(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SLOW_MS", 100)
    webhook_id, _ = await scene.create()
    scene.server.answer = lambda _request: Answering(hold_s=0.2)
    await scene.decide()
    await scene.deliver()
    stored = (await scene.stored(webhook_id)).progress
    assert stored.attempts == 0
    assert 800 <= stored.next_attempt_ms - scene.clock.now_ms() <= 2_000

    await scene.decide()
    await scene.deliver()
    assert len(scene.server.received) == 2


async def test_stopping_cancels_deliveries_under_way(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deliver, "ROUND_S", 0.05)
    await scene.create()
    scene.server.answer = lambda _request: Answering(hold_s=2)
    made = await scene.decide()
    scene.clock.advance(seconds=4)
    push = scene.push()
    await push.push_due()
    async with asyncio.timeout(10):
        while not scene.server.received:  # noqa: ASYNC110 - no event exists
            await asyncio.sleep(0.01)

    await push.stop()
    scene.server.answer = saying(200)
    await scene.deliver()

    first, second = scene.server.received
    assert ids_of(second) == made
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
