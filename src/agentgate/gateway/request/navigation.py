"""Whether a request is a browser's navigation to a page, as opposed to a request of a script, an image or a program.

If the browser sends `Sec-Fetch-*`, these headers decide. Old browsers, feature phones, text browsers and every browser
on plain HTTP send none: method, `Accept` and a few more headers decide for them. In doubt, a client with a browser's
User-Agent gets a page: a script can still read the status, while a visitor cannot use JSON.
"""

import re
from collections.abc import Callable

DOCUMENTS = frozenset({"document", "iframe", "frame", "embed", "object"})
# Media types of pages: HTML, and the types of WAP phones.
PAGES = re.compile(r"text/html|application/xhtml\+xml|application/vnd\.wap\.|text/vnd\.wap\.|text/x-hdml")
# Media types that scripts and subresources request, and no navigation does.
PARTS = re.compile(r"json|image/\*|text/css|javascript|event-stream|font/|(?:audio|video)/|text/x-component")
# Old browsers and phones, whose navigations accept `*/*` or a list of image types only.
OLD_BROWSERS = re.compile(
    r"MSIE |Trident/|Opera|Presto/|UP\.Browser|UP\.Link|MIDP|CLDC|Profile/MIDP|NetFront|Obigo|Teleca|BREW|MAUI|Dolfin"
    r"|Nokia|SonyEricsson|SAMSUNG-|LG-|BlackBerry|DoCoMo|KDDI-|SoftBank|UCWEB|UCBrowser|PLAYSTATION|Nintendo|Symbian"
    r"|Lynx|Links|w3m|Dillo|NetSurf|IBrowse|AmigaVoyager|OffByOne|Mosaic|Netscape|Mozilla/[0-4]"
)
# Engines whose navigations have named HTML since they exist.
ENGINES = re.compile(r"AppleWebKit/|Gecko/\d|Goanna/")
# A name that OLD_BROWSERS matches.
OLD_BROWSER = "Lynx"
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain")

Header = Callable[[str], str | None]


def is_navigation(header: Header, method: str = "GET") -> bool:
    """Return whether a browser displays the response as a page. `header` returns a request header, or None."""
    if method not in {"GET", "HEAD", "POST"} or (header("x-requested-with") or "").lower() == "xmlhttprequest":
        return False
    accept = (header("accept") or "").lower()
    mode, destination = header("sec-fetch-mode"), header("sec-fetch-dest")
    if mode is None and destination is None:
        return _is_old_navigation(header, accept, method)
    if mode in {None, "navigate"}:
        # Chromium calls a navigation that a service worker passes on `navigate` without a destination.
        return destination is None or destination in DOCUMENTS or (mode is not None and destination == "empty")
    # Other engines send `same-origin`, as specified, and keep the destination.
    return mode == "same-origin" and destination in {None, "empty", "document"} and accept.startswith("text/html")


def is_old_browser(user_agent: str) -> bool:
    """Return whether a browser with this name may request a page without saying so in other headers."""
    return OLD_BROWSERS.search(user_agent) is not None or ENGINES.search(user_agent) is not None


def framed_by(header: Header) -> str:
    """Return whether the page is loaded into a frame: empty, `same` (site), or `cross`."""
    if header("sec-fetch-dest") not in DOCUMENTS - {"document"}:
        return ""
    return "cross" if header("sec-fetch-site") == "cross-site" else "same"


def _is_old_navigation(header: Header, accept: str, method: str) -> bool:
    content_type = (header("content-type") or "").partition(";")[0].strip().lower()
    if method == "POST" and content_type and content_type not in FORMS:
        return False
    if PAGES.search(accept):
        return True
    if PARTS.search(accept) or header("sec-ch-ua") is not None:
        # Hints come over TLS alone, and then `Sec-Fetch-Mode` would have come with them.
        return False
    name = header("user-agent") or ""
    if OLD_BROWSERS.search(name):
        return True
    if header("upgrade-insecure-requests") is not None:
        return True
    # A page's script sends an origin or a referrer. Without either this is most likely an app that opens an address.
    return bool(ENGINES.search(name)) and header("origin") is None and header("referer") is None
