"""Deliveries to webhooks, in order and at least once. Their bodies are made in `payloads.py`.

A batch of decisions is fixed in the store before it is first sent, and the position moves on after the yes. If the
process dies in between, the same batch goes out again under the same ID.
"""

import asyncio
import random
import time
from collections.abc import Callable
from functools import partial

import structlog
from msgspec import Struct
from msgspec.structs import replace

from agentgate.events.decision_ids import id_day, read_id
from agentgate.events.queries.ports import SiteNumber
from agentgate.events.queries.records import Decision
from agentgate.events.storage.queries.kept_events import DecisionFeed
from agentgate.events.webhooks import progress as steps
from agentgate.events.webhooks.payloads import WebhookMessage, decisions_message, health_message
from agentgate.events.webhooks.records import (
    Delivery,
    LiveWebhook,
    Progress,
    StoredWebhook,
    WebhookEvent,
    WebhookFilter,
)
from agentgate.events.webhooks.repository import WebhookStores
from agentgate.events.webhooks.signing import open_secrets, signed_headers
from agentgate.http.call import SYSTEM
from agentgate.http.outbound.client import Outbound, OutboundFailed
from agentgate.lib.clock import SECOND_MS, Clock
from agentgate.lib.database import Store, StoreUnavailable
from agentgate.lib.ids import new_delivery_id
from agentgate.lib.keyring import Sealer
from agentgate.lib.moment import Moment
from agentgate.lib.tasks.off_loop import FEW_ITEMS, consumed
from agentgate.lib.tasks.turns import Turns
from agentgate.lib.telemetry.metrics import MetricRegistry
from agentgate.people.audit.actions import Action
from agentgate.people.audit.records import AuditEntry

MOST_ITEMS = 500
# How many filtered-out decisions are scanned before the position is saved.
MOST_SCANNED = 20_000
# Events are written a moment after they got their ID. So long is waited for the slowest writer.
LAG_MS = 3 * SECOND_MS
# Deliveries under way, in all and of one account.
AT_ONCE, OF_ACCOUNT = 32, 4
# A round waits so long for its deliveries; slower ones continue, and later rounds serve the other webhooks.
ROUND_S = 0.5
# No webhook holds up the others for longer, however much it has to catch up with.
TURN_S = 5.0
DELIVERIES_KEPT = 50


class PushAttempt(Struct, frozen=True, kw_only=True):
    """How one attempt ended. Without an error it was delivered."""

    status: int | None
    error: str | None
    duration_ms: int

    @property
    def delivered(self) -> bool:
        """Whether the address said yes."""
        return self.error is None


class Push:
    """Delivers to webhooks."""

    def __init__(
        self,
        store: Store[WebhookStores],
        feed: DecisionFeed,
        *,
        outbound: Outbound,
        sealer: Sealer,
        clock: Clock,
        metrics: MetricRegistry,
    ) -> None:
        self._store = store
        self._feed = feed
        self._outbound = outbound
        self._sealer = sealer
        self._clock = clock
        self._metrics = metrics
        self._turns = Turns(AT_ONCE, of_account=OF_ACCOUNT)
        # Webhooks with a delivery that runs or waits for its turn.
        self._busy: dict[str, asyncio.Task[None]] = {}
        # Returns the decision as it is sent: `wiring` adds the explanation.
        self.explain: Callable[[Decision], Decision] = lambda decision: decision

    async def push_due(self) -> None:
        """Begin deliveries to all webhooks that are due, and wait a moment for them; accounts take turns."""
        due = await self._store.read.webhooks.list_live(due_ms=self._clock.now_ms())
        for number, live in enumerate(consumed(due), 1):
            if number % FEW_ITEMS == 0:
                await asyncio.sleep(0)
            webhook_id = live.webhook.id
            if webhook_id not in self._busy:
                task = self._busy[webhook_id] = asyncio.create_task(self._push_in_turn(live))
                task.add_done_callback(partial(self._note_end, webhook_id))
        if self._busy:
            done, _ = await asyncio.wait(self._busy.values(), timeout=ROUND_S)
            for task in done:
                # A store that is unavailable delays the job.
                task.result()

    async def stop(self) -> None:
        """Cancel deliveries under way. They are repeated under the same ID."""
        for task in self._busy.values():
            task.cancel()
        await self.finish()

    async def finish(self) -> None:
        """Wait for the deliveries under way."""
        await asyncio.gather(*self._busy.values(), return_exceptions=True)

    def _note_end(self, webhook_id: str, task: asyncio.Task[None]) -> None:
        del self._busy[webhook_id]
        if not task.cancelled() and (failure := task.exception()) is not None:
            structlog.get_logger().warning("webhook not served", webhook_id=webhook_id, why=type(failure).__name__)

    async def _push_in_turn(self, live: LiveWebhook) -> None:
        async with self._turns.wait(live.webhook.account_id):
            try:
                await self._push(live)
            except StoreUnavailable:
                raise
            except Exception:  # noqa: BLE001 - one webhook's trouble must not keep the others from their turn
                structlog.get_logger().exception("webhook not served", webhook_id=live.webhook.id)

    async def attempt(self, webhook: StoredWebhook, message: WebhookMessage) -> PushAttempt:
        """Send a message once."""
        now_ms = self._clock.now_ms()
        keys = open_secrets(self._sealer, webhook, now_ms)
        headers = signed_headers(message.id, message.body, keys=keys, now_ms=now_ms)
        started = time.perf_counter()
        status, error = None, None
        try:
            answer = await self._outbound.post(
                webhook.url, {**headers, "content-type": message.media_type}, message.body
            )
            status = answer.status
            if not 200 <= status < 300:
                error = f"answered {status}"
        except OutboundFailed as failed:
            error = failed.reason
        made = PushAttempt(status=status, error=error, duration_ms=round((time.perf_counter() - started) * 1000))
        self._metrics.webhook_attempted(message.kind, delivered=made.delivered)
        return made

    async def _push(self, live: LiveWebhook) -> None:
        ends = time.monotonic() + TURN_S
        following: LiveWebhook | None = live
        while following is not None and time.monotonic() < ends:
            following = await self._step(following)

    async def _step(self, live: LiveWebhook) -> LiveWebhook | None:
        """Send a webhook's next delivery. Return the webhook with its new progress, or None if no other is due now."""
        progress = live.webhook.progress
        if progress.health_id is not None and progress.health_body is not None:
            return await self._deliver(
                live, health_message(live.webhook.format, progress.health_id, progress.health_body)
            )
        if WebhookEvent.DECISIONS in live.webhook.events:
            return await self._tell_decisions(live)
        return None

    async def _tell_decisions(self, live: LiveWebhook) -> LiveWebhook | None:
        progress = live.webhook.progress
        horizon = steps.last_id_before(self._clock.now_ms() - LAG_MS)
        fixed = progress.batch_until
        decisions, scanned = await self._collect(live, until=horizon if fixed is None else fixed)
        if not decisions:
            return await self._pass_over(live, scanned if fixed is None else fixed, horizon=horizon)
        if progress.batch_id is None or fixed is None:
            begun = await self._save(live, steps.with_batch(progress, new_delivery_id(), until=scanned))
            if begun is None:
                return None
            live = begun
        message = decisions_message(live, decisions, self.explain)
        # Late writers may have made a fixed batch longer than it was: then it ends where this delivery does.
        until = scanned if fixed is None or len(decisions) == MOST_ITEMS else fixed
        return await self._deliver(live, message, until=until)

    async def _collect(self, live: LiveWebhook, *, until: int) -> tuple[list[Decision], int]:
        """Return the next decisions that match the webhook's filter, and the last decision that was read."""
        wanted: list[Decision] = []
        site = SiteNumber(live.webhook.site_id, live.site)
        after, scanned = live.webhook.progress.position, 0
        while len(wanted) < MOST_ITEMS and scanned < MOST_SCANNED:
            limit = MOST_ITEMS - len(wanted)
            found = await self._feed.list_after(site, after=after, until=until, limit=limit)
            wanted += [decision for decision in found if is_wanted(decision, live.webhook.filter)]
            scanned += len(found)
            after = _number(found[-1]) if found else after
            if len(found) < limit:
                break
        return wanted, after

    async def _pass_over(self, live: LiveWebhook, until: int, *, horizon: int) -> LiveWebhook | None:
        """Skip decisions that the filter excludes. If there are no decisions, save the position only once a day."""
        progress = live.webhook.progress
        if until > progress.position or progress.batch_id is not None:
            return await self._save(live, steps.with_decisions_told(progress, until))
        if id_day(progress.position) < id_day(horizon):
            await self._save(live, steps.with_decisions_told(progress, horizon))
        return None

    async def _save(self, live: LiveWebhook, progress: Progress) -> LiveWebhook | None:
        async def work(stores: WebhookStores) -> bool:
            await stores.webhooks.lock_site(live.webhook.site_id)
            return await stores.webhooks.save_progress(live.webhook.id, progress)

        return _with(live, progress) if await self._store.change(work) else None

    async def _deliver(
        self, live: LiveWebhook, message: WebhookMessage, *, until: int | None = None
    ) -> LiveWebhook | None:
        """Send a message and note the outcome; return the webhook if its next delivery may follow at once."""
        webhook = live.webhook
        attempt = await self.attempt(webhook, message)
        now_ms = self._clock.now_ms()
        if attempt.error is None:
            progress = steps.after_success(_told(webhook.progress, until), now_ms, took_ms=attempt.duration_ms)
        else:
            jitter = random.uniform(0.8, 1.2)  # noqa: S311 - spreads attempts, protects nothing
            progress = steps.after_failure(webhook.progress, now_ms, error=attempt.error, jitter=jitter)
        attempts = webhook.progress.attempts + 1
        delivery = delivery_of(webhook, message, attempt, now_ms=now_ms, attempts=attempts)
        paused = not attempt.delivered and steps.is_given_up(progress, now_ms)

        async def work(stores: WebhookStores) -> bool:
            await stores.webhooks.lock_site(webhook.site_id)
            if not await stores.webhooks.save_progress(webhook.id, progress):
                # The webhook was changed or deleted during the delivery. The next delivery follows from that change.
                return False
            await stores.webhooks.save_delivery(delivery, keep=DELIVERIES_KEPT)
            if paused:
                await _pause(stores, webhook, now_ms)
            return True

        noted = await self._store.change(work)
        log = structlog.get_logger().bind(webhook_id=webhook.id, delivery_id=message.id, kind=message.kind)
        if attempt.error is not None:
            log.warning("webhook not delivered", error=attempt.error, attempt=progress.attempts, paused=paused)
            return None
        log.debug("webhook delivered", items=message.items)
        return _with(live, progress) if noted and progress.next_attempt_ms <= now_ms else None


def is_wanted(decision: Decision, wanted: WebhookFilter) -> bool:
    """Return whether a filter lets a decision through."""
    if wanted.outcomes and decision.outcome not in wanted.outcomes:
        return False
    return not wanted.kinds or decision.kind in wanted.kinds


def _number(decision: Decision) -> int:
    number = read_id(decision.id)
    assert number is not None, "the store writes IDs that can be read"
    return number


def _told(progress: Progress, until: int | None) -> Progress:
    if until is not None:
        return steps.with_decisions_told(progress, until)
    return steps.with_health_seen(progress, progress.health_next or "")


def _with(live: LiveWebhook, progress: Progress) -> LiveWebhook:
    seen = replace(progress, revision=progress.revision + 1)
    return replace(live, webhook=replace(live.webhook, progress=seen))


def delivery_of(
    webhook: StoredWebhook, message: WebhookMessage, attempt: PushAttempt, *, now_ms: int, attempts: int
) -> Delivery:
    """Return the record of a delivery after so many attempts."""
    return Delivery(
        id=message.id,
        site_id=webhook.site_id,
        webhook_id=webhook.id,
        kind=message.kind,
        time_ms=now_ms,
        items=message.items,
        delivered=attempt.delivered,
        attempts=attempts,
        status=attempt.status,
        duration_ms=attempt.duration_ms,
        error=attempt.error,
    )


async def _pause(stores: WebhookStores, webhook: StoredWebhook, now_ms: int) -> None:
    await stores.webhooks.disable_webhook(webhook.id)
    entry = AuditEntry(
        time=Moment(now_ms),
        actor=SYSTEM.name,
        actor_kind=SYSTEM.kind,
        action=Action.WEBHOOK_UPDATE,
        account_id=webhook.account_id,
        site_id=webhook.site_id,
        target=webhook.id,
        detail={"enabled": {"from": True, "to": False}, "reason": "every delivery failed for 24 hours"},
        address=None,
    )
    await stores.audit.add_entry(entry)
