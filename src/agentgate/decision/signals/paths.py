"""Labels of a method and a target: standard paths, feeds and protocols of tools (pure).

Standard paths and feeds are exact, and count only for GET and HEAD on plain targets: servers read escapes, `;` and
dotted segments differently. `path.protocol` is a claim like a User-Agent: no route and no whole-site protection
depends on it.
"""

import re
from functools import lru_cache

from agentgate.sites.open_paths import ROOT_FEEDS

_PLAIN = re.compile(r"(?:/(?!\.{1,2}(?:/|\Z))[A-Za-z0-9._~@:+=!*,-]+)*/?\Z", re.ASCII)
_READING = frozenset({"GET", "HEAD"})
_WELL_KNOWN = "/.well-known/"
# Proof of a domain to a certificate authority (RFC 8555; the CA/Browser Forum's baseline requirements, 3.2.2.4.18).
_CERTIFICATES = ("/.well-known/acme-challenge/", "/.well-known/pki-validation/")
STANDARD = frozenset(
    [
        "/robots.txt",
        "/favicon.ico",
        "/favicon.svg",
        "/favicon.png",
        "/ads.txt",
        "/app-ads.txt",
        "/security.txt",
        "/browserconfig.xml",
        "/manifest.json",
        "/manifest.webmanifest",
        "/site.webmanifest",
    ]
)
_STANDARD_FORM = re.compile(
    r"/(?:sitemap[A-Za-z0-9_-]*\.xml|apple-touch-icon[a-z0-9-]*\.png"
    r"|favicon-[0-9x]+\.png|android-chrome-[0-9x]+\.png|mstile-[0-9x]+\.png)\Z",
    re.ASCII,
)
OPEN_LABELS = frozenset(["path.standard", "path.feed"])
# WebDAV and CalDAV (RFC 4918, 4791): no browser opens a page with these.
_DAV_METHODS = frozenset({"PROPFIND", "PROPPATCH", "REPORT", "MKCOL", "MKCALENDAR", "OPTIONS", "PUT", "DELETE"})
_GIT_SERVICES = frozenset({"service=git-upload-pack", "service=git-receive-pack"})
_GIT_POST = re.compile(r"/.+/(?:git-(?:upload|receive)-pack|info/lfs/objects/batch)\Z", re.ASCII)
# Image registries, Python, Go, Debian, RPM, Maven, Composer and npm; then archives that package managers load.
_PACKAGES = re.compile(
    r"/(?:v2/(?:[a-z0-9._/-]+/(?:manifests|blobs|tags)/[\w.:+-]+)?|(?:.+/)?simple/(?:[\w.-]+/)?"
    r"|.+/@(?:v/(?:list|v[\w.+-]+\.(?:info|mod|zip))|latest)|(?:.+/)?dists/.+/(?:InRelease|Release(?:\.gpg)?|Packages\.[gx]z)"
    r"|(?:.+/)?repodata/[\w.-]+|(?:.+/)?maven-metadata\.xml|.+\.pom|(?:.+/)?packages\.json|p2/[\w./~-]+\.json"
    r"|.+\.(?:whl|tgz|gz|xz|bz2|zip|deb|rpm|apk|jar|gem|crate|nupkg))\Z",
    re.ASCII,
)


@lru_cache(maxsize=4_096)
def path_labels(method: str, target: str, feeds: frozenset[str] = ROOT_FEEDS) -> tuple[str, ...]:
    """Return `path.*` of a request, sorted. `feeds` are exact targets."""
    path, _, query = target.partition("?")
    if len(path) > 512 or _PLAIN.match(path) is None:
        return ()
    if method in _READING:
        if path.startswith(_WELL_KNOWN) and path != _WELL_KNOWN:
            return ("path.certificate", "path.standard") if path.startswith(_CERTIFICATES) else ("path.standard",)
        if path in STANDARD or _STANDARD_FORM.match(path) is not None:
            return ("path.standard",)
        if target in feeds:
            return ("path.feed",)
    return ("path.protocol",) if _is_protocol(method, path, query) else ()


def _is_protocol(method: str, path: str, query: str) -> bool:
    """Return whether a request fits a protocol of git, package managers, registries or WebDAV."""
    if method in _READING:
        is_git = path.endswith("/info/refs") and query in _GIT_SERVICES
        return is_git or _PACKAGES.match(path) is not None
    if method == "POST":
        return _GIT_POST.match(path) is not None
    return method in _DAV_METHODS
