"""Checks the sites of accounts whose members want notices, and adds a mail for each member to the outbox.

State and mails are saved in one unit of work: a notice is sent exactly if it is noted.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import groupby

import structlog
from msgspec import Struct

from agentgate.events.health_records import SiteHealth
from agentgate.events.queries.ports import CountStore
from agentgate.events.time_ranges import TimeRange
from agentgate.gateway.notices.findings import WEEK_MS, SiteFacts, digest_line, find_notices
from agentgate.gateway.notices.records import Notice, NoticeKind, SiteState, Subscriber
from agentgate.gateway.notices.repository import NoticeStores
from agentgate.lib.clock import DAY_MS, HOUR_MS, MINUTE_MS, Clock
from agentgate.lib.database import EventsUnavailable, Store, within_events_wait
from agentgate.lib.moment import Moment
from agentgate.lib.tasks.job import Job
from agentgate.people.outbox.messages import Messenger, notice_message, plain_name
from agentgate.sites.records import Site, SiteLoad
from agentgate.sites.repository import SiteFilter

INTERVAL_MS = 10 * MINUTE_MS
HOURS_READ_MS = 8 * DAY_MS

ReadHealth = Callable[[str, str, int], Awaitable[SiteHealth]]


class _Looked(Struct, frozen=True, kw_only=True):
    """The result of a check."""

    site: Site
    facts: SiteFacts
    notices: list[Notice]
    state: SiteState


@dataclass(frozen=True, kw_only=True)
class NoticeSending:
    store: Store[NoticeStores]
    read_health: ReadHealth
    counts: CountStore
    messenger: Messenger
    console_url: Callable[[], str]
    clock: Clock

    async def send_due(self) -> None:
        """Send what is due to the members of each account that wants notices."""
        found = await self.store.read.notices.list_subscribers()
        for account_id, group in groupby(found, key=lambda each: each.account_id):
            try:
                await self._send_of_account(account_id, list(group))
            except EventsUnavailable:
                structlog.get_logger().info("notices are delayed: events are unavailable")
                return

    async def _send_of_account(self, account_id: str, subscribers: list[Subscriber]) -> None:
        now_ms = self.clock.now_ms()
        listed = await self.store.read.sites.list_sites(SiteFilter(account_id=account_id), now_ms=now_ms)
        before = {each.site.id: await self.store.read.notices.find_state(each.site.id) for each in listed}
        looked = [await self._look(each.site, before[each.site.id], now_ms) for each in listed]
        changed = [each for each in looked if each.state != before[each.site.id]]
        if not changed and not any(_is_digest_due(each, now_ms) for each in subscribers):
            return

        async def work(stores: NoticeStores) -> None:
            await stores.notices.lock_notices(account_id)
            # Read again: a member may have left, or chosen otherwise.
            members = await stores.notices.list_subscribers(account_id)
            for each in changed:
                await stores.notices.save_state(each.site.id, each.state)
            for member in members:
                await self._write(stores, member, looked, now_ms)

        await self.store.change(work)

    async def _look(self, site: Site, state: SiteState, now_ms: int) -> _Looked:
        number = await self.store.read.sites.find_number(site.id)
        span = TimeRange((now_ms - HOURS_READ_MS) // HOUR_MS * HOUR_MS, now_ms)
        hours = await within_events_wait(self.counts.list_hours(number, span))
        facts = SiteFacts(
            now_ms=now_ms,
            health=await self.read_health(site.id, site.site_key, now_ms),
            hours=hours,
            appeals_waiting=await self.store.read.notices.count_waiting(site.id, before_ms=now_ms - DAY_MS),
            credentials=await self.store.read.credentials.list_credentials(site.id),
            load=site.load if isinstance(site.load, SiteLoad) else None,
        )
        notices, after = find_notices(state, facts)
        return _Looked(site=site, facts=facts, notices=notices, state=after)

    async def _write(self, stores: NoticeStores, member: Subscriber, looked: list[_Looked], now_ms: int) -> None:
        parts: list[str] = []
        titles: list[str] = []
        for each in looked:
            name = plain_name(each.site.name, each.site.site_key)
            wanted = [notice for notice in each.notices if notice.kind in member.kinds]
            parts += [f"{name}: {notice.text}" for notice in wanted]
            titles += [f"{name}: {notice.title}" for notice in wanted]
        if looked and _is_digest_due(member, now_ms):
            await stores.notices.save_digest(member.account_id, member.user_id, now_ms)
            parts += [f"{plain_name(each.site.name, each.site.site_key)}: {digest_line(each.facts)}" for each in looked]
            titles.append("your week on AgentGate")
        if parts:
            subject = titles[0] if len(titles) == 1 else f"AgentGate: {len(titles)} notices"
            message = notice_message(member.email, subject=subject, parts=parts, url=self.console_url())
            await self.messenger.send(stores, Moment(now_ms), message)


def _is_digest_due(member: Subscriber, now_ms: int) -> bool:
    return NoticeKind.DIGEST in member.kinds and now_ms - member.digest_ms >= WEEK_MS


def notice_jobs(sending: NoticeSending) -> tuple[Job, ...]:
    return (Job(name="send-notices", interval_ms=INTERVAL_MS, work=sending.send_due, guarded=False),)
