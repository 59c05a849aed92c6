"""The challenge page as HTML: one template for the check, for obstacles to it, and for denials.

Outside input is escaped text. The page loads only from the site's own origin.
"""

import re
import secrets
from functools import cached_property
from html import escape
from importlib.resources import files

from msgspec import Struct
from msgspec.structs import replace

from agentgate.gateway.appeals.records import StoredAppeal
from agentgate.gateway.challenge_page.challenge_pass import WaitTicket
from agentgate.gateway.challenge_page.languages import Language
from agentgate.lib.bounded_cache import BoundedCache
from agentgate.lib.enums import AppealState
from agentgate.lib.limits import APPEAL_CHARACTERS
from agentgate.lib.markup import Markup, element, joined
from agentgate.lib.records import to_json

ADDRESS = "/.agentgate/v1/gateway/appeal"
# A hidden field with a name that programs like to fill in.
TRAP = "website"
_TITLES = {AppealState.LET_IN: "appeal_let_in", AppealState.REFUSED: "appeal_refused"}


def appeal_form(language: Language, ticket: str, text: str = "", *, is_open: bool = False) -> Markup:
    """Return the button that opens the form. It needs no script."""
    words = language.words
    fields = joined(
        (
            element("input", type="hidden", name="ticket", value=ticket),
            element("input", type="text", name=TRAP, hidden="", tabindex="-1", autocomplete="off"),
            element("label", words["appeal_label"], for_="appeal-text"),
            element("textarea", text, id="appeal-text", name="text", rows="3", maxlength=str(APPEAL_CHARACTERS)),
            element("button", words["appeal_send"], class_="button"),
        )
    )
    return element(
        "details",
        element("summary", words["appeal_open"]),
        element("form", fields, method="post", action=ADDRESS),
        class_="appeal",
        open="" if is_open else None,
    )


def appeal_state(language: Language, appeal: StoredAppeal, return_url: str) -> tuple[str, Markup]:
    """Return title and content of the page with an appeal's state. Suspected spam looks like an open appeal."""
    words = language.words
    title = words[_TITLES.get(appeal.state, "appeal_sent")]
    go_on = element("a", words["continue"], href=return_url, class_="button")
    content = joined(
        (
            element("h1", title),
            element("p", words["appeal_keep"]) if appeal.state not in _TITLES else None,
            element("blockquote", appeal.reply) if appeal.reply and appeal.state in _TITLES else None,
            go_on if appeal.state is AppealState.LET_IN else None,
        )
    )
    return title, content


SERVICE = "/.agentgate"
GATEWAY = f"{SERVICE}/v1/gateway/"
SDK = f"{SERVICE}/sdk/v1/agentgate.js?render=explicit"
NONCE_BYTES = 16
SHELLS = 1_024
_HOLE = re.compile("\x02([a-z]+)\x03")

# Texts of the script.
SCRIPT_WORDS = (
    "title",
    "checking_title",
    "checking_text",
    "done",
    "offline",
    "retry",
    "resend",
    "continue",
    "stuck_title",
    "stuck_cookies",
    "stuck_address",
)

OWNERS_HINT = (
    "For the owner of this site: this action requires a token in the header X-AgentGate-Token of each request. Send it "
    "with agentgate.fetch(), or turn on the action's `clearance` so that one check covers later requests."
)


class PageCheck(Struct, frozen=True, kw_only=True):
    """The check that the page runs, and the use of its result."""

    site_key: str
    action: str
    # Empty, `same` or `cross`: the page is shown in a frame, of the same site or another.
    framed: str = ""
    # A form that the page sends again, or that the visitor has to send again.
    saved_form: str | None = None
    resend: bool = False
    # The check was passed already, and that did not help.
    stuck: bool = False
    # The wait ticket for visitors without JavaScript, and the wait in seconds.
    ticket: WaitTicket | None = None
    refresh_s: int = 0


class ChallengeView(Struct, frozen=True, kw_only=True):
    """Content of a page. Without a check, the page is a denial with this `text`."""

    language: Language
    site_name: str
    decision_id: str | None
    return_url: str
    back_url: str
    check: PageCheck | None = None
    text: str = "blocked_text"
    # Whether trying again makes sense, and whether the owner has to change something.
    retry: bool = False
    owners_hint: bool = False
    # The appeal ticket.
    appeal: str | None = None


class RenderedChallengePage(Struct, frozen=True):
    """A page and the policy that it runs under."""

    html: bytes
    policy: str


class ChallengePage:
    """Renders views. Style and script are read once."""

    @cached_property
    def _style(self) -> Markup:
        return _bundled("challenge.css")

    @cached_property
    def _script(self) -> Markup:
        return _bundled("challenge.js")

    def __init__(self) -> None:
        # Pages without their variable parts: a flood of denied page loads renders each shell once.
        self._shells: BoundedCache[tuple[object, ...], list[str]] = BoundedCache(SHELLS)

    def render(self, view: ChallengeView) -> RenderedChallengePage:
        nonce, check = secrets.token_urlsafe(NONCE_BYTES), view.check
        key = _shape_of(view)
        shell = self._shells.get(key) or self._shells.put(key, _HOLE.split(self._render_shell(view)))
        values = {
            "nonce": nonce,
            "number": view.decision_id or "",
            "return": escape(view.return_url),
            "appeal": view.appeal or "",
        }
        if check is not None:
            values["ticket"] = "" if check.ticket is None else check.ticket.text
            values["returndata"] = _as_data(view.return_url)
            values["backdata"] = _as_data(view.back_url)
            values["formdata"] = _as_data(check.saved_form)
        # Every second part names a hole.
        html = "".join([values[part] if place % 2 else part for place, part in enumerate(shell)])
        return RenderedChallengePage(html.encode(), _policy(nonce, check, forms=view.appeal is not None))

    def _render_shell(self, view: ChallengeView) -> str:
        """Return the page with holes for what differs between visitors."""
        check = view.check
        if check is not None and check.ticket is not None:
            check = replace(check, ticket=WaitTicket(_hole("ticket"), check.ticket.set_cookie))
        view = replace(
            view,
            check=check,
            return_url=_hole("return"),
            decision_id=view.decision_id and _hole("number"),
            appeal=view.appeal and _hole("appeal"),
        )
        nonce, words = _hole("nonce"), view.language.words
        heading = words["checking_title"] if view.check is not None else words["blocked_title"]
        title = f"{heading} · {view.site_name}" if view.site_name else heading
        head = joined((self._head(title, nonce), _refresh(view.check)))
        content = _plain(view) if view.check is None else _checking(view, view.check)
        appeal = None if view.appeal is None else appeal_form(view.language, view.appeal)
        main = element("main", element("p", view.site_name, class_="site"), content, appeal, _number(view))
        body = element("body", main, None if view.check is None else self._scripts(nonce, _facts_of(view, view.check)))
        html = element("html", element("head", head), body, lang=view.language.tag, dir=view.language.direction)
        return f"<!doctype html>{html}"

    def render_text(self, language: Language, site_name: str, title: str, content: Markup) -> RenderedChallengePage:
        """Return a page with a message and without a script."""
        nonce = secrets.token_urlsafe(NONCE_BYTES)
        head = self._head(f"{title} · {site_name}" if site_name else title, nonce)
        body = element("body", element("main", element("p", site_name, class_="site"), content))
        html = element("html", element("head", head), body, lang=language.tag, dir=language.direction)
        return RenderedChallengePage(f"<!doctype html>{html}".encode(), _policy(nonce, None, forms=True))

    def _head(self, title: str, nonce: str) -> Markup:
        return joined(
            (
                element("meta", charset="utf-8"),
                element("meta", name="viewport", content="width=device-width, initial-scale=1"),
                element("meta", name="robots", content="noindex"),
                element("title", title),
                element("style", self._style, nonce=nonce),
            )
        )

    def _scripts(self, nonce: str, facts: Markup) -> Markup:
        return joined(
            (
                element("script", facts, type="application/json", id="page"),
                # The page's own script runs first, and shows a message while the SDK is loading.
                element("script", src=SDK, nonce=nonce, defer=""),
                element("script", self._script, nonce=nonce),
            )
        )


def _shape_of(view: ChallengeView) -> tuple[object, ...]:
    """Return what decides which parts a page has, and the texts that are the same for all visitors of a site."""
    check = view.check
    shape = None
    if check is not None:
        run = (check.site_key, check.action, check.framed, check.resend)
        shape = (check.stuck, check.ticket is None, _asks_again(check), check.refresh_s, *run)
    shown = (view.text, view.retry, view.owners_hint, view.decision_id is None, view.appeal is None)
    return view.language.tag, view.site_name, shape, shown


def _hole(name: str) -> str:
    return f"\x02{name}\x03"


def _asks_again(check: PageCheck) -> bool:
    return check.resend or check.saved_form is not None


def _facts_of(view: ChallengeView, check: PageCheck) -> Markup:
    """Return the input of the page's script, with holes for the parts that differ between visitors."""
    facts = {
        "base": GATEWAY,
        "siteKey": check.site_key,
        "action": check.action,
        "mode": "managed",
        "language": view.language.tag,
        "framed": check.framed,
        "resend": check.resend,
        "stuck": check.stuck,
        "words": {name: view.language.words[name] for name in SCRIPT_WORDS},
    }
    holes = {"return": "returndata", "back": "backdata", "capsule": "formdata"}
    variable = "".join(f',"{name}":{_hole(hole)}' for name, hole in holes.items())
    return Markup(f"{_as_data(facts)[:-1]}{variable}}}")


def _bundled(name: str) -> Markup:
    return Markup((files("agentgate") / "gateway" / "challenge_page" / "page" / name).read_text(encoding="utf-8"))


def _checking(view: ChallengeView, check: PageCheck) -> Markup:
    """Return a frame that the script fills with one message at a time, and the text without a script."""
    words = view.language.words
    return joined(
        (
            element(
                "div",
                element("h1", words["title"], id="title"),
                element("p", id="text"),
                element("ul", id="causes"),
                role="status",
            ),
            element("div", id="widget", hidden=""),
            element("button", type="button", class_="button", id="button", hidden=""),
            # The script removes this element. Browsers without JavaScript, and browsers too old for the script, keep
            # it.
            element("div", _without_script(view, check), id="plain"),
        )
    )


def _without_script(view: ChallengeView, check: PageCheck) -> Markup:
    words = view.language.words
    if check.stuck:
        causes = element("ul", element("li", words["stuck_cookies"]), element("li", words["stuck_address"]))
        again = element("a", words["retry"], href=view.return_url, class_="button")
        return joined((element("p", words["stuck_title"]), causes, again))
    if check.ticket is None:
        return element("p", words["no_script"])
    return joined(
        (
            element("p", words["resend"]) if _asks_again(check) else None,
            element("p", words["no_script_wait"]),
            element(
                "form",
                element("input", type="hidden", name="ticket", value=check.ticket.text),
                element("button", words["continue"], class_="button"),
                action=f"{GATEWAY}pass",
            ),
        )
    )


def _plain(view: ChallengeView) -> Markup:
    words = view.language.words
    hint = element(
        "details", element("summary", "For the owner of this site"), element("p", OWNERS_HINT), lang="en", dir="ltr"
    )
    return joined(
        (
            element("h1", words["blocked_title"]),
            element("p", words[view.text]),
            element("a", words["retry"], href=view.return_url, class_="button") if view.retry else None,
            hint if view.owners_hint else None,
        )
    )


def _number(view: ChallengeView) -> Markup | None:
    if view.decision_id is None:
        return None
    before, _, after = view.language.words["quote"].partition("{id}")
    return element("p", before, element("code", view.decision_id), after, class_="number")


def _refresh(check: PageCheck | None) -> Markup | None:
    if check is None or check.ticket is None:
        return None
    content = f"{check.refresh_s};url={GATEWAY}pass?ticket={check.ticket.text}"
    return element("noscript", element("meta", http_equiv="refresh", content=content))


def _as_data(value: object) -> Markup:
    # No character that could end the element, or begin a comment in it.
    text = to_json(value).decode()
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def _policy(nonce: str, check: PageCheck | None, *, forms: bool) -> str:
    parts = ["default-src 'none'", "base-uri 'none'", f"style-src 'nonce-{nonce}'"]
    if check is None:
        parts += ["form-action 'self'" if forms else "form-action 'none'"]
    else:
        parts += [
            f"script-src 'nonce-{nonce}'",
            "connect-src 'self'",
            "worker-src 'self' blob:",
            "form-action 'self'",
            "require-trusted-types-for 'script'",
            "trusted-types agentgate",
        ]
    if check is not None and check.saved_form is not None:
        # The page contains text that the visitor typed, so no other site may frame it.
        parts.append("frame-ancestors 'self'")
    return "; ".join(parts)
