"""The handoff page as HTML. Outside input is text, never markup; nothing is loaded from other hosts.

Its words are in `words/`, a file for each language. The check inside it brings its own.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from agentgate.agents.handoff.approval import HandoffView, Phase, Question
from agentgate.http.request import preferred_languages
from agentgate.lib.markup import Markup, element, joined

# The check needs its own files, its calls, and a worker that it makes of a file.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; worker-src blob:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types agentgate"
)
HEADERS = (
    ("content-security-policy", POLICY),
    # Under the strictest policy, browsers would send forms with `Origin: null`.
    ("referrer-policy", "same-origin"),
    ("vary", "Accept-Language"),
    ("x-frame-options", "DENY"),
    ("x-robots-tag", "noindex"),
)
_HOURS = (("1", "hour"), ("24", "day"), ("168", "week"), ("720", "month"))
STYLE = element("link", rel="stylesheet", href="style.css")
_ORIGINS_SHOWN = 3
_USES = ("1", "3", "10", "30", "100")
_USUAL_USES = "10"

Words = Mapping[str, str]


@cache
def languages() -> Mapping[str, Words]:
    """Return the words of each language that the page has."""
    found = sorted(files("agentgate.agents.handoff").joinpath("words").iterdir(), key=lambda each: each.name)
    return {each.name.removesuffix(".json"): json.loads(each.read_text("utf-8")) for each in found}


def choose_language(accepted: str | None) -> str:
    """Return the first language of an Accept-Language header that the page has, else English."""
    wanted = (tag.lower().partition("-")[0] for tag in preferred_languages(accepted))
    return next((tag for tag in wanted if tag in languages()), "en")


def handoff_page(view: HandoffView, language: str) -> str:
    words = languages()[language]
    if view.question is None:
        name = view.phase.value[0]
        granted = element("p", words["granted"]) if view.grant is not None else None
        return _document(words[f"{name}_title"], language, element("p", words[name]), granted)
    question = view.question
    problem = element("p", words["unchecked"], class_="problem", role="alert")
    return _document(
        words["title"],
        language,
        problem if view.phase is Phase.UNCHECKED else None,
        element("p", words["intro"]),
        _facts(question, words),
        _warning(question, words),
        _form(question, words),
        element("noscript", element("p", words["scripts"], class_="problem")),
        script=element("script", src="../sdk/v1/agentgate.js", defer=""),
    )


def message_page(message: str, language: str = "en") -> str:
    """Return an error page. It has no style sheet, because the content policy of every error forbids one."""
    return _document(languages()[language]["refused_title"], language, element("p", message), style=None)


def _document(
    title: str, language: str, *parts: str | None, script: Markup | None = None, style: Markup | None = STYLE
) -> str:
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        style,
        script,
    )
    body = element("body", element("main", element("h1", title), *parts))
    return "<!doctype html>" + element("html", head, body, lang=language)


def _facts(question: Question, words: Words) -> Markup:
    rows = [_row(words["agent"], element("span", question.agent, class_="address"), note=words["agent_note"])]
    if question.agent_name is not None:
        rows.append(_row(words["agent_name"], element("bdi", question.agent_name), note=words["agent_name_note"]))
    site = joined(
        [
            element("strong", element("bdi", question.site_name)),
            *(element("span", origin, class_="address") for origin in question.origins[:_ORIGINS_SHOWN]),
        ],
        " ",
    )
    rows += [_row(words["site"], site), _row(words["action"], element("code", question.action))]
    if question.content:
        lines = (
            element("li", *((element("b", element("bdi", name)), " ") if name else ()), element("bdi", value))
            for name, value in question.content
        )
        rows.append(_row(words["content"], element("ul", *lines), note=words["content_note"]))
    until = question.expires_at.text()
    rows.append(_row(words["expires"], element("time", f"{until[11:16]} UTC", datetime=until)))
    return element("dl", *rows)


def _row(name: str, value: str, *, note: str | None = None) -> Markup:
    small = element("small", note) if note is not None else None
    return element("div", element("dt", name), element("dd", value, small))


def _warning(question: Question, words: Words) -> Markup:
    return element(
        "section",
        element("h2", words["warning_title"], id="warning"),
        element("p", words["warning"]),
        element("p", f"{words['code']} ", element("strong", question.user_code, class_="code")),
        class_="warning",
        aria_labelledby="warning",
    )


def _form(question: Question, words: Words) -> Markup:
    check = element(
        "div",
        class_="agentgate",
        data_sitekey=question.handoff_id,
        data_action=question.action,
        data_mode="interactive",
    )
    # The first button is what a stray Enter presses.
    buttons = element(
        "div",
        element("button", words["decline"], name="choice", value="decline"),
        element("button", words["approve"], name="choice", value="approve", class_="main"),
        class_="buttons",
    )
    grant = _grant(words) if question.may_grant else None
    return element("form", grant, element("h2", words["check_title"]), check, buttons, method="post")


def _grant(words: Words) -> Markup:
    uses = (element("option", count, value=count, selected="" if count == _USUAL_USES else None) for count in _USES)
    hours = (element("option", words[name], value=count) for count, name in _HOURS)
    return element(
        "fieldset",
        element("legend", words["grant_title"]),
        element("label", element("input", type="checkbox", name="remember"), f" {words['grant']}"),
        element("label", f"{words['uses']} ", element("select", *uses, name="uses")),
        element("label", f"{words['hours']} ", element("select", *hours, name="hours")),
    )
