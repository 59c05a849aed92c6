"""Feature capture: whether a site's feature vectors are stored for training, and for how long."""

from msgspec import UnsetType

from agentgate.events.ports import EventStore
from agentgate.http.call import SiteCall
from agentgate.lib.clock import DAY_MS, HOUR_MS, Clock
from agentgate.lib.database import Store
from agentgate.lib.decision_ids import LARGEST_ID, first_id
from agentgate.lib.records import shown
from agentgate.lib.tasks.job import Job
from agentgate.people.audit.actions import Action
from agentgate.people.audit.diff import diff
from agentgate.people.audit.trail import Subject, record
from agentgate.protection.scoring.records import FeatureCapture, FeatureCaptureInput, StoredCapture
from agentgate.protection.scoring.repository import KeptEvents, ScoringStores

NEVER_SET = StoredCapture()


async def read_capture(store: Store[ScoringStores], events: KeptEvents, call: SiteCall) -> FeatureCapture:
    """Return a site's setting and how many vectors are stored."""
    return shown(
        await store.read.captures.find_capture(call.site_id) or NEVER_SET,
        FeatureCapture,
        site_id=call.site_id,
        site_key=call.site_key,
        stored=await events.count_features(await store.read.sites.find_number(call.site_id)),
    )


async def change_capture(
    store: Store[ScoringStores], event_store: EventStore, call: SiteCall, body: FeatureCaptureInput
) -> None:
    """Turn capture on or off. Turning it off deletes what was stored."""

    async def work(stores: ScoringStores) -> StoredCapture:
        await stores.captures.lock_capture(call.site_id)
        stored = await stores.captures.find_capture(call.site_id)
        before = stored or NEVER_SET
        days = before.retention_days if isinstance(body.retention_days, UnsetType) else body.retention_days
        after = StoredCapture(
            enabled=body.enabled, retention_days=days, updated_ms=call.now, updated_by=call.actor.name
        )
        changes = diff(before, after, ("enabled", "retention_days"))
        if stored is not None and not changes:
            return stored
        await stores.captures.save_capture(call.site_id, after)
        wire = {"enabled": "enabled", "retention_days": "retentionDays"}
        detail = {wire[field]: change for field, change in changes.items()}
        subject = Subject(account_id=call.account_id, site_id=call.site_id, target=call.site_key)
        await record(stores, call, Action.FEATURE_CAPTURE_UPDATE, subject, detail)
        await stores.configuration.bump()
        return after

    capture = await store.change(work)
    if not capture.enabled:
        # What another worker still captures until it hears of this, the job removes.
        await event_store.forget_features(await store.read.sites.find_number(call.site_id), before_id=LARGEST_ID)


def scoring_jobs(store: Store[ScoringStores], events: EventStore, clock: Clock) -> tuple[Job, ...]:
    """Return the timed job: delete feature vectors after the days they are kept."""
    return (Job(name="expire-features", interval_ms=HOUR_MS, work=lambda: expire_features(store, events, clock)),)


async def expire_features(store: Store[ScoringStores], events: EventStore, clock: Clock) -> None:
    """Remove feature vectors that are older than their site keeps them, and all of sites that capture no more."""
    now_ms = clock.now_ms()
    for site in await store.read.captures.list_captures():
        before_id = first_id(now_ms - site.retention_days * DAY_MS) if site.enabled else LARGEST_ID
        await events.forget_features(site.number, before_id=before_id)
