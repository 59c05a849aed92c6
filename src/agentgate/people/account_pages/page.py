"""How the account pages look: one card on a plain page, without any script that they would need."""

import functools
import json
from collections.abc import Mapping
from importlib.resources import files

from msgspec import Struct

from agentgate.http.markup import Markup, element, joined
from agentgate.http.replies import Reply, Text
from agentgate.http.request import Request
from agentgate.http.web_app import HTML, PAGE_HEADERS, choose_language, document, page_head

Words = Mapping[str, str]

# The service's own browser check, for its own forms.
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
    """Return the words of the pages in one language."""
    path = files("agentgate") / "people" / "account_pages" / "words" / f"{language}.json"
    found: Words = json.loads(path.read_text(encoding="utf-8"))
    return found


def words_for(request: Request) -> Words:
    """Return the words of the reader's language."""
    return words_of(choose_language(request))


def icon(path: str) -> Markup:
    """Return an icon that says nothing by itself."""
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
    """Return a line that stands out."""
    return element(
        "div",
        icon(_CHECK if tone == "allow" else _ALERT),
        element("div", element("p", text)),
        class_="note",
        data_o=tone,
        role="alert" if alert else None,
    )


def title(text: str, lead: str) -> Markup:
    """Return a card's title and its one sentence."""
    return element("div", element("h1", text, id="t"), element("p", lead, class_="soft s"))


def field(name: str, label: str, *, help_text: str | None = None, side: Markup | None = None, **more: str) -> Markup:
    """Return a labelled input."""
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
    """Return a field that nobody sees."""
    return element("input", type="hidden", name=name, value=value)


def button(text: str) -> Markup:
    """Return the one main button of a card."""
    return element("button", text, class_="btn main big full")


def form(action: str, *parts: str | None, check: FormCheck | None = None) -> Markup:
    """Return a form that is sent to a path of ours; with a check, a script runs the browser check before it is sent."""
    asked = {} if check is None else {"data_check_site": check.site_key, "data_check_action": check.action}
    token = None if check is None else hidden("checkToken", "")
    return element("form", *parts, token, class_="in stack", method="post", action=action, **asked)


def card(
    request: Request, heading: str, *parts: str | None, footer: Markup | None = None, scripted: bool = False
) -> str:
    """Return a whole page with one card."""
    body = element(
        "main",
        brand(),
        element("section", *parts, footer, class_="card", aria_labelledby="t"),
        class_="plain",
        id="main",
    )
    head = page_head("console", f"{heading} · AgentGate", script="account" if scripted else None)
    if any(part and "data-check-site" in part for part in parts):
        head = Markup(head.removesuffix("</head>") + element("script", src=SDK, defer="") + "</head>")
    return document(head, body, request)


def footer(*parts: str | None) -> Markup:
    """Return the line below a card."""
    return element("footer", *parts)


def message(request: Request, heading: str, lead: str, *, link: tuple[str, str] | None = None) -> str:
    """Return a card that says one thing, and where to go from here."""
    go = element("a", link[1], class_="btn main big full", href=link[0]) if link else None
    return card(request, heading, element("div", title(heading, lead), go, class_="in stack"))


def reply(html: str, *, status: int = 200, headers: tuple[tuple[str, str], ...] = ()) -> Reply[Text]:
    """Return a page as an answer. Where the browser check runs, the policy allows for its worker and its one policy."""
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
        ((f"/{kind}", "door.operator"), ("/openapi/", "door.api"), ("/metrics", "door.metrics"))
        if operator
        else (
            ("/console/sign-in", "door.console"),
            ("/console/request-access", "door.access"),
            ("/openapi/", "door.api"),
        )
    )
    items = [
        element("a", element("b", words[name]), element("span", words[f"{name}.lead"], class_="soft"), href=path)
        for path, name in doors
    ]
    health = element("span", element("span", class_="dot", data_o=tone), words[f"health.{status}"], class_="state")
    body = element(
        "main",
        brand(),
        element(
            "section",
            element(
                "div",
                element("h1", words["door.title"], id="t"),
                element("p", words["door.lead"], class_="lead"),
                class_="in stack tight",
            ),
            element("div", joined(items), class_="list"),
            element("footer", health, element("span", host, class_="push faint mono")),
            class_="card",
            aria_labelledby="t",
        ),
        class_="plain",
        id="main",
    )
    return document(page_head(kind, "AgentGate"), body, request)
