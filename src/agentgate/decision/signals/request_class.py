"""The class of a request by its method and headers: a page, a subresource, a call of a script, or another.

Rates count only what a person does: pages, forms, calls. They do not count subresources (`part_budget.py`), so in doubt
a request is not a subresource: no browser accepts HTML where it loads a picture, and no browser loads a subresource of
a page that no user opened (`Sec-Fetch-Site: none`).
"""

import re
from collections.abc import Mapping
from enum import IntEnum

from agentgate.decision.signals.header_forms import HTML, SUBRESOURCES
from agentgate.decision.signals.words import WORDS


class RequestClass(IntEnum):
    """In the order in which a request may be a part: never, if its path names a file, with a budget, always."""

    # Changes something: a form, or a call that is not a GET.
    ACTION = 0
    # A page, also in a frame: it can show a challenge.
    PAGE = 1
    # A GET by another program than a browser.
    PROGRAM = 2
    # A GET by a page's script, or by a browser without a destination.
    FETCH = 3
    # A picture, a style, a script, a font: it cannot show a challenge.
    PART = 4


_PAGES = frozenset({"document", "iframe", "frame", "fencedframe", "embed", "object"})
PARTS = frozenset(WORDS.subresources)

_FILES = frozenset(WORDS.file_endings)
# Escapes, `;`, `//` and dots as a name are read differently by different servers; a program's name before the file's
# makes the rest its argument (`/index.php/a.png`).
_FILE_PATH = re.compile(
    r"(?:/(?!\.{1,2}(?:/|\Z))(?:[A-Za-z0-9._~!$&'()*+,=:@-]|%20|%[89A-Fa-f][0-9A-Fa-f])+)+\Z", re.ASCII
)
_PROGRAM = re.compile(r"\.(?:php[0-9]?|phtml|aspx?|ashx|jspx?|cgi|pl|py|rb|do|action|cfm)/", re.IGNORECASE)


def class_of(method: str, headers: Mapping[str, str], *, is_browser: bool) -> RequestClass:
    """Return the class of a request. Header names are in lower case."""
    if method not in {"GET", "HEAD"}:
        return RequestClass.ACTION
    destination, accept = headers.get("sec-fetch-dest"), headers.get("accept", "")
    if destination is None and not is_browser:
        return RequestClass.PROGRAM
    says_page = headers.get("sec-fetch-mode") == "navigate" or headers.get("sec-fetch-site") == "none"
    if says_page or destination in _PAGES or any(each in accept for each in HTML):
        return RequestClass.PAGE
    # If a service worker only passes requests on, the destination is always a script; `Accept` still shows the real
    # type.
    is_part = destination in PARTS or accept.startswith(SUBRESOURCES)
    return RequestClass.PART if is_part else RequestClass.FETCH


def is_file(target: str) -> bool:
    """Return whether a target names a file as servers keep them in folders, and nothing that runs a program."""
    path = target.partition("?")[0]
    if path.rpartition(".")[2].lower() not in _FILES:
        return False
    return _FILE_PATH.match(path) is not None and _PROGRAM.search(path) is None
