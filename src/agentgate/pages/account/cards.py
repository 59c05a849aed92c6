"""The account pages: one card on a plain page, without any script that they would need."""

import functools
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from urllib.parse import quote, urlencode

from msgspec import Struct

from agentgate.http.replies import Reply, Text
from agentgate.http.request import Request
from agentgate.lib.markup import Markup, element, joined
from agentgate.lib.records import Input
from agentgate.pages.web_app import HTML, PAGE_HEADERS, choose_language, document, page_head
from agentgate.people.accounts.records import Membership, OpenInvitation, Typed

Words = Mapping[str, str]

OIDC = "/v1/pages/oidc"
# The SDK of the service's browser check, which protects the service's forms.
SDK = "/sdk/v1/agentgate.js"
_POLICY = PAGE_HEADERS[0]
CHECKED_HEADERS = (
    (_POLICY[0], _POLICY[1].replace("trusted-types 'none'", "trusted-types agentgate; worker-src 'self' blob:")),
    *PAGE_HEADERS[1:],
)


class FormCheck(Struct, frozen=True):
    """A browser check that a form asks for: the site that issues its tokens, and the action."""

    site_key: str
    action: str


_ALERT = "M8 2.2 14.5 13.5h-13zM8 6.5v3M8 11.5h.01"
_CHECK = "M3 8.5l3.2 3.2L13 5"
_ARCH = "M5.5 17V10.5a5.5 5.5 0 0 1 11 0V17M11 17v-5.5"


@functools.cache
def words_of(language: str) -> Words:
    path = files("agentgate") / "pages" / "account" / "words" / f"{language}.json"
    found: Words = json.loads(path.read_text(encoding="utf-8"))
    return found


def words_for(request: Request) -> Words:
    return words_of(choose_language(request))


def icon(path: str) -> Markup:
    return element("svg", element("path", d=path), class_="icon", viewBox="0 0 16 16", aria_hidden="true")


def brand(*, href: str = "/") -> Markup:
    """Return the name of the product, which leads to the front door."""
    logo = element(
        "svg",
        element("rect", class_="logo-a", width="22", height="22", rx="6"),
        element("path", class_="logo-b", d=_ARCH),
        viewBox="0 0 22 22",
        aria_hidden="true",
    )
    return element("a", logo, element("span", "AgentGate"), class_="brand", href=href)


def note(tone: str, text: str, *, alert: bool = False) -> Markup:
    """Return a highlighted line."""
    return element(
        "div",
        icon(_CHECK if tone == "allow" else _ALERT),
        element("div", element("p", text)),
        class_="note",
        data_o=tone,
        role="alert" if alert else None,
    )


def title(text: str, lead: str) -> Markup:
    return element("div", element("h1", text, id="t"), element("p", lead, class_="soft s"))


def field(name: str, label: str, *, help_text: str | None = None, side: Markup | None = None, **more: str) -> Markup:
    described = f"{name}-h" if help_text else None
    described_input = element("input", id=name, name=name, aria_describedby=described, **more)
    head: Markup = element("label", label, for_=name, class_="label" if side else None)
    return element(
        "div",
        element("div", head, side, class_="row apart") if side else head,
        described_input,
        element("p", help_text, class_="help", id=f"{name}-h") if help_text else None,
        class_="field",
    )


def new_password(words: Words) -> Markup:
    """Return the field for a new password; a script shows its strength."""
    return element(
        "div",
        element("label", words["password.new"], for_="password"),
        element(
            "input",
            id="password",
            name="password",
            type="password",
            autocomplete="new-password",
            minlength="12",
            maxlength="128",
            required="",
            aria_describedby="password-h",
        ),
        element("progress", max="4", value="0", aria_label=words["password.strength"], data_strength=""),
        element("p", words["password.help"], class_="help", id="password-h"),
        class_="field",
    )


def hidden(name: str, value: str) -> Markup:
    return element("input", type="hidden", name=name, value=value)


def button(text: str) -> Markup:
    return element("button", text, class_="btn main big full")


def form(action: str, *parts: str | None, check: FormCheck | None = None) -> Markup:
    """Return a form that is sent to a path of ours; with a check, a script runs the browser check before it is sent."""
    asked = {} if check is None else {"data_check_site": check.site_key, "data_check_action": check.action}
    token = None if check is None else hidden("checkToken", "")
    return element("form", *parts, token, class_="in stack", method="post", action=action, **asked)


def card(
    request: Request, heading: str, *parts: str | None, footer: Markup | None = None, scripted: bool = False
) -> str:
    head = page_head("console", f"{heading} · AgentGate", script="account" if scripted else None)
    if any(part and "data-check-site" in part for part in parts):
        head = Markup(head.removesuffix("</head>") + element("script", src=SDK, defer="") + "</head>")
    return document(head, _main(*parts, footer), request)


def footer(*parts: str | None) -> Markup:
    """Return the line below a card."""
    return element("footer", *parts)


def message(request: Request, heading: str, lead: str, *, link: tuple[str, str] | None = None) -> str:
    """Return a card with one message and an optional link."""
    go = element("a", link[1], class_="btn main big full", href=link[0]) if link else None
    return card(request, heading, element("div", title(heading, lead), go, class_="in stack"))


def reply(html: str, *, status: int = 200, headers: tuple[tuple[str, str], ...] = ()) -> Reply[Text]:
    """Return a page as a response. With the browser check, its policy allows a worker and trusted types."""
    page_headers = CHECKED_HEADERS if SDK in html else PAGE_HEADERS
    return Reply(body=Text(html.encode(), HTML), status=status, headers=(*page_headers, *headers))


def see_other(path: str, *headers: tuple[str, str]) -> Reply[Text]:
    """Lead the browser on after a form, so that a reload does not send it again."""
    return Reply(body=Text(b"", HTML), status=303, headers=(("location", path), *headers))


def front_door(request: Request, *, status: str, operator: bool, host: str) -> str:
    """Return the page at `/`: what this is, where to go, whether it is healthy."""
    words = words_for(request)
    kind = "operator" if operator else "console"
    tone = {"ready": "allow", "degraded": "challenge"}.get(status, "block")
    doors = (
        (
            (f"/{kind}", "door.operator"),
            ("/docs/", "door.docs"),
            ("/openapi/", "door.api"),
            ("/metrics", "door.metrics"),
        )
        if operator
        else (
            ("/console/sign-in", "door.console"),
            ("/console/request-access", "door.access"),
            ("/docs/", "door.docs"),
            ("/openapi/", "door.api"),
        )
    )
    items = [
        element("a", element("b", words[name]), element("span", words[f"{name}.lead"], class_="soft"), href=path)
        for path, name in doors
    ]
    health = element("span", element("span", class_="dot", data_o=tone), words[f"health.{status}"], class_="state")
    heading = element("h1", words["door.title"], id="t")
    lead = element("p", words["door.lead"], class_="lead")
    body = _main(
        element("div", heading, lead, class_="in stack tight"),
        element("div", joined(items), class_="list"),
        footer(health, element("span", host, class_="push faint mono")),
    )
    return document(page_head(kind, "AgentGate"), body, request)


def _main(*parts: str | None) -> Markup:
    section = element("section", *parts, class_="card", aria_labelledby="t")
    return element("main", brand(), section, class_="plain", id="main")


class FormProblem(Struct, frozen=True, kw_only=True):
    """The problem with a form: a text, the seconds until a retry, and the browser check that replaces waiting."""

    text: str
    retry_after_s: int | None = None
    check: FormCheck | None = None


class AccessForm(Input, frozen=True, kw_only=True):
    """The person who requests an account."""

    email: Typed
    name: Typed
    company: Typed = ""
    message: str = ""
    check_token: Typed = ""


def problem_line(problem: FormProblem | None) -> Markup | None:
    """Return the problem as a highlighted line; a script counts the seconds down."""
    if problem is None:
        return None
    seconds = None if problem.retry_after_s is None else str(problem.retry_after_s)
    return element("div", note("block", problem.text, alert=True), data_retry=seconds)


def with_next(path: str) -> str:
    """Return the query with the page to open after signing in."""
    return f"?next={quote(path, safe='/')}" if path else ""


def sign_in(
    request: Request,
    *,
    next_path: str,
    issuers: Sequence[str] = (),
    email: str = "",
    problem: FormProblem | None = None,
) -> str:
    words = words_for(request)
    forgot = element("a", words["signIn.forgot"], class_="s", href="/console/forgot")
    wrong = {"aria_invalid": "true"} if problem else {}
    fields = form(
        "/v1/pages/sign-in",
        title(words["signIn.title"], words["signIn.lead"].replace("{host}", request.header("host") or "")),
        # The console leads here when the session ends while a page is open.
        element("p", words["signIn.ended"], class_="s") if request.query().get("ended") == "1" else "",
        problem_line(problem),
        field("email", words["signIn.email"], type="email", autocomplete="username", required="", value=email),
        field(
            "password",
            words["signIn.password"],
            side=forgot,
            type="password",
            autocomplete="current-password",
            required="",
            **wrong,
        ),
        hidden("next", next_path),
        button(words["signIn.do"]),
        joined([issuer_link(words, name, next_path) for name in issuers]),
        check=problem.check if problem else None,
    )
    below = footer(
        element("span", words["signIn.new"]), element("a", words["signIn.access"], href="/console/request-access")
    )
    return card(request, words["signIn.title"], fields, footer=below, scripted=True)


def issuer_link(words: Words, name: str, next_path: str = "", *, path: str = OIDC) -> Markup:
    """Return the link that begins a sign-in with an identity provider."""
    query = urlencode({"issuer": name, **({"next": next_path} if next_path else {})})
    return element("a", words["signIn.oidc"].replace("{issuer}", name), class_="btn big full", href=f"{path}?{query}")


def code(request: Request, *, next_path: str, recovery: bool = False, problem: FormProblem | None = None) -> str:
    words = words_for(request)
    asked = (
        field("recoveryCode", words["code.recoveryLabel"], type="text", autocomplete="off", required="")
        if recovery
        else field(
            "code",
            words["code.label"],
            help_text=words["code.help"],
            class_="digits",
            type="text",
            inputmode="numeric",
            autocomplete="one-time-code",
            maxlength="7",
            required="",
        )
    )
    heading = words["code.recoveryTitle" if recovery else "code.title"]
    lead = words["code.recoveryLead" if recovery else "code.lead"]
    query = with_next(next_path)
    other = f"/console/code{query}" if recovery else f"/console/code{query}{'&' if query else '?'}recovery=1"
    return card(
        request,
        heading,
        form(
            "/v1/pages/code",
            title(heading, lead),
            problem_line(problem),
            # Shown by the script if the user has a passkey.
            element("button", words["code.passkey"], class_="btn big full", type="button", data_passkey="", hidden=""),
            element("p", words["code.passkeyFailed"], class_="soft", role="alert", data_passkey_failed="", hidden=""),
            asked,
            hidden("passkey", ""),
            hidden("next", next_path),
            button(words["code.do"]),
            element("a", words["code.app" if recovery else "code.recovery"], class_="s", href=other),
        ),
        footer=footer(element("a", words["back"], href="/console/sign-in")),
        scripted=True,
    )


def _form_card(
    request: Request, name: str, *parts: str | None, check: FormCheck | None = None, scripted: bool = False
) -> str:
    """Return a card with one form, its title, and the way back to signing in. `name` is that of form and words."""
    words = words_for(request)
    key = "access" if name == "request-access" else name
    heading = title(words[f"{key}.title"], words[f"{key}.lead"])
    sent = form(f"/v1/pages/{name}", heading, *parts, button(words[f"{key}.do"]), check=check)
    back = footer(element("a", words["back"], href="/console/sign-in"))
    return card(request, words[f"{key}.title"], sent, footer=back, scripted=scripted)


def forgot(request: Request, *, email: str = "", problem: FormProblem | None = None) -> str:
    label = words_for(request)["signIn.email"]
    typed = field("email", label, type="email", autocomplete="username", required="", value=email)
    return _form_card(
        request, "forgot", problem_line(problem), typed, check=problem.check if problem else None, scripted=True
    )


def link_form(
    request: Request, kind: str, *, token: str = "", name: str = "", email: str = "", problem: FormProblem | None = None
) -> str:
    """Return the card that opens from a link in an email or of the first start.

    The secret follows the `#`, and browsers never send that part. A script reads it; without a script, the user pastes
    it.
    """
    words = words_for(request)
    pasted = element(
        "div",
        field(
            "token",
            words["link.label"],
            help_text=words["link.help"],
            type="text",
            autocomplete="off",
            required="",
            value=token,
        ),
        data_link="",
    )
    if kind == "reset":
        return _form_card(request, kind, problem_line(problem), pasted, new_password(words), scripted=True)
    if kind == "setup":
        label = words["signIn.email"]
        typed = field("email", label, type="email", autocomplete="username", required="", value=email)
        return _form_card(request, kind, problem_line(problem), pasted, typed, new_password(words), scripted=True)
    called = field(
        "name", words["invite.name"], help_text=words["invite.nameHelp"], type="text", autocomplete="name", value=name
    )
    account = element("p", "", class_="b", data_invite="", hidden="")
    sign_in_first = element("div", note("challenge", words["error.already_active"]), data_known="", hidden="")
    parts = (account, sign_in_first, problem_line(problem), pasted, called, new_password(words))
    return _form_card(request, kind, *parts, scripted=True)


def sign_in_to_accept(request: Request) -> str:
    """Return the card for an invited user who has a password."""
    words = words_for(request)
    link = ("/console/sign-in", words["signIn.do"])
    return message(request, words["invite.title"], words["error.already_active"], link=link)


def dead_link(request: Request) -> str:
    """Return the card of a link that no longer works, and what works instead."""
    words = words_for(request)
    is_invite = request.path.endswith(("/invite", "/setup"))
    link = ("/console/sign-in", words["dead.invite"]) if is_invite else ("/console/forgot", words["dead.reset"])
    return message(request, words["dead.title"], words["dead.lead"], link=link)


def request_access(
    request: Request, typed: AccessForm, *, check: FormCheck | None, problem: FormProblem | None = None
) -> str:
    """Return the card for asking for an account, behind the service's own browser check where there is one."""
    words = words_for(request)
    area = element(
        "div",
        element("label", words["access.message"], for_="message"),
        element("textarea", typed.message, id="message", name="message", rows="3", maxlength="2000"),
        element("p", words["access.optional"], class_="help"),
        class_="field",
    )
    return _form_card(
        request,
        "request-access",
        problem_line(problem),
        element("noscript", note("challenge", words["access.noScript"])) if check else None,
        field("name", words["access.name"], type="text", autocomplete="name", required="", value=typed.name),
        field("email", words["signIn.email"], type="email", autocomplete="email", required="", value=typed.email),
        field("company", words["access.company"], type="text", autocomplete="organization", value=typed.company),
        area,
        check=check,
        scripted=check is not None,
    )


def accounts(
    request: Request, email: str, memberships: Sequence[Membership], invitations: Sequence[OpenInvitation], *, csrf: str
) -> str:
    """Return the card for choosing an account or accepting an invitation. Each is one form."""
    words = words_for(request)
    rows = [
        _choice("/v1/pages/accounts", ("accountId", account.id), account.name, words[f"role.{member.role}"], csrf)
        for member, account in memberships
    ]
    offers = [
        _choice(
            "/v1/pages/invitations",
            ("invitationId", invitation.id),
            words["accounts.accept"].replace("{account}", invitation.account_name),
            words[f"role.{invitation.role}"],
            csrf,
        )
        for invitation in invitations
    ]
    is_empty = not memberships and not invitations
    lead = words["accounts.none"] if is_empty else words["accounts.lead"].replace("{email}", email)
    invited = element("p", words["accounts.invited"], class_="soft s") if offers else None
    parts = (title(words["accounts.title"], lead), joined(rows), invited, joined(offers))
    listed: Markup = element("div", *parts, class_="in stack")
    below = footer(element("a", words["accounts.signOut"], href="/console/sign-in"))
    return card(request, words["accounts.title"], listed, footer=below)


def _choice(action: str, chosen: tuple[str, str], label: str, role: str, csrf: str) -> Markup:
    """Return a form with one button, which chooses one thing."""
    name, value = chosen
    push = element("span", role, class_="push faint")
    pressed = element("button", element("b", label), push, class_="btn full row")
    return element("form", hidden(name, value), hidden("csrf", csrf), pressed, method="post", action=action)


def bare(heading: str, text: str, href: str, link: str) -> str:
    """Return a page without any style or script, for errors, which are sent under the strictest policy."""
    head = element("head", element("meta", charset="utf-8"), element("title", heading))
    main = element("main", element("h1", heading), element("p", text), element("p", element("a", link, href=href)))
    return "<!doctype html>" + element("html", head, element("body", main), lang="en")
