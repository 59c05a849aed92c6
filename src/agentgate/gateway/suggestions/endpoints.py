"""Suggestions over HTTP, for owners and operators: the list, accept one, take it back."""

from functools import partial

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from agentgate.gateway.suggestions.masking import is_masked, mask_path
from agentgate.gateway.suggestions.records import (
    KEPT_DAYS,
    AcceptSuggestionInput,
    SeenGroup,
    StoredSuggestion,
    Suggestion,
    SuggestionList,
)
from agentgate.gateway.suggestions.repository import SuggestionStores
from agentgate.http.call import SiteCall
from agentgate.lib.clock import DAY_MS, HOUR_MS, Clock
from agentgate.lib.database import Store
from agentgate.lib.errors import Refused
from agentgate.lib.records import optional, to_builtins, to_wire
from agentgate.lib.tasks.job import Job
from agentgate.people.audit.actions import Action
from agentgate.people.audit.trail import Subject, record
from agentgate.sites import editing
from agentgate.sites.open_paths import NAME, NAME_PER_MINUTE, PROGRAMS
from agentgate.sites.records import Site, SiteChange, SiteOpenPath
from agentgate.sites.request_methods import methods_of
from agentgate.sites.route_table import RouteTable
from agentgate.sites.rules.backtest import ANYTHING

FORGET_EVERY_MS = HOUR_MS


async def list_suggestions(call: SiteCall, store: Store[SuggestionStores]) -> SuggestionList:
    """List groups of client requests that enforce mode blocks or would block: at most 100 groups of the last 7 days.

    Each has the allowed path that would allow exactly these requests.
    """
    site = await store.read.sites.get_site(call.site_key, account_id=call.actor.account_id)
    found = await store.read.suggestions.list_suggestions(call.site_id)
    items = [_show(each, site, now_ms=call.now) for each in found if site.suggestions or each.accepted_ms is not None]
    return SuggestionList(enabled=site.suggestions, items=items)


async def accept_suggestion(call: SiteCall, body: AcceptSuggestionInput, stores: SuggestionStores) -> Suggestion:
    """Open the path of a suggestion to its sender, and to no other.

    A proven sender is bound by its published networks. Of all others, only a name or a header is known: they share
    20 requests a minute, and no route that names the path is open to them.
    """
    site = await _lock(stores, call)
    first = await _find(stores, call, call.params["suggestionId"])
    found = [first, *[await _find(stores, call, each) for each in dict.fromkeys(body.also) if each != first.id]]
    if any(each.evidence != first.evidence for each in found):
        raise Refused("invalid_state", "also may contain only suggestions with the same evidence of the sender.")
    made = [_accept(each, body if each is first else AcceptSuggestionInput(note=body.note), site) for each in found]
    entries = [each.opened for each in made if each.opened is not None]
    await editing.change_site(stores, call, SiteChange(open_paths=[*site.open_paths, *entries]))
    for each in made:
        accepted = replace(each, accepted_ms=int(call.now), accepted_by=call.actor.name)
        await stores.suggestions.save_answer(accepted)
        told = {"id": each.id, **to_builtins(each.opened)}
        await record(stores, call, Action.SUGGESTION_ACCEPT, _subject(call), told)
    return _show(await _find(stores, call, first.id), site, now_ms=call.now)


async def withdraw_suggestion(call: SiteCall, stores: SuggestionStores) -> Suggestion:
    """Close the path that accepting a suggestion opened; the suggestion is open again."""
    site = await _lock(stores, call)
    found = await _find(stores, call, call.params["suggestionId"])
    if found.opened is None:
        raise Refused("invalid_state", "This suggestion is not accepted.")
    left = list(site.open_paths)
    if found.opened in left:
        left.remove(found.opened)
    await editing.change_site(stores, call, SiteChange(open_paths=left))
    made = replace(found, accepted_ms=None, accepted_by=None, opened=None)
    await stores.suggestions.save_answer(made)
    told = {"id": made.id, **to_builtins(found.opened)}
    await record(stores, call, Action.SUGGESTION_WITHDRAW, _subject(call), told)
    return _show(made, replace(site, open_paths=left), now_ms=call.now)


_MASKED = "The path is masked. To accept the suggestion, give the exact path."
_NAMED_ROUTE = (
    "A route of the site names this path, and nothing proves the sender. To allow it, add an allowed path with the "
    "sender's network."
)


async def _lock(stores: SuggestionStores, call: SiteCall) -> Site:
    # In this order, as for every change of a site.
    await stores.accounts.lock_account(call.account_id)
    site = await editing.locked_site(stores, call)
    await stores.suggestions.lock_suggestions(call.site_id)
    return site


async def _find(stores: SuggestionStores, call: SiteCall, suggestion_id: str) -> StoredSuggestion:
    found = await stores.suggestions.find_suggestion(call.site_id, suggestion_id)
    if found is None:
        raise Refused("not_found", "The site has no such suggestion.")
    return found


def _accept(found: StoredSuggestion, body: AcceptSuggestionInput, site: Site) -> StoredSuggestion:
    """Return the accepted suggestion with the paths that it allows, or raise an error."""
    if found.accepted_ms is not None:
        raise Refused("invalid_state", f"{found.accepted_by} has accepted the suggestion {found.id} already.")
    entry = replace(_opening(found, _exact_path(found, body)), note=body.note or f"Suggestion {found.id}")
    if not found.proven and _has_named_route(site, entry):
        raise Refused("invalid_state", _NAMED_ROUTE)
    return replace(found, opened=entry)


def _exact_path(found: StoredSuggestion, body: AcceptSuggestionInput) -> str:
    if isinstance(body.path, UnsetType):
        if is_masked(found.path):
            raise Refused("invalid_state", _MASKED)
        return found.path
    if mask_path(body.path) != found.path:
        raise Refused("invalid_state", f"path must be one that {found.path} stands for.")
    return body.path


def _opening(found: StoredSuggestion, path: str) -> SiteOpenPath:
    """Return the allowed path that allows the requests of a suggestion, and no others."""
    if found.proven:
        return SiteOpenPath(path=path, sender=found.sender, method=found.method)
    sender = found.sender or (NAME + found.program if found.program else PROGRAMS)
    return SiteOpenPath(path=path, sender=sender, method=found.method, per_minute=NAME_PER_MINUTE)


def _has_named_route(site: Site, entry: SiteOpenPath) -> bool:
    target = entry.path.encode()
    method = found if isinstance(found := entry.method, str) else ""
    methods = methods_of(method, target, overrides=(), has_fields=True, form_override=site.form_method_override)
    return any(each.route not in ANYTHING for each in RouteTable(site.routes).matches(methods, target))


def _show(found: StoredSuggestion, site: Site, *, now_ms: int) -> Suggestion:
    problem: str | UnsetType = UNSET
    opens = found.opened
    if opens is None and is_masked(found.path):
        problem = _MASKED
    elif opens is None:
        opens = _opening(found, found.path)
        if not found.proven and _has_named_route(site, opens):
            problem, opens = _NAMED_ROUTE, None
    days = max(1.0, (now_ms - found.first_ms) / DAY_MS)
    return to_wire(
        found,
        Suggestion,
        networks=len(found.networks),
        per_day=round(found.requests / days),
        program=found.program or UNSET,
        sender=found.sender or UNSET,
        owner=found.owner or UNSET,
        opens=optional(opens),
        problem=problem,
    )


def _subject(call: SiteCall) -> Subject:
    return Subject(account_id=call.account_id, site_id=call.site_id, target=call.site_key)


def suggestion_jobs(store: Store[SuggestionStores], clock: Clock) -> tuple[Job, ...]:
    return (
        Job(name="forget-suggestions", interval_ms=FORGET_EVERY_MS, work=partial(delete_suggestions, store, clock)),
    )


async def delete_suggestions(store: Store[SuggestionStores], clock: Clock) -> None:
    """Delete suggestions that are older than the days they are kept."""
    before_ms = clock.now_ms() - KEPT_DAYS * DAY_MS
    await store.change(lambda stores: stores.suggestions.delete_suggestions(before_ms))


async def save_seen(store: Store[SuggestionStores], seen: list[SeenGroup]) -> None:
    """Save what a worker collected."""
    await store.change(lambda stores: stores.suggestions.add_seen(seen))
