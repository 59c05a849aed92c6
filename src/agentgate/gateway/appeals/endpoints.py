"""Appeals over HTTP, for owners and operators: list the queue, read one, resolve, reopen, label."""

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from agentgate.events.decision_ids import write_id
from agentgate.events.labels.endpoints import find_evidence, save_label
from agentgate.events.labels.records import LabelRequest
from agentgate.events.labels.repository import KeptEvents
from agentgate.gateway.appeals.filing import clean
from agentgate.gateway.appeals.records import (
    Appeal,
    AppealAnswerInput,
    AppealDetail,
    AppealLabelInput,
    AppealPage,
    AppealsQuery,
    StoredAppeal,
)
from agentgate.gateway.appeals.repository import AppealStores
from agentgate.http.call import SiteCall
from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.cursors import Cursors
from agentgate.lib.database import Store
from agentgate.lib.enums import (
    ActorKind,
    AppealAnswer,
    AppealState,
    LabelSource,
    ListKind,
    ListOutcome,
)
from agentgate.lib.errors import Refused
from agentgate.lib.keyring import Keyring
from agentgate.lib.moment import Moment
from agentgate.lib.records import optional, to_wire
from agentgate.people.audit.actions import Action
from agentgate.people.audit.trail import Subject, record
from agentgate.sites.lists.endpoints import create_list_entry, remove_entry
from agentgate.sites.lists.records import ListEntryInput

LIKE_DAYS = 30
_STATES = {
    AppealAnswer.LET_IN: AppealState.LET_IN,
    AppealAnswer.REFUSE: AppealState.REFUSED,
    AppealAnswer.SPAM: AppealState.SPAM,
}


def show(appeal: StoredAppeal) -> Appeal:
    """Return an appeal without the secret of its link, which only the appellant has."""
    return to_wire(
        appeal,
        Appeal,
        decision_id=write_id(appeal.decision),
        visitor_id=appeal.visitor,
        reply=appeal.reply or UNSET,
        list_entry_id=optional(appeal.entry_id),
    )


async def list_appeals(call: SiteCall, query: AppealsQuery, store: Store[AppealStores], keyring: Keyring) -> AppealPage:
    """List a site's appeals in one state, newest first, with how many there are in each."""
    cursors = Cursors(keyring, call.route, call.site_id, query.state.value)
    before = None
    if not isinstance(query.cursor, UnsetType):
        created_ms, appeal_id = cursors.read(query.cursor)
        before = (int(created_ms), str(appeal_id))
    # One more than requested, to see whether there is a next page.
    found = await store.read.appeals.list_appeals(call.site_id, query.state, before=before, limit=query.limit + 1)
    last = found[query.limit - 1] if len(found) > query.limit else None
    return AppealPage(
        items=[show(each) for each in found[: query.limit]],
        counts=await store.read.appeals.count_appeals(call.site_id),
        next_cursor=UNSET if last is None else cursors.issue((last.created_ms, last.id)),
    )


async def read_appeal(call: SiteCall, store: Store[AppealStores]) -> AppealDetail:
    """Read one appeal and the number of similar appeals."""
    found = await _find(store.read, call)
    rule, visitor = await store.read.appeals.count_like(found, since_ms=call.now - LIKE_DAYS * DAY_MS)
    return AppealDetail(appeal=show(found), same_rule=rule, same_visitor=visitor)


async def _find(stores: AppealStores, call: SiteCall) -> StoredAppeal:
    found = await stores.appeals.find_appeal(call.site_id, call.params["appealId"])
    if found is None:
        raise Refused("not_found", "The site has no appeal with this ID.")
    return found


async def answer_appeal(call: SiteCall, body: AppealAnswerInput, stores: AppealStores) -> Appeal:
    """Resolve an appeal; the visitor reads the reply at their link.

    `let_in` adds an allowlist entry for this visitor for `hours`.
    """
    await stores.appeals.lock_appeals(call.site_id)
    found = await _find(stores, call)
    if not found.is_open:
        raise Refused(
            "invalid_state", f"{found.answered_by} has already resolved this appeal. Undo that decision first."
        )
    entry_id = await _let_in(stores, call, found, body.hours) if body.answer is AppealAnswer.LET_IN else None
    made = replace(
        found,
        state=_STATES[body.answer],
        answered_ms=int(call.now),
        answered_by=call.actor.name,
        reply=clean(body.reply),
        entry_id=entry_id,
    )
    await stores.appeals.save_answer(made)
    told = {"id": made.id, "answer": body.answer.value, "decisionId": write_id(made.decision)}
    if made.reply:
        told["reply"] = made.reply
    if entry_id is not None:
        told["listEntryId"] = entry_id
    await record(stores, call, Action.APPEAL_ANSWER, _subject(call), told)
    return show(made)


async def reopen_appeal(call: SiteCall, stores: AppealStores) -> Appeal:
    """Reopen an appeal and remove the list entry of its resolution."""
    await stores.appeals.lock_appeals(call.site_id)
    found = await _find(stores, call)
    if found.is_open:
        raise Refused("invalid_state", "This appeal is not resolved yet.")
    if found.entry_id is not None and await stores.lists.find_entry(call.site_id, found.entry_id) is not None:
        await remove_entry(stores, call, found.entry_id)
    made = replace(found, state=AppealState.WAITING, answered_ms=None, answered_by=None, reply="", entry_id=None)
    await stores.appeals.save_answer(made)
    told = {"id": made.id, "answer": found.state.value, "decisionId": write_id(made.decision)}
    await record(stores, call, Action.APPEAL_REOPEN, _subject(call), told)
    return show(made)


async def label_appeal(
    call: SiteCall, body: AppealLabelInput, store: Store[AppealStores], events: KeptEvents
) -> Appeal:
    """Label the appealed decision as training data for models."""
    value = body.label
    decision = (await _find(store.read, call)).decision
    evidence = await find_evidence(store, events, call, decision)
    is_operator = call.actor.kind is ActorKind.OPERATOR
    given = LabelRequest(label=value, source=LabelSource.OPERATOR if is_operator else LabelSource.APPEAL)

    async def keep(stores: AppealStores) -> Appeal:
        await stores.appeals.lock_appeals(call.site_id)
        made = replace(await _find(stores, call), label=value)
        await stores.decision_labels.lock_label(call.site_id, decision)
        before = await stores.decision_labels.find_label(call.site_id, decision)
        # An operator's label is not replaced by an owner's.
        if before is not None and before.source is LabelSource.OPERATOR and not is_operator:
            raise Refused("invalid_state", f"An operator has already labeled this decision as {before.label}.")
        await save_label(stores, call, decision, given, evidence)
        await stores.appeals.save_answer(made)
        told = {"id": made.id, "label": value.value, "decisionId": write_id(made.decision)}
        await record(stores, call, Action.APPEAL_LABEL, _subject(call), told)
        return show(made)

    return await store.change(keep)


async def _let_in(stores: AppealStores, call: SiteCall, appeal: StoredAppeal, hours: int) -> str:
    """Return the ID of the list entry that allows the visitor; it replaces an earlier entry for the same visitor."""
    visitor = appeal.visitor
    for before in await stores.lists.list_entries(call.site_id):
        if before.kind is ListKind.VISITOR and before.value == visitor and not before.is_over(call.now):
            if before.outcome is not ListOutcome.ALLOW:
                raise Refused(
                    "invalid_state",
                    f"The site's blocklist contains this visitor ({before.id}). Delete that entry first.",
                )
            await remove_entry(stores, call, before.id)
    made = ListEntryInput(
        kind=ListKind.VISITOR,
        value=visitor,
        outcome=ListOutcome.ALLOW,
        note=f"Appeal {appeal.id}",
        expires_at=Moment(int(call.now) + hours * HOUR_MS),
    )
    return (await create_list_entry(call, made, stores)).id


def _subject(call: SiteCall) -> Subject:
    return Subject(account_id=call.account_id, site_id=call.site_id, target=call.site_key)
