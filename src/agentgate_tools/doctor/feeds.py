"""Feeds that a page links: exact targets on the page's origin, with their query, as `feeds` of a site takes them."""

import contextlib
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

from agentgate.sites.validate import FEEDS, can_be_feed

FEED_TYPES = frozenset(("application/rss+xml", "application/atom+xml", "application/feed+json"))


def feeds_of(url: str, page: bytes) -> list[str]:
    """Return the feeds of a page at an address that a site can declare: each once, in the order of the page."""
    reader = _LinkReader()
    # Python before 3.13.6 raises this for declarations such as `<![<`.
    with contextlib.suppress(AssertionError):
        reader.feed(page.decode("utf-8", "replace"))
    own = urlsplit(url)
    found = []
    for link in reader.links:
        try:
            parts = urlsplit(urljoin(url, link))
        except ValueError:
            continue
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        if (parts.scheme, parts.netloc) == (own.scheme, own.netloc) and can_be_feed(target):
            found.append(target)
    return list(dict.fromkeys(found))[:FEEDS]


class _LinkReader(HTMLParser):
    """Collects the addresses of `<link rel="alternate">` with a feed's type."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        is_alternate = "alternate" in values.get("rel", "").lower().split()
        if tag == "link" and is_alternate and values.get("type", "").strip().lower() in FEED_TYPES:
            self.links.append(values.get("href", "").strip())
