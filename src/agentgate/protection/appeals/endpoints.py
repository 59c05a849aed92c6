"""Appeals over HTTP, for owners and operators: the queue, one of them, answer, take back, label."""

from msgspec import UNSET, UnsetType

from agentgate.http.call import SiteCall
from agentgate.lib.cursors import Cursors
from agentgate.lib.database import Store
from agentgate.lib.keyring import Keyring
from agentgate.protection.appeals import answering
from agentgate.protection.appeals.records import (
    Appeal,
    AppealAnswerInput,
    AppealDetail,
    AppealLabelInput,
    AppealPage,
    AppealsQuery,
)
from agentgate.protection.appeals.repository import AppealStores
from agentgate.protection.scoring.repository import KeptEvents


async def list_appeals(call: SiteCall, query: AppealsQuery, store: Store[AppealStores], keyring: Keyring) -> AppealPage:
    """List a site's appeals in one state, newest first, with how many there are in each."""
    cursors = Cursors(keyring, call.route, call.site_id, query.state.value)
    before = None
    if not isinstance(query.cursor, UnsetType):
        created_ms, appeal_id = cursors.read(query.cursor)
        before = (int(created_ms), str(appeal_id))
    # One more than asked for tells whether there is a next page.
    found = await store.read.appeals.list_appeals(call.site_id, query.state, before=before, limit=query.limit + 1)
    last = found[query.limit - 1] if len(found) > query.limit else None
    return AppealPage(
        items=[answering.show(each) for each in found[: query.limit]],
        counts=await store.read.appeals.count_appeals(call.site_id),
        next_cursor=UNSET if last is None else cursors.issue((last.created_ms, last.id)),
    )


async def read_appeal(call: SiteCall, store: Store[AppealStores]) -> AppealDetail:
    """Read one appeal, and how many others are like it."""
    return await answering.detail(store.read, call, call.params["appealId"])


async def answer_appeal(call: SiteCall, body: AppealAnswerInput, store: Store[AppealStores]) -> Appeal:
    """Answer an appeal; the person reads it at the link that they have.

    `let_in` makes an entry of the site's lists that lets this visitor in for `hours`.
    """
    return await store.change(lambda stores: answering.answer(stores, call, call.params["appealId"], body))


async def reopen_appeal(call: SiteCall, store: Store[AppealStores]) -> Appeal:
    """Take an answer back: the appeal waits again, and whoever it let in is not let in any more."""
    return await store.change(lambda stores: answering.take_back(stores, call, call.params["appealId"]))


async def label_appeal(
    call: SiteCall, body: AppealLabelInput, store: Store[AppealStores], events: KeptEvents
) -> Appeal:
    """Say what the appealed decision was about: a label of the decision, which models learn from."""
    return await answering.label(store, events, call, call.params["appealId"], body.label)
