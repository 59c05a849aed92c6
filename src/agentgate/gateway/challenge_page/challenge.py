"""The hosted challenge page, shown under the site's own address instead of the requested page.

Pages are for navigations. Everything else gets the gateway's small JSON, with the status of the decision.
"""

from functools import lru_cache
from typing import Any
from urllib.parse import unquote_plus

from msgspec import Struct
from msgspec.structs import replace

from agentgate.decision.engine import Ruling
from agentgate.events.decision_ids import read_id, write_id
from agentgate.gateway.appeals.records import StoredAppeal
from agentgate.gateway.challenge_page.challenge_pass import WAIT_MS, AppealTicket, AppealTickets, Passes
from agentgate.gateway.challenge_page.languages import Languages
from agentgate.gateway.challenge_page.page import (
    ChallengePage,
    ChallengeView,
    PageCheck,
    RenderedChallengePage,
    appeal_form,
    appeal_state,
)
from agentgate.gateway.challenge_page.proxied_call import ProxiedCall, back_of, deny, is_own, return_of
from agentgate.gateway.challenge_page.sealed_token import read_form
from agentgate.gateway.header_layout import HeaderLayout
from agentgate.gateway.receipts import TOKEN_HEADER, Receipts
from agentgate.gateway.request.original_request import Original
from agentgate.gateway.route_protection import MethodClaims, Protection, protections_of, strongest
from agentgate.http.decode import RawBody
from agentgate.http.replies import Reply, Text
from agentgate.http.request import Request
from agentgate.lib import errors
from agentgate.lib.enums import Outcome
from agentgate.lib.markup import Markup, element, joined
from agentgate.sites.directory import SiteView

HTML = "text/html; charset=utf-8"
REDIRECT_SLACK_S = 1
# Browsers send a few dozen. A visitor chooses the names, of up to 40 KB.
_LAYOUTS = 128
_OUTCOMES = {"challenge": Outcome.CHALLENGE, "block": Outcome.BLOCK}
# Reasons with a specific text.
_TEXTS = {"rate_limited": "rate_text", "service_unavailable": "unavailable_text"}
_WAITS_S = {"rate_limited": 60, "service_unavailable": 5}


class StatedDecision(Struct, frozen=True):
    """The decision of the gateway check, as the adapter states it."""

    ruling: Ruling
    decision: str
    decision_id: str | None
    # Whether the caller adds status and headers.
    is_final: bool = False


class PageContext(Struct, frozen=True):
    """Inputs of a page: the decision, the route's protection, and the state of the visitor's clearance."""

    told: StatedDecision
    protection: Protection
    # States of the visitor's clearance, such as `clearance` or `wrong_visitor`.
    states: tuple[str, ...]
    return_url: str


class ChallengePages:
    """Makes pages and denials."""

    def __init__(self, receipts: Receipts, passes: Passes, tickets: AppealTickets) -> None:
        self.tickets = tickets
        self._receipts = receipts
        self._passes = passes
        self._languages = Languages()
        self._page = ChallengePage()

    async def answer(
        self, proxied: ProxiedCall, body: RawBody | None, told: StatedDecision | None = None
    ) -> Reply[Text]:
        """Return the page for a navigation, the denial for everything else. A final response is for a navigation."""
        told = told or told_by(proxied.call.request)
        if not told.is_final and not proxied.is_navigation:
            return deny(told.ruling, told.decision_id)
        found = self._find(proxied, told)
        view, reason = self._view(proxied, found), told.ruling.reason
        action = action_of(proxied.site, found.protection)
        if reason not in _TEXTS and told.decision_id is not None:
            view = replace(view, appeal=self.tickets.give(proxied, told.decision_id, found.return_url))
        if told.decision == "block":
            view = replace(view, text=_TEXTS.get(reason, view.text), retry=reason in _TEXTS)
        elif action is None:
            view = replace(view, text="form_text", owners_hint=True)
        elif "clearance" in found.states and "clearance_low" not in found.states:
            # The visitor passed already and is challenged again: another check would not help.
            view = replace(view, retry=True)
        else:
            view = replace(view, check=await self._check(proxied, found, action, body))
        return self._show(view, told)

    async def answer_late(self, proxied: ProxiedCall, reason: str) -> Reply[Text]:
        """Return the page for an invalid ticket."""
        if reason == "rate_limited":
            told = StatedDecision(Ruling(Outcome.BLOCK, reason), "block", None)
        else:
            told = StatedDecision(Ruling(Outcome.CHALLENGE, reason), "challenge", None)
        if not proxied.is_navigation:
            return deny(told.ruling)
        found = self._find(proxied, told)
        view = self._view(proxied, found)
        if told.decision == "block":
            return self._show(replace(view, text=_TEXTS[reason]), told)
        action = action_of(proxied.site, found.protection)
        check = None if action is None else PageCheck(site_key=proxied.site.site_key, action=action, stuck=True)
        return self._show(replace(view, check=check), told)

    def show_appeal(self, proxied: ProxiedCall, appeal: StoredAppeal, return_url: str) -> Reply[Text]:
        language = self._languages.choose(proxied.call.request.header("accept-language"))
        title, content = appeal_state(language, appeal, return_url)
        return self._say(proxied, title, content, None)

    def answer_appeal(
        self, proxied: ProxiedCall, words: tuple[str, str | None], retry: tuple[AppealTicket, str] | None
    ) -> Reply[Text]:
        """Return the page that explains why an appeal was not accepted, with a form if it can be sent again."""
        language = self._languages.choose(proxied.call.request.header("accept-language"))
        title, text = words
        form = None
        if retry is not None:
            opened, written = retry
            ticket = self.tickets.give(proxied, write_id(opened.decision), opened.return_url, wait_ms=0)
            form = None if ticket is None else appeal_form(language, ticket, written, is_open=True)
        said = None if text is None else element("p", language.words[text])
        content = joined((element("h1", language.words[title]), said, form))
        return self._say(proxied, language.words[title], content, Ruling(Outcome.BLOCK, "invalid_request"))

    def _say(self, proxied: ProxiedCall, title: str, content: Markup, ruling: Ruling | None) -> Reply[Text]:
        language = self._languages.choose(proxied.call.request.header("accept-language"))
        rendered = self._page.render_text(language, proxied.site.name, title, content)
        denial = None if ruling is None else deny(ruling)
        # The address contains the secret of the link.
        return _reply(rendered, denial, referrer="no-referrer", vary="Accept-Language")

    def _find(self, proxied: ProxiedCall, told: StatedDecision) -> PageContext:
        original, fields = proxied.original, proxied.headers
        claims = _layout_of(tuple(fields)).claims(original.method, tuple(fields.values()))
        url = return_of(original, first(proxied.call.request.query_string, "return"))
        if is_own(original.path):
            # The page was opened directly; its return address counts.
            target = url.removeprefix(original.origin)
            original = Original("GET", original.origin, target, target.partition("?")[0], original.address)
            claims = MethodClaims("GET")
        found = protections_of(proxied.site, claims, original.target.encode("latin-1"))
        protection = strongest(found)
        headers = {name: value for name, value in proxied.headers.items() if name != TOKEN_HEADER}
        shown = self._receipts.inspect(headers, original, protection, site=proxied.site, now_ms=proxied.call.now)
        return PageContext(told, protection, shown.states, url)

    async def _check(self, proxied: ProxiedCall, found: PageContext, action: str, body: RawBody | None) -> PageCheck:
        request, original = proxied.call.request, proxied.original
        form = None
        posted = original.method not in {"GET", "HEAD"}
        # A form of another site is never repeated: from here it would look like one of this site's own.
        if posted and body is not None and proxied.is_same_origin:
            form = read_form(body, found.return_url)
        stuck = await self._is_stuck(proxied, found)
        waits = proxied.site.clearance_without_script and not (found.protection.required or stuck)
        # After waiting, visitors return to the form and send it again by hand.
        url = back_of(original, request.header("referer")) if posted else found.return_url
        ticket = self._passes.waits.begin(proxied, url) if waits and "clearance" not in found.states else None
        return PageCheck(
            site_key=proxied.site.site_key,
            action=action,
            framed=proxied.framed,
            saved_form=None
            if form is None
            else self._passes.saved_forms.close(form, proxied.holder, now_ms=proxied.call.now),
            resend=posted and form is None,
            stuck=stuck,
            ticket=ticket,
            refresh_s=WAIT_MS // 1000 + REDIRECT_SLACK_S,
        )

    async def _is_stuck(self, proxied: ProxiedCall, found: PageContext) -> bool:
        """Return whether a pass a moment ago has set no cookie. Navigations from elsewhere are not our page's."""
        if not may_look_up(proxied.call.request):
            return False
        return await self._passes.was_here_lately(proxied, found.return_url)

    def _view(self, proxied: ProxiedCall, found: PageContext) -> ChallengeView:
        """Return the content that all pages share; without additions, it is a denial page."""
        request = proxied.call.request
        is_read = proxied.original.method in {"GET", "HEAD"}
        return ChallengeView(
            language=self._languages.choose(request.header("accept-language")),
            site_name=proxied.site.name,
            decision_id=found.told.decision_id,
            return_url=found.return_url,
            back_url=found.return_url if is_read else back_of(proxied.original, request.header("referer")),
        )

    def _show(self, view: ChallengeView, told: StatedDecision) -> Reply[Text]:
        wait_s = _WAITS_S.get(told.ruling.reason)
        cookie = view.check.ticket.set_cookie if view.check is not None and view.check.ticket is not None else None
        return _reply(
            self._page.render(view),
            None if told.is_final else deny(told.ruling, told.decision_id),
            *((("retry-after", str(wait_s)),) if wait_s is not None else ()),
            *((cookie,) if cookie is not None else ()),
            # Requests of the SDK to the same origin must have a referrer, also without a secure context.
            referrer="same-origin",
            vary="Accept-Language, Sec-Fetch-Mode, Sec-Fetch-Dest, Accept, Cookie",
        )


@lru_cache(maxsize=_LAYOUTS)
def _layout_of(names: tuple[bytes, ...]) -> HeaderLayout:
    return HeaderLayout(names)


def _reply(
    rendered: RenderedChallengePage, denial: Reply[Any] | None, *more: tuple[str, str], referrer: str, vary: str
) -> Reply[Text]:
    """Return a page with the status and the headers of the denial that it stands for."""
    kept = () if denial is None else denial.headers
    headers = (
        *(each for each in kept if each[0] not in {"cache-control", "retry-after"}),
        ("cache-control", "no-store"),
        ("content-security-policy", rendered.policy),
        ("referrer-policy", referrer),
        ("x-robots-tag", "noindex"),
        ("vary", vary),
        *more,
    )
    return Reply(body=Text(rendered.html, HTML), status=200 if denial is None else denial.status, headers=headers)


def told_by(request: Request) -> StatedDecision:
    """Return the decision in the query if the gateway can have made it; a plain challenge otherwise."""
    query = request.query_string
    reason = first(query, "reason")
    row = errors.GATEWAY.rows.get(reason or "")
    decisions = [] if row is None else [each.decision for each in row.answers if each.decision != "allow"]
    if row is None or not decisions:
        reason, decisions = "receipt_required", ["challenge"]
    asked = first(query, "decision")
    decision = next((each for each in decisions if each == asked), decisions[0])
    decision_id = first(query, "decisionId")
    known = decision_id if decision_id is not None and read_id(decision_id) is not None else None
    return StatedDecision(Ruling(_OUTCOMES[decision], reason or ""), decision, known)


def may_look_up(request: Request) -> bool:
    """Return whether a page for this request may have to look up an earlier pass in the shared cache."""
    return request.header("sec-fetch-site") in {None, "same-origin"}


def first(query: bytes, name: str) -> str | None:
    """Return a parameter of the query. The first counts: the proxy's come before the visitor's."""
    wanted = name.encode() + b"="
    for pair in query.split(b"&"):
        if pair.startswith(wanted):
            return unquote_plus(pair[len(wanted) :].decode("latin-1"), errors="replace")
    return None


def action_of(site: SiteView, protection: Protection) -> str | None:
    """Return the action whose check gives the clearance that the request needs; None if no clearance suffices."""
    if protection.required and not protection.clearance:
        return None
    if protection.action is not None and _gives_clearance(site, protection.action):
        return protection.action
    giving = [name for name in site.actions if _gives_clearance(site, name)]
    return next((name for name in giving if site.actions[name].browser_required), giving[0] if giving else None)


def _gives_clearance(site: SiteView, action: str) -> bool:
    return action in site.actions and site.actions[action].clearance is True
