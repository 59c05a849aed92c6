"""Paths that programs ask for by a standard or by custom: what a method and a target say, as `path.*` labels (pure).

Only plain targets are looked at: no escapes, no `;`, no empty or dotted names, since servers read those differently.
A label here opens nothing by itself; the managed group `standards` does, and a site's rules may say otherwise.
"""

import re
from functools import lru_cache

_PLAIN = re.compile(r"(?:/(?!\.{1,2}(?:/|\Z))[A-Za-z0-9._~@:+=!*,-]+)*/?\Z", re.ASCII)
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
# Discovery of calendars and address books asks with it (RFC 6764).
_WELL_KNOWN_METHODS = _READING | {"PROPFIND"}
_WELL_KNOWN = "/.well-known/"
# Proof of a domain to a certificate authority (RFC 8555; the CA/Browser Forum's baseline requirements, 3.2.2.4.18).
_CERTIFICATES = ("/.well-known/acme-challenge/", "/.well-known/pki-validation/")
_STANDARD = frozenset(
    [
        "/robots.txt",
        "/favicon.ico",
        "/favicon.svg",
        "/favicon.png",
        "/ads.txt",
        "/app-ads.txt",
        "/sellers.json",
        "/humans.txt",
        "/security.txt",
        "/llms.txt",
        "/crossdomain.xml",
        "/clientaccesspolicy.xml",
        "/browserconfig.xml",
        "/manifest.json",
        "/manifest.webmanifest",
        "/site.webmanifest",
        "/opensearch.xml",
        "/apple-app-site-association",
        "/trust.txt",
    ]
)
_STANDARD_FORM = (
    r"/(?:sitemap[A-Za-z0-9_-]*\.xml(?:\.gz)?|sitemaps?/[A-Za-z0-9_-]+\.xml(?:\.gz)?|apple-touch-icon[a-z0-9-]*\.png"
    r"|(?:[\w.~!-]+/)+@(?:v/(?:list|v[\w.+-]+\.(?:info|mod|zip))|latest)"
    r"|favicon-[0-9x]+\.png|android-chrome-[0-9x]+\.png|mstile-[0-9x]+\.png)\Z"
)
_FEED = (
    r"(?i:(?:.*/)?(?:(?:feed|feeds|rss|rss2|atom|rdf|podcast)(?:/(?:rss|rss2|atom|rdf|feed|podcast|all|main|default))?/?"
    r"|[\w.-]+\.(?:rss|atom|rdf|ics|ical)"
    r"|(?:feed|feeds|rss|rss2|atom|index|podcast|news|blog|posts|comments)\.(?:xml|rdf)|feed\.json)\Z)"
)
# `/index.xml` is Hugo's feed; WordPress has `?feed=rss2`.
_FEED_QUERY = re.compile(
    r"(?:.*&)?(?:feed=(?:rss2?|atom|rdf)|format=(?:rss|atom|feed)|type=(?:rss|atom))(?:&|\Z)", re.ASCII
)
_MEDIA = r"(?i:.*\.(?:mp3|m4a|m4b|aac|ogg|oga|opus|flac|wav|mp4|m4v|webm|mov|m3u8|ts|jpe?g|png|webp)\Z)"
_GIT = (
    r".*/(?:info/refs|git-(?:upload|receive)-pack|info/lfs/.+|HEAD"
    r"|objects/(?:info/.+|pack/.+|[0-9a-f]{2}/[0-9a-f]{38}))\Z"
)
# What a path that is read can be; of several the first counts.
_READ = re.compile(rf"(?P<standard>{_STANDARD_FORM})|(?P<feed>{_FEED})|(?P<git>{_GIT})|(?P<media>{_MEDIA})", re.ASCII)
_GIT_PATH = re.compile(_GIT, re.ASCII)
# Unambiguous words match at every position; words with other uses, and senders' names, match at the end only.
_WEBHOOK = re.compile(
    r"(?:.*[/._-])?(?:(?:(?:web)?hooks?|webhook[a-z0-9]*|ipn|postbacks?)(?:[/._-].*)?"
    r"|(?:callbacks?|notif(?:y|ications?)|events?|listener"
    r"|stripe|paypal|shopify|mollie|adyen|twilio|sendgrid|mailgun|postmark|svix|slack|github|gitlab|square|paddle|klarna)/?)\Z",
    re.ASCII | re.IGNORECASE,
)
_SIGN_IN = re.compile(
    r"(?:.*[/._-])?(?:log-?in|sign-?in|sign-?up|sign_in|sign_up|logon|register|registration|sessions?|password|passwd|oauth2?"
    r"|auth|token|wp-login|xmlrpc|account|accounts|users?|checkout|cart|comments?|contact|search)(?:[/._-].*)?\Z",
    re.ASCII | re.IGNORECASE,
)


@lru_cache(maxsize=4_096)
def path_labels(method: str, target: str) -> tuple[str, ...]:
    """Return `path.*` of a request, sorted."""
    path, _, query = target.partition("?")
    if len(path) > 512 or _PLAIN.match(path) is None:
        return ()
    if path.startswith(_WELL_KNOWN):
        if method not in _WELL_KNOWN_METHODS:
            return ()
        return ("path.certificate", "path.standard") if path.startswith(_CERTIFICATES) else ("path.standard",)
    if method in _READING:
        if path in _STANDARD:
            return ("path.standard",)
        found = _READ.match(path)
        kind = None if found is None else found.lastgroup
        if query and kind != "standard" and _FEED_QUERY.match(query) is not None:
            kind = "feed"
        return () if kind is None else (f"path.{kind}",)
    return _of_posts(path) if method == "POST" else ()


def is_open_path(method: str, target: str) -> bool:
    """Return whether a route for all paths (`/*`) is not meant: standards and feeds are asked for by programs."""
    return not {"path.standard", "path.feed"}.isdisjoint(path_labels(method, target))


def _of_posts(path: str) -> tuple[str, ...]:
    if _GIT_PATH.match(path) is not None:
        return ("path.git",)
    if _SIGN_IN.match(path) is not None:
        return ("path.sign_in",)
    return ("path.webhook",) if _WEBHOOK.match(path) is not None else ()
