"""The challenge page over HTTP: the page, its passes, saved forms, and appeals.

All of it is on the site's own origin, and each page works without JavaScript.
"""

from collections.abc import Awaitable, Callable
from functools import wraps
from ipaddress import ip_address
from typing import Any
from urllib.parse import quote

import msgspec

from agentgate.decision.engine import Ruling
from agentgate.gateway.appeals.filing import AppealFiling, Appellant, Filed
from agentgate.gateway.challenge_page.challenge import ChallengePages, first
from agentgate.gateway.challenge_page.challenge_pass import Passes, PassInput, cookie_of
from agentgate.gateway.challenge_page.final_response import DeniedResponses
from agentgate.gateway.challenge_page.page import ADDRESS, TRAP
from agentgate.gateway.challenge_page.proxied_call import (
    Denied,
    ProxiedCall,
    ProxiedCallReader,
    deny,
    is_own,
    within,
)
from agentgate.gateway.endpoints import reply_of
from agentgate.gateway.request.described_request import BY_LINE
from agentgate.http.call import Call
from agentgate.http.decode import RawBody
from agentgate.http.forms import form_as_json
from agentgate.http.replies import Reply, Text, set_cookie
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.enums import Outcome
from agentgate.lib.errors import Refused
from agentgate.lib.ids import write_visitor
from agentgate.lib.records import UNREADABLE, Input, Record, S, json_decoder

FRAMES = frozenset({"same", "cross"})
UNAVAILABLE = Ruling(Outcome.BLOCK, "service_unavailable")
# Shows whether cookies pass the proxies in both directions. Means nothing elsewhere.
SEEN_COOKIE = "ag_seen"


class ReturnTo(Record, frozen=True, kw_only=True):
    """The next address for the visitor."""

    return_: str = msgspec.field(name="return")


class SeenRequest(Record, frozen=True, kw_only=True):
    """The caller's own request, as described by the adapter. It contains nothing beyond the caller's token."""

    origin: str
    # The pseudonym of the address at this site. When all have the same, the adapter sends one address for all.
    visitor: str
    # `public`, `private` or `loopback`.
    network: str
    # The service's clock.
    time_ms: int
    # The site that the secret belongs to, and whether it lists the origin.
    site_key: str
    lists_origin: bool
    # Whether the request had the cookie of an earlier response.
    has_cookie: bool


class ReplayInput(Input, frozen=True, kw_only=True):
    """A form that the page has carried."""

    capsule: str


class Replay(Record, frozen=True, kw_only=True):
    """A form to send: address, method, and the name and value of each field, in order."""

    url: str
    enctype: str
    fields: list[list[str]]


def _denies(handler: Callable[..., Awaitable[Reply[Any]]]) -> Callable[..., Awaitable[Reply[Any]]]:
    """Make a handler respond to its exceptions like the gateway check: with a denial, or as unavailable."""

    @wraps(handler)
    async def answer(call: Call, **given: Any) -> Reply[Any]:
        try:
            return await handler(call, **given)
        except Denied as denied:
            return deny(denied.ruling)
        except StoreUnavailable:
            return deny(UNAVAILABLE)

    return answer


@_denies
async def show_challenge(call: Call, calls: ProxiedCallReader, pages: ChallengePages) -> Reply[Text]:
    """Show the challenge page.

    An adapter requests it with the headers of the gateway check after the check denied a navigation. The query contains
    the decision: `reason`, `decision`, `decisionId`. Other requests get the denial; with `seen=1` under the page's own
    path, they get the adapter's description of the request.
    """
    proxied = await calls.read(call)
    if first(call.request.query_string, "seen") is None or proxied.is_navigation or not is_own(proxied.original.path):
        return await pages.answer(proxied, None)
    return _tell_seen(proxied)


@_denies
async def show_challenge_to_form(
    call: Call, body: RawBody, calls: ProxiedCallReader, pages: ChallengePages
) -> Reply[Text]:
    """Show the challenge page for a request with a body.

    A form of up to 64 KiB without files, sent by a page of the site itself, is repeated after the check.
    """
    return await pages.answer(await calls.read(call), body)


@_denies
async def answer_denied(call: Call, calls: ProxiedCallReader, denied: DeniedResponses) -> Reply[Text]:
    """Return the final response to a request that the check denied, by the seal `d` of `X-Service-Denial`.

    The response is a page or JSON with the status and headers of the denial. A missing seal means that the check
    failed.
    """
    proxied = await calls.read(call, BY_LINE)
    return reply_of(await denied.answer(proxied, first(call.request.query_string, "d"), None))


@_denies
async def answer_denied_form(
    call: Call, body: RawBody, calls: ProxiedCallReader, denied: DeniedResponses
) -> Reply[Text]:
    """Return the final response to a denied request with a body, by the seal `d` of `X-Service-Denial`.

    A form of up to 64 KiB without files, sent by a page of the site itself, is repeated after the challenge.
    """
    proxied = await calls.read(call, BY_LINE)
    return reply_of(await denied.answer(proxied, first(call.request.query_string, "d"), body.content))


@_denies
async def pass_challenge(call: Call, body: RawBody, calls: ProxiedCallReader, passes: Passes) -> Reply[ReturnTo]:
    """Redeem a token for a clearance cookie: `{token, return?, framed?}`.

    The token is redeemed. Scripts cannot read the clearance cookie.
    """
    proxied = await calls.read(call, same_origin=True)
    sent = _decode(body, PassInput, "The body must be JSON with the field token.")
    origin = proxied.original.origin
    url = within(origin, sent.return_ if isinstance(sent.return_, str) else None) or f"{origin}/"
    framed = sent.framed if isinstance(sent.framed, str) and sent.framed in FRAMES else ""
    passed = await passes.redeem(proxied, sent.token, url, framed=framed)
    if isinstance(passed, str):
        raise Denied(passed, outcome=Outcome.CHALLENGE)
    return Reply(body=ReturnTo(return_=passed.url), headers=(cookie_of(passed, proxied),))


@_denies
async def pass_by_waiting(call: Call, calls: ProxiedCallReader, passes: Passes, pages: ChallengePages) -> Reply[Any]:
    """Issue a low-trust clearance cookie to a client without JavaScript after a delay, for a `ticket` and its
    cookie."""
    proxied = await calls.read(call)
    passed = await passes.wait_is_over(proxied, first(call.request.query_string, "ticket") or "")
    if isinstance(passed, str):
        return await pages.answer_late(proxied, passed)
    return Reply(body=None, status=303, headers=(("location", passed.url), cookie_of(passed, proxied)))


@_denies
async def replay_form(call: Call, body: RawBody, calls: ProxiedCallReader, passes: Passes) -> Reply[Replay]:
    """Return a stored form to its page: `{capsule}`. Works once."""
    proxied = await calls.read(call, same_origin=True)
    sent = _decode(body, ReplayInput, "The body must be JSON with the field capsule.")
    form = await passes.saved_forms.take(sent.capsule, proxied.holder, now_ms=call.now)
    if form is None:
        raise Denied("invalid_request", "The form was already sent or is too old. Fill it in and send it again.")
    return Reply(body=Replay(url=form.url, enctype=form.enctype, fields=[list(pair) for pair in form.fields]))


def _decode(body: RawBody, kind: type[S], hint: str) -> S:
    try:
        sent: S = json_decoder(kind).decode(body.content or b"")
    except UNREADABLE:
        raise Denied("invalid_request", hint) from None
    return sent


def _tell_seen(proxied: ProxiedCall) -> Reply[Text]:
    """Tell the asker how its request was described."""
    seen = SeenRequest(
        origin=proxied.original.origin,
        visitor=write_visitor(proxied.visitor),
        network=_network_of(proxied.original.address),
        time_ms=int(proxied.call.now),
        site_key=proxied.site.site_key,
        lists_origin=proxied.original.origin in proxied.site.origins,
        has_cookie=proxied.call.request.cookie(SEEN_COOKIE) is not None,
    )
    cookie = set_cookie(SEEN_COOKIE, "1", path="/.agentgate/", same_site="Strict", secure=False, max_age_s=60)
    return Reply(body=Text(msgspec.json.encode(seen), "application/json"), status=200, headers=(cookie,))


def _network_of(address: str) -> str:
    try:
        found = ip_address(address)
    except ValueError:
        return "public"
    if found.is_loopback:
        return "loopback"
    return "public" if found.is_global else "private"


_FIELDS = json_decoder(dict[str, str])
# Longer than the secret of any link.
LONGEST_LINK = 64
# Why an appeal was not taken -> title and sentence.
_WORDS: dict[str, tuple[str, str | None]] = {
    "unknown": ("appeal_failed", "appeal_again"),
    "too_many": ("appeal_failed", "appeal_many"),
    "twice": ("appeal_sent", None),
}


@_denies
async def file_appeal(
    call: Call, body: RawBody, calls: ProxiedCallReader, pages: ChallengePages, filing: AppealFiling
) -> Reply[Any]:
    """File an appeal from the form of the block page: `ticket`, `text`.

    The response redirects to the page with the status of the appeal.
    """
    proxied = await calls.read(call)
    sent_by = call.request.header("origin")
    fields = _read_fields(body)
    # Without fetch metadata the origin is unknown; the ticket is bound to this visitor in any case.
    if fields is None or sent_by not in {None, proxied.original.origin}:
        raise Denied("invalid_request", "Send the form of the challenge page.")
    text = fields.get("text", "")
    ticket = pages.tickets.open(proxied, fields.get("ticket", ""))
    if ticket is None:
        return pages.answer_appeal(proxied, ("appeal_failed", "appeal_again"), None)
    who = Appellant(proxied.site.id, proxied.site.number, proxied.visitor)
    filed = await filing.file(who, ticket.decision, text, trapped=bool(fields.get(TRAP)), now_ms=int(call.now))
    if not isinstance(filed, Filed):
        retry = (ticket, text) if filed.why == "unknown" else None
        return pages.answer_appeal(proxied, _WORDS[filed.why], retry)
    target = ticket.return_url.removeprefix(proxied.original.origin)
    return Reply(body=None, status=303, headers=(("location", f"{ADDRESS}?a={filed.link}&return={quote(target)}"),))


@_denies
async def show_appeal(call: Call, calls: ProxiedCallReader, pages: ChallengePages, filing: AppealFiling) -> Reply[Text]:
    """Show the state of an appeal to the holder of its link."""
    proxied = await calls.read(call)
    link = first(call.request.query_string, "a") or ""
    origin = proxied.original.origin
    return_url = within(origin, first(call.request.query_string, "return")) or f"{origin}/"
    appeal = await filing.find(proxied.site.id, link) if 0 < len(link) <= LONGEST_LINK else None
    if appeal is None:
        return pages.answer_appeal(proxied, ("blocked_title", None), None)
    return pages.show_appeal(proxied, appeal, return_url)


def _read_fields(body: RawBody) -> dict[str, str] | None:
    if body.content is None:
        return None
    try:
        fields: dict[str, str] = _FIELDS.decode(
            form_as_json(body.content, body.content_type, malformed="invalid_request")
        )
    except (Refused, ValueError):
        return None
    return fields
