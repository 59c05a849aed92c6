"""The notices that a member chooses, over HTTP. API tokens have no mailbox."""

from dataclasses import dataclass

from agentgate.gateway.notices.records import NoticeChoice, NoticeInput, NoticeKind
from agentgate.gateway.notices.repository import NoticeStores
from agentgate.lib.database import Store
from agentgate.lib.errors import Refused
from agentgate.people.accounts.guards import MemberCall
from agentgate.people.audit.actions import Action
from agentgate.people.audit.trail import Subject, record


@dataclass(frozen=True)
class MailSetup:
    """Whether there is a mail server."""

    is_ready: bool


async def read_notices(call: MemberCall, store: Store[NoticeStores], setup: MailSetup) -> NoticeChoice:
    """Read which notices about the account's sites the caller gets by mail; an API token gets none."""
    kinds = await store.read.notices.find_kinds(call.account.id, call.user_id or "")
    return NoticeChoice(kinds=_ordered(kinds), mail=setup.is_ready)


async def replace_notices(call: MemberCall, body: NoticeInput, stores: NoticeStores, setup: MailSetup) -> NoticeChoice:
    """Choose which notices the caller gets by mail. The choice applies to the active account only."""
    user_id = call.user_id
    if user_id is None:
        raise Refused("forbidden", "Notices are sent to members. An API token has no mailbox.")
    await stores.notices.lock_notices(call.account.id)
    before = await stores.notices.find_kinds(call.account.id, user_id)
    after = frozenset(body.kinds)
    if after != before:
        await stores.notices.save_kinds(call.account.id, user_id, after, call.now)
        subject = Subject(account_id=call.account.id, target=call.actor.name)
        await record(stores, call, Action.MEMBER_NOTICES, subject, {"kinds": _ordered(after)})
    return NoticeChoice(kinds=_ordered(after), mail=setup.is_ready)


def _ordered(kinds: frozenset[NoticeKind]) -> list[NoticeKind]:
    return [kind for kind in NoticeKind if kind in kinds]
