"""The forms of `Accept` and `Accept-Language`, which are all that header signals read of them.

Clients can write endless values of few forms. The languages themselves do not count.
"""

import re
from enum import IntEnum

ANY = "*/*"
PAGE = "text/html"
HTML = (PAGE, "application/xhtml+xml")
# The values for page loads begin with it, in Safari without the comma.
SAFARI_PAGE = "text/html,application/xhtml+xml,application/xml;q=0.9"
PAGE_PREFIX = SAFARI_PAGE + ","
SUBRESOURCES = ("image/", "text/css", "font/", "application/font-", "audio/", "video/")
# Chromium names the first in every page load since 2014, and no other engine the second.
CHROMIUM_PICTURES, ONLY_CHROMIUM = "image/webp", "image/apng"

_BEGINNINGS = (PAGE_PREFIX, SAFARI_PAGE, *SUBRESOURCES)
_WITHIN = (*HTML, CHROMIUM_PICTURES, ONLY_CHROMIUM)


def accept_form(value: str) -> str:
    """Return a value that has the same beginning and names only the same types."""
    if value == ANY:
        return value
    beginning = next((each for each in _BEGINNINGS if value.startswith(each)), "")
    return " ".join((beginning, *(each for each in _WITHIN if each in value)))


# As the three engines write languages: no spaces, and a quality below one from the second on.
_USUAL = re.compile(r"[a-z]{2,8}(-[a-z0-9]{1,8})*(,[a-z]{2,8}(-[a-z0-9]{1,8})*;q=0\.[0-9]{1,3})*\Z", re.IGNORECASE)


class LanguageForm(IntEnum):
    """How the header is written."""

    NONE = 0
    # `*`, which no browser sends.
    ANY = 1
    USUAL = 2
    # As no browser writes it.
    ODD = 3


def language_form(text: str | None) -> LanguageForm:
    """Return the form of a header's value; None where it did not come."""
    if text is None:
        return LanguageForm.NONE
    if text == "*":
        return LanguageForm.ANY
    return LanguageForm.USUAL if _USUAL.match(text) else LanguageForm.ODD


def count_languages(text: str | None) -> int:
    """Return how many languages a header's value names."""
    return text.count(",") + 1 if text else 0
