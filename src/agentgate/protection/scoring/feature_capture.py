"""Feature capture: whether a site's feature vectors are stored for training, and for how long."""

from msgspec import UnsetType

from agentgate.events.ports import EventStore
from agentgate.http.call import SiteCall
from agentgate.lib.clock import DAY_MS, Clock
from agentgate.lib.database import Store
from agentgate.lib.decision_ids import LARGEST_ID, first_id
from agentgate.lib.moment import Moment
from agentgate.lib.records import optional, optional_moment
from agentgate.people.audit.actions import Action
from agentgate.people.audit.diff import diff
from agentgate.people.audit.trail import Subject, record
from agentgate.protection.scoring.records import FeatureCapture, FeatureCaptureInput, StoredCapture
from agentgate.protection.scoring.repository import KeptEvents, ScoringStores

DEFAULT_RETENTION_DAYS = 30


async def read_capture(store: Store[ScoringStores], events: KeptEvents, call: SiteCall) -> FeatureCapture:
    """Return a site's setting and how many vectors are stored."""
    capture = await store.read.captures.find_capture(call.site_id)
    return FeatureCapture(
        site_id=call.site_id,
        site_key=call.site_key,
        enabled=capture.enabled if capture else False,
        retention_days=capture.retention_days if capture else DEFAULT_RETENTION_DAYS,
        stored=await events.count_features(await store.read.sites.find_number(call.site_id)),
        updated_at=optional_moment(capture.updated_ms if capture else None),
        updated_by=optional(capture.updated_by if capture else None),
    )


async def change_capture(
    store: Store[ScoringStores], event_store: EventStore, call: SiteCall, body: FeatureCaptureInput
) -> None:
    """Turn capture on or off. Turning it off deletes what was stored."""

    async def work(stores: ScoringStores) -> StoredCapture:
        await stores.captures.lock_capture(call.site_id)
        before = await stores.captures.find_capture(call.site_id)
        after = _changed(call, before, body)
        if before is not None and _same(before, after):
            return before
        await stores.captures.save_capture(call.site_id, after)
        await _tell(stores, call, before, after)
        await stores.configuration.bump()
        return after

    capture = await store.change(work)
    if not capture.enabled:
        # What another worker still captures until it hears of this, the job removes.
        await event_store.forget_features(await store.read.sites.find_number(call.site_id), before_id=LARGEST_ID)


async def expire_features(store: Store[ScoringStores], events: EventStore, clock: Clock) -> None:
    """Remove feature vectors that are older than their site keeps them, and all of sites that capture no more."""
    now_ms = clock.now_ms()
    for site in await store.read.captures.list_captures():
        before_id = first_id(now_ms - site.retention_days * DAY_MS) if site.enabled else LARGEST_ID
        await events.forget_features(site.number, before_id=before_id)


def _changed(call: SiteCall, before: StoredCapture | None, body: FeatureCaptureInput) -> StoredCapture:
    days = body.retention_days
    if isinstance(days, UnsetType):
        days = before.retention_days if before else DEFAULT_RETENTION_DAYS
    return StoredCapture(enabled=body.enabled, retention_days=days, updated_ms=call.now, updated_by=call.actor.name)


def _same(before: StoredCapture, after: StoredCapture) -> bool:
    return (before.enabled, before.retention_days) == (after.enabled, after.retention_days)


async def _tell(stores: ScoringStores, call: SiteCall, before: StoredCapture | None, after: StoredCapture) -> None:
    was = before or StoredCapture(
        enabled=False, retention_days=DEFAULT_RETENTION_DAYS, updated_ms=Moment(0), updated_by=""
    )
    subject = Subject(account_id=call.account_id, site_id=call.site_id, target=call.site_key)
    changes = diff(was, after, ("enabled", "retention_days"))
    wire = {"enabled": "enabled", "retention_days": "retentionDays"}
    detail = {wire[field]: change for field, change in changes.items()}
    await record(stores, call, Action.FEATURE_CAPTURE_UPDATE, subject, detail)
