"""The two consoles as files: the page that loads an app, and the built files under names that change with them.

Customers' files are rows of the public listener, operators' files rows of the admin listener; neither has the other's.
"""

import functools
import json
from importlib.resources import files
from typing import Any

from agentgate.http.call import Call
from agentgate.http.replies import Reply, Text
from agentgate.http.request import Request, preferred_languages
from agentgate.http.static_files import StaticFiles, serve_file
from agentgate.lib.errors import Refused
from agentgate.lib.markup import Markup, element, joined

# The output directory of the builds of SDK, consoles and pages.
STATIC = files("agentgate") / "pages" / "static"

HTML = "text/html; charset=utf-8"
YEAR_S = 31_536_000
LANGUAGES = ("en", "de")
THEMES = ("light", "dark")
# Scripts and styles from our own files only, nothing inline, no other hosts; Trusted Types for scripts and markup.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
PAGE_HEADERS = (
    ("content-security-policy", POLICY),
    # Under the strictest policy, browsers would send forms with `Origin: null`.
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("vary", "Accept-Language, Cookie"),
    ("x-frame-options", "DENY"),
    ("x-robots-tag", "noindex"),
)
NO_SCRIPT = {
    "en": "The console requires JavaScript. Sign-in, invitations and password resets work without JavaScript.",
    "de": "Die Konsole braucht JavaScript. Anmelden, Einladungen und neue Passwörter gehen ohne.",
}


@functools.cache
def _manifest(app: str) -> dict[str, Any]:
    """Return the build manifest of an app: its scripts, its style, its texts."""
    path = STATIC / app / "manifest.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def page_head(app: str, title: str, *, script: str | None = None) -> Markup:
    """Return the head of a page that looks like the app; `script` names the one file that it loads, if any."""
    manifest, base = _manifest(app), f"/{app}/assets/"
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("link", rel="icon", type="image/svg+xml", href=f"{base}icon.svg"),
        element("link", rel="stylesheet", href=base + manifest["style"]),
        None if script is None else element("script", type="module", src=base + manifest[script]),
    )


def shell(app: str, request: Request) -> str:
    """Return the page that loads an app. It holds no data: the app asks for all of it."""
    manifest, base = _manifest(app), f"/{app}/assets/"
    language = choose_language(request)
    first, *others = manifest["scripts"]
    # The page's own chunk too, which the app would otherwise request only once it runs.
    page = manifest["pages"].get(request.path.rpartition("/")[2], ())
    loads = [
        element("script", type="module", src=base + first),
        *(element("link", rel="modulepreload", href=base + name) for name in (*others, *page)),
        element("link", rel="modulepreload", href=base + manifest["words"][language]),
    ]
    head = Markup(page_head(app, "AgentGate").removesuffix("</head>") + joined(loads) + "</head>")
    needed = element("noscript", element("main", element("p", NO_SCRIPT[language]), class_="plain"))
    return document(head, element("div", needed, id="app"), request)


async def read_console(call: Call) -> Reply[Text]:
    """Read the page that loads the customers' console, at any of its addresses."""
    return _page(shell("console", call.request))


async def read_operator_console(call: Call) -> Reply[Text]:
    """Read the page that loads the operators' console."""
    return _page(shell("operator", call.request))


async def read_asset(call: Call, static: StaticFiles) -> Reply[Text | None]:
    """Read a built file of a console. Its name changes with its content, so it is kept for a year."""
    found = static.find(call.request.path)
    if found is None:
        raise Refused("not_found", "File not found. The page may be from another version. Reload it.")
    lasting = "-" in call.params["file"]
    return serve_file(call, found, cached=f"public, max-age={YEAR_S}, immutable" if lasting else "public, max-age=3600")


def choose_language(request: Request) -> str:
    """Return the language of the pages: the chosen one, else the first of the browser's that is available."""
    chosen = request.cookie("ag_lang")
    if chosen in LANGUAGES:
        return chosen
    wanted = (tag[:2].lower() for tag in preferred_languages(request.header("accept-language")))
    return next((language for language in wanted if language in LANGUAGES), LANGUAGES[0])


def document(head: Markup, body: Markup, request: Request) -> str:
    """Return a whole page in the reader's language and theme."""
    theme = request.cookie("ag_theme")
    page = element(
        "html",
        head,
        element("body", body),
        lang=choose_language(request),
        data_theme=theme if theme in THEMES else None,
    )
    return "<!doctype html>" + page


def _page(html: str) -> Reply[Text]:
    return Reply(body=Text(html.encode(), HTML), headers=PAGE_HEADERS)
