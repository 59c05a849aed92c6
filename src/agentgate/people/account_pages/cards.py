"""The cards of the account pages."""

from collections.abc import Sequence
from urllib.parse import quote

from msgspec import Struct

from agentgate.http.markup import Markup, element, joined
from agentgate.http.request import Request
from agentgate.lib.records import Input
from agentgate.people.account_pages.page import (
    FormCheck,
    button,
    card,
    field,
    footer,
    form,
    hidden,
    message,
    new_password,
    note,
    title,
    words_for,
)
from agentgate.people.accounts.records import Typed
from agentgate.people.accounts.signing_in import Place


class FormProblem(Struct, frozen=True, kw_only=True):
    """What went wrong with a form: in words, how long to wait, and the browser check that spares the waiting."""

    text: str
    retry_after_s: int | None = None
    check: FormCheck | None = None


class AccessForm(Input, frozen=True, kw_only=True):
    """Who asks for an account."""

    email: Typed
    name: Typed
    company: Typed = ""
    message: str = ""
    check_token: Typed = ""


def told(problem: FormProblem | None) -> Markup | None:
    """Return what went wrong as a line that stands out; a script counts the seconds down."""
    if problem is None:
        return None
    seconds = None if problem.retry_after_s is None else str(problem.retry_after_s)
    return element("div", note("block", problem.text, alert=True), data_retry=seconds)


def with_next(place: str) -> str:
    """Return the query that remembers where somebody wanted to go."""
    return f"?next={quote(place, safe='/')}" if place else ""


def sign_in(request: Request, *, place: str, email: str = "", problem: FormProblem | None = None) -> str:
    """Return the card for signing in."""
    words = words_for(request)
    forgot = element("a", words["signIn.forgot"], class_="s", href="/console/forgot")
    wrong = {"aria_invalid": "true"} if problem else {}
    fields = form(
        "/v1/pages/sign-in",
        title(words["signIn.title"], words["signIn.lead"].replace("{host}", request.header("host") or "")),
        told(problem),
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
        hidden("next", place),
        button(words["signIn.do"]),
        check=problem.check if problem else None,
    )
    below = footer(
        element("span", words["signIn.new"]), element("a", words["signIn.access"], href="/console/request-access")
    )
    return card(request, words["signIn.title"], fields, footer=below, scripted=True)


def code(request: Request, *, place: str, recovery: bool = False, problem: FormProblem | None = None) -> str:
    """Return the card for the second factor, or for a recovery code."""
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
    kind = "code.recovery" if recovery else "code."
    heading, lead = (
        (words[f"{kind}Title"], words[f"{kind}Lead"]) if recovery else (words["code.title"], words["code.lead"])
    )
    query = with_next(place)
    other = f"/console/code{query}" if recovery else f"/console/code{query}{'&' if query else '?'}recovery=1"
    return card(
        request,
        heading,
        form(
            "/v1/pages/code",
            title(heading, lead),
            told(problem),
            asked,
            hidden("next", place),
            button(words["code.do"]),
            element("a", words["code.app" if recovery else "code.recovery"], class_="s", href=other),
        ),
        footer=footer(element("a", words["back"], href="/console/sign-in")),
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
    """Return the card for a forgotten password."""
    label = words_for(request)["signIn.email"]
    typed = field("email", label, type="email", autocomplete="username", required="", value=email)
    return _form_card(request, "forgot", told(problem), typed, check=problem.check if problem else None, scripted=True)


def link_form(
    request: Request, kind: str, *, token: str = "", name: str = "", problem: FormProblem | None = None
) -> str:
    """Return the card that a link of a mail leads to.

    The secret stands behind the `#`, which browsers send to nobody. A script takes it from there; without one it is
    pasted.
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
        return _form_card(request, kind, told(problem), pasted, new_password(words), scripted=True)
    called = field(
        "name", words["invite.name"], help_text=words["invite.nameHelp"], type="text", autocomplete="name", value=name
    )
    account = element("p", "", class_="b", data_invite="", hidden="")
    return _form_card(request, kind, account, told(problem), pasted, called, new_password(words), scripted=True)


def dead_link(request: Request) -> str:
    """Return the card of a link that no longer works, and what works instead."""
    words = words_for(request)
    is_invite = request.path.endswith("/invite")
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
        told(problem),
        element("noscript", note("challenge", words["access.noScript"])) if check else None,
        field("name", words["access.name"], type="text", autocomplete="name", required="", value=typed.name),
        field("email", words["signIn.email"], type="email", autocomplete="email", required="", value=typed.email),
        field("company", words["access.company"], type="text", autocomplete="organization", value=typed.company),
        area,
        check=check,
        scripted=check is not None,
    )


def accounts(request: Request, email: str, places: Sequence[Place], csrf: str) -> str:
    """Return the card for choosing an account. Each is a form of its own, so that one press is enough."""
    words = words_for(request)
    rows = [
        element(
            "form",
            hidden("accountId", account.id),
            hidden("csrf", csrf),
            element(
                "button",
                element("b", account.name),
                element("span", words[f"role.{membership.role.value}"], class_="push faint"),
                class_="btn full row",
            ),
            method="post",
            action="/v1/pages/accounts",
        )
        for membership, account in places
    ]
    lead = words["accounts.lead"].replace("{email}", email) if places else words["accounts.none"]
    listed: Markup = element("div", title(words["accounts.title"], lead), joined(rows), class_="in stack")
    below = footer(element("a", words["accounts.signOut"], href="/console/sign-in"))
    return card(request, words["accounts.title"], listed, footer=below)


def bare(heading: str, text: str, href: str, link: str) -> str:
    """Return a page without any style or script: for refusals, which go out under the strictest policy."""
    head = element("head", element("meta", charset="utf-8"), element("title", heading))
    main = element("main", element("h1", heading), element("p", text), element("p", element("a", link, href=href)))
    return "<!doctype html>" + element("html", head, element("body", main), lang="en")
