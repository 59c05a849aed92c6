"""The form of `Accept`: all that header signals read of it. Clients can write endless values of few forms."""

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
