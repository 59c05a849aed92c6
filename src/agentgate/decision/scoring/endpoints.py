"""Feature capture over HTTP, for operators."""

from msgspec import UnsetType

from agentgate.decision.scoring.records import FeatureCapture, FeatureCaptureInput, StoredCapture
from agentgate.decision.scoring.repository import ScoringStores
from agentgate.events.decision_ids import LARGEST_ID, first_id
from agentgate.events.labels.repository import KeptEvents
from agentgate.events.ports import EventStore
from agentgate.http.call import SiteCall
from agentgate.lib.clock import DAY_MS, HOUR_MS, Clock
from agentgate.lib.database import Store
from agentgate.lib.records import to_wire
from agentgate.lib.tasks.job import Job
from agentgate.people.audit.actions import Action
from agentgate.people.audit.trail import Subject, diff, record


async def read_feature_capture(call: SiteCall, store: Store[ScoringStores], events: KeptEvents) -> FeatureCapture:
    """Read the feature capture of a site: state, retention and number of feature vectors."""
    return to_wire(
        await store.read.captures.find_capture(call.site_id) or NEVER_SET,
        FeatureCapture,
        site_id=call.site_id,
        site_key=call.site_key,
        stored=await events.count_features(await store.read.sites.find_number(call.site_id)),
    )


async def change_feature_capture(
    call: SiteCall, body: FeatureCaptureInput, store: Store[ScoringStores], events: KeptEvents, event_store: EventStore
) -> FeatureCapture:
    """Turn feature capture on or off. Turning it off deletes the stored vectors."""
    capture = await store.change(lambda stores: _save_capture(stores, call, body))
    if not capture.enabled:
        # The job deletes vectors that other workers still capture until they refresh.
        await event_store.forget_features(await store.read.sites.find_number(call.site_id), before_id=LARGEST_ID)
    return await read_feature_capture(call, store, events)


async def _save_capture(stores: ScoringStores, call: SiteCall, body: FeatureCaptureInput) -> StoredCapture:
    await stores.captures.lock_capture(call.site_id)
    stored = await stores.captures.find_capture(call.site_id)
    before = stored or NEVER_SET
    days = before.retention_days if isinstance(body.retention_days, UnsetType) else body.retention_days
    after = StoredCapture(enabled=body.enabled, retention_days=days, updated_ms=call.now, updated_by=call.actor.name)
    changes = diff(before, after, ("enabled", "retention_days"))
    if stored is not None and not changes:
        return stored
    await stores.captures.save_capture(call.site_id, after)
    wire = {"enabled": "enabled", "retention_days": "retentionDays"}
    detail = {wire[field]: change for field, change in changes.items()}
    subject = Subject(account_id=call.account_id, site_id=call.site_id, target=call.site_key)
    await record(stores, call, Action.FEATURE_CAPTURE_UPDATE, subject, detail)
    await stores.configuration.bump_site(call.site_id)
    return after


NEVER_SET = StoredCapture()


def scoring_jobs(store: Store[ScoringStores], events: EventStore, clock: Clock) -> tuple[Job, ...]:
    """Return the timed job: delete feature vectors after the days they are kept."""
    return (Job(name="expire-features", interval_ms=HOUR_MS, work=lambda: expire_features(store, events, clock)),)


async def expire_features(store: Store[ScoringStores], events: EventStore, clock: Clock) -> None:
    """Remove feature vectors that are older than their site keeps them, and all of sites that capture no more."""
    now_ms = clock.now_ms()
    for site in await store.read.captures.list_captures():
        before_id = first_id(now_ms - site.retention_days * DAY_MS) if site.enabled else LARGEST_ID
        await events.forget_features(site.number, before_id=before_id)
