"""Appeals on the site's own origin, for the people who were refused. Each page works without JavaScript."""

from typing import Any
from urllib.parse import quote

from agentgate.http.call import Call
from agentgate.http.decode import RawBody, form_as_json
from agentgate.http.replies import Reply, Text
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.enums import Outcome
from agentgate.lib.errors import Refused
from agentgate.lib.records import json_decoder
from agentgate.protection.appeals.filing import AppealFiling, Appellant, Filed
from agentgate.protection.challenge_page.appeal_view import ADDRESS, TRAP
from agentgate.protection.challenge_page.challenge import ChallengePages, first
from agentgate.protection.challenge_page.endpoints import UNAVAILABLE
from agentgate.protection.challenge_page.proxied_call import Asker, ProxiedCall
from agentgate.protection.challenge_page.return_url import within
from agentgate.protection.gateway.answers import Ruling

_FIELDS = json_decoder(dict[str, str])
# A link's secret is shorter; what is longer is none.
LONGEST_LINK = 64
# Why an appeal was not taken -> title and sentence.
_WORDS: dict[str, tuple[str, str | None]] = {
    "unknown": ("appeal_failed", "appeal_again"),
    "too_many": ("appeal_failed", "appeal_many"),
    "twice": ("appeal_sent", None),
}


async def file_appeal(
    call: Call, body: RawBody, asker: Asker, pages: ChallengePages, filing: AppealFiling
) -> Reply[Any]:
    """Take what a refused person says, from the form of the refusal's page: `ticket`, `text`.

    The answer leads to the page that says what becomes of it.
    """
    proxied = await asker.read(call)
    if not isinstance(proxied, ProxiedCall):
        return pages.deny(Ruling(Outcome.BLOCK, proxied[0], hint=proxied[1]), None)
    sent_by = call.request.header("origin")
    fields = _read(body)
    # A browser without fetch metadata may say nothing; the ticket is this visitor's in any case.
    if fields is None or sent_by not in {None, proxied.original.origin}:
        return pages.deny(Ruling(Outcome.BLOCK, "invalid_request", hint="Send the form of the page itself."), None)
    text = fields.get("text", "")
    ticket = pages.tickets.open(proxied, fields.get("ticket", ""))
    if ticket is None:
        return pages.answer_appeal(proxied, ("appeal_failed", "appeal_again"), None)
    who = Appellant(proxied.site.id, proxied.site.number, proxied.visitor)
    try:
        filed = await filing.file(who, ticket.decision, text, trapped=bool(fields.get(TRAP)), now_ms=int(call.now))
    except StoreUnavailable:
        return pages.deny(UNAVAILABLE, None)
    if not isinstance(filed, Filed):
        retry = (ticket, text) if filed.why == "unknown" else None
        return pages.answer_appeal(proxied, _WORDS[filed.why], retry)
    target = ticket.return_url.removeprefix(proxied.original.origin)
    return Reply(body=None, status=303, headers=(("location", f"{ADDRESS}?a={filed.link}&return={quote(target)}"),))


async def show_appeal(call: Call, asker: Asker, pages: ChallengePages, filing: AppealFiling) -> Reply[Text]:
    """Show what became of an appeal, to whoever has its link."""
    proxied = await asker.read(call)
    if not isinstance(proxied, ProxiedCall):
        return pages.deny(Ruling(Outcome.BLOCK, proxied[0], hint=proxied[1]), None)
    link = first(call.request, "a") or ""
    origin = proxied.original.origin
    return_url = within(origin, first(call.request, "return")) or f"{origin}/"
    try:
        appeal = await filing.find(proxied.site.id, link) if 0 < len(link) <= LONGEST_LINK else None
    except StoreUnavailable:
        return pages.deny(UNAVAILABLE, None)
    if appeal is None:
        return pages.answer_appeal(proxied, ("blocked_title", None), None)
    return pages.show_appeal(proxied, appeal, return_url)


def _read(body: RawBody) -> dict[str, str] | None:
    if body.content is None:
        return None
    try:
        fields: dict[str, str] = _FIELDS.decode(
            form_as_json(body.content, body.content_type, malformed="invalid_request")
        )
    except (Refused, ValueError):
        return None
    return fields
