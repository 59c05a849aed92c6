"""The page for people while the service is unavailable. Other clients get the denial as JSON."""

from collections.abc import Iterable

# As the proxies' adapters show it. Trying again repeats a form as well.
DOWN_PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
    '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">'
    "<title>Try again in a moment</title></head>"
    '<body><main style="max-width:26rem;margin:15vh auto;padding:1.5rem;font:16px/1.5 system-ui,sans-serif">'
    '<h1 style="font-size:22px;line-height:1.3">Try again in a moment</h1>'
    "<p>This site cannot check requests right now.</p>"
    '<p><a href="" onclick="location.reload();return false" style="display:inline-block;padding:10px 20px;'
    'border:1px solid;border-radius:8px;color:inherit;font-weight:600;text-decoration:none">Try again</a></p>'
    "</main></body></html>"
)
_PAGES = ("text/html", "application/xhtml", "vnd.wap.")


def is_person(headers: Iterable[tuple[str, str]]) -> bool:
    """Return whether a browser displays the response as a page. Header names are in lower case."""
    found = dict(headers)
    mode, accept = found.get("sec-fetch-mode"), found.get("accept", "").lower()
    if found.get("x-requested-with", "").lower() == "xmlhttprequest":
        return False
    if mode is None:
        return any(kind in accept for kind in _PAGES)
    # A service worker that passes a navigation on may have to call it `same-origin`.
    return mode == "navigate" or (mode == "same-origin" and accept.startswith("text/html"))
