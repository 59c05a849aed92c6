"""Filing an appeal: by the denied visitor, once for each decision, with a limit for each address.

The text of an appeal is not trusted: appellant and decision come from the ticket that the page carried and from the
stored decision. Suspected spam is listed separately and does not use up the limit of other appeals.
"""

import hashlib
import re
import secrets

from msgspec import Struct

from agentgate.events.labels.repository import KeptEvents
from agentgate.gateway.appeals.records import StoredAppeal
from agentgate.gateway.appeals.repository import AppealStores
from agentgate.lib import limits
from agentgate.lib.clock import DAY_MS, HOUR_MS, Clock
from agentgate.lib.database import Store
from agentgate.lib.enums import AppealState, Outcome
from agentgate.lib.ids import new_appeal_id, write_visitor
from agentgate.lib.limiter import Limiter, Window
from agentgate.lib.limits import APPEAL_CHARACTERS
from agentgate.lib.tasks.job import ROWS_PER_UNIT, Job, delete_in_units

LINK_BYTES = 16
# People behind one address share these.
PER_VISITOR = Window("appeals-visitor", 5, DAY_MS)
PER_SITE = Window("appeals-site", 200, HOUR_MS)
SUSPECTS_PER_SITE = Window("appeals-suspect", 100, HOUR_MS)
# Limit of open appeals of one site.
MOST_OPEN = 2_000
# So many identical texts are spam; short texts such as "please" do not count.
SAME_MOST = 3
SAME_FROM_CHARACTERS = 20

_LINK = re.compile(
    r"https?:|www\.|\[url|<a\s|\b[\w-]+\.(?:com|net|org|info|biz|xyz|top|ru|cn|shop|online|site)\b", re.IGNORECASE
)
# Control, bidi and invisible characters are removed; joiners belong to some scripts.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")


class Filed(Struct, frozen=True):
    """The appeal was taken; `link` is the secret of its page."""

    link: str


class NotFiled(Struct, frozen=True):
    """The appeal was not taken: `unknown` decision, `too_many`, or `twice`."""

    why: str


class Appellant(Struct, frozen=True):
    """The visitor of a site who appeals."""

    site_id: str
    site_number: int
    visitor: int


class AppealFiling:
    """Stores appeals, and finds them by their links."""

    def __init__(self, store: Store[AppealStores], evidence: KeptEvents, limiter: Limiter) -> None:
        self._store = store
        self._evidence = evidence
        self._limiter = limiter

    async def file(self, who: Appellant, decision: int, text: str, *, trapped: bool, now_ms: int) -> Filed | NotFiled:
        """Store an appeal. `trapped`: the hidden form field was filled in."""
        event = await self._evidence.find_event(who.site_number, decision)
        if event is None or event.visitor != who.visitor or event.outcome is Outcome.ALLOW:
            return NotFiled("unknown")
        message = clean(text)
        is_suspect = trapped or await self._is_suspect(who.site_id, message, now_ms)
        subject = f"{who.site_number}:{who.visitor:016x}"
        if not await self._limiter.count(PER_VISITOR, subject):
            return NotFiled("too_many")
        if not await self._limiter.count(SUSPECTS_PER_SITE if is_suspect else PER_SITE, str(who.site_number)):
            return NotFiled("too_many")
        link = secrets.token_urlsafe(LINK_BYTES)
        made = StoredAppeal(
            id=new_appeal_id(),
            site_id=who.site_id,
            link_digest=digest(link),
            decision=decision,
            visitor=write_visitor(who.visitor),
            outcome=event.outcome,
            method=event.method,
            route=event.route,
            rule=event.rule,
            message=message,
            state=AppealState.SUSPECT if is_suspect else AppealState.WAITING,
            created_ms=now_ms,
        )
        problem = await self._store.change(lambda stores: _add(stores, made))
        return Filed(link) if problem is None else NotFiled(problem)

    async def find(self, site_id: str, link: str) -> StoredAppeal | None:
        """Return the appeal of a link of this site, or None."""
        return await self._store.read.appeals.find_by_link(site_id, digest(link))

    async def _is_suspect(self, site_id: str, message: str, now_ms: int) -> bool:
        if _LINK.search(message):
            return True
        if len(message) < SAME_FROM_CHARACTERS:
            return False
        return await self._store.read.appeals.has_same_message(
            site_id, message, since_ms=now_ms - DAY_MS, least=SAME_MOST
        )


def clean(text: str) -> str:
    """Return the text as one line without invisible characters."""
    return " ".join(_UNSEEN.sub(" ", text).split())[:APPEAL_CHARACTERS].strip()


def digest(link: str) -> str:
    """Return the stored digest of a link's secret."""
    return hashlib.sha256(link.encode()).hexdigest()


async def _add(stores: AppealStores, made: StoredAppeal) -> str | None:
    await stores.appeals.lock_appeals(made.site_id)
    if await stores.appeals.has_appeal(made.site_id, made.decision):
        return "twice"
    if await stores.appeals.count_open(made.site_id, most=MOST_OPEN) >= MOST_OPEN:
        return "too_many"
    await stores.appeals.add_appeal(made)
    return None


def appeal_jobs(store: Store[AppealStores], clock: Clock) -> tuple[Job, ...]:
    return (Job(name="forget-appeals", interval_ms=DAY_MS, work=lambda: delete_appeals(store, clock)),)


async def delete_appeals(store: Store[AppealStores], clock: Clock) -> None:
    """Delete appeals that are older than the days they are kept."""
    before_ms = clock.now_ms() - limits.APPEAL_KEPT_DAYS * DAY_MS
    await delete_in_units(
        lambda: store.change(lambda stores: stores.appeals.delete_appeals(before_ms, most=ROWS_PER_UNIT))
    )
