"""Which protection a request has: its path in every reading that a server behind the proxy might have of it.

Proxies and frameworks disagree on `%2f`, `//`, `..`, `;` and capital letters. A request is as protected as the most
protected route that any of them could run for it.
"""

import re
from collections.abc import Iterable, Mapping
from urllib.parse import unquote_to_bytes

from msgspec import Struct

from agentgate.protection.sites.directory import SiteView
from agentgate.protection.sites.routes import ANY_ROUTE, MatchedRoute, RouteTable

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT")
_KNOWN = frozenset(METHODS)
# Some servers decode what a proxy has decoded already.
MOST_DECODINGS = 3

OVERRIDES = (b"x-http-method-override", b"x-http-method", b"x-method-override")
# Bounds of what is remembered: visitors choose paths.
MOST_SITES, MOST_PATHS, LONGEST_PATH = 1_024, 2_048, 256

# What makes servers read a path differently, beside capitals and a slash at the end.
_UNUSUAL = re.compile(r"[%;\\\x00-\x20\x7f-\xff]|//|/\.")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_OLD_ESCAPE = re.compile(r"%[uU][0-9A-Fa-f]{4}")
_SLASHES = re.compile(r"/{2,}")
_PARAMETERS = re.compile(r";[^/]*")
_QUERY = re.compile(r"[?#]")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")


class Protection(Struct, frozen=True, gc=False):
    """The route as decisions name it, its action, and whether a token or clearance is needed."""

    route: str
    action: str | None
    required: bool
    # Whether a clearance will do, as opposed to a token for each request.
    clearance: bool = False


OPEN = Protection(ANY_ROUTE, None, required=False)
# Nobody sends these by accident to a site whose routes are known.
CLOSED = Protection(ANY_ROUTE, None, required=True, clearance=True)


class Protections:
    """Finds protections, and remembers those of late: a site has few paths that most visitors ask for."""

    def __init__(self) -> None:
        # By the site's number: the view that it was worked out from, and what was found.
        self._found: dict[int, tuple[SiteView, dict[tuple[str, str, str | None], Protection]]] = {}

    def find(self, site: SiteView, method: str, path: str, *, override: str | None = None) -> Protection:
        """Return the strongest protection that any reading of the request has."""
        if site.routes.is_empty:
            return OPEN
        known = self._found.get(site.number)
        if known is None or known[0] is not site:
            if len(self._found) >= MOST_SITES:
                self._found.clear()
            known = self._found[site.number] = site, {}
        paths = known[1]
        found = paths.get((method, path, override))
        if found is None:
            found = protection_of(site, method, path, override=override)
            if len(path) <= LONGEST_PATH and (override is None or len(override) <= LONGEST_PATH):
                if len(paths) >= MOST_PATHS:
                    paths.clear()
                paths[method, path, override] = found
        return found


def override_of(headers: Mapping[bytes, bytes]) -> str | None:
    """Return the methods that headers put in place of the request's own; None where they do not."""
    # Of several, any may be the one that the server behind obeys. One without a value is there all the same.
    found = [headers[name].decode("latin-1") for name in OVERRIDES if name in headers]
    return ",".join(found) if found else None


def protection_of(site: SiteView, method: str, path: str, *, override: str | None = None) -> Protection:
    """Return the strongest protection that any reading of the request has."""
    if site.routes.is_empty:
        return OPEN
    overrides = () if override is None else tuple(each.strip().upper() for each in override.split(","))
    if method not in METHODS or not set(overrides) <= _KNOWN:
        return CLOSED
    methods = tuple(dict.fromkeys(found for each in (method, *overrides) for found in _methods(each)))
    if _UNUSUAL.search(path) is None:
        readings = [path] if path[-1] != "/" or path == "/" else [path, path.rstrip("/")]
    else:
        readings, is_decodable = readings_of(path)
        if not is_decodable:
            return CLOSED
    matches = _match_all(site.routes, methods, readings)
    # Capitals may also come out of the escapes.
    folded = [reading.lower() for reading in readings]
    if site.folded_routes is not site.routes or folded != readings:
        matches += _match_all(site.folded_routes, methods, folded)
    return _strongest(site, matches)


def readings_of(path: str) -> tuple[list[str], bool]:
    """Return every reading of a path, the path itself first, and whether each decoding made sense."""
    stages, is_decodable = _decodings(path)
    readings: dict[str, None] = {}
    for stage in stages:
        # What is decoded before it is taken apart ends at a `?` or `#` that was escaped.
        for text in dict.fromkeys(text for cut in _cuts(stage) for text in (cut, cut.replace("\\", "/"))):
            readings.update(dict.fromkeys(_spellings(text)))
    for reading in list(readings):
        readings.setdefault(reading.rstrip("/") or "/")
    return list(readings), is_decodable


def _decodings(path: str) -> tuple[list[str], bool]:
    stages = [path]
    for _ in range(MOST_DECODINGS):
        text = stages[-1]
        # A second decoding is what few servers do, and `/100%25` is a plain path: there a lone `%` stays what it is.
        if (_BAD_ESCAPE if text is path else _OLD_ESCAPE).search(text):
            return stages, False
        try:
            # As it came it is bytes; what was decoded already is text.
            decoded = unquote_to_bytes(text.encode("latin-1" if text is path else "utf-8")).decode("utf-8")
        except (UnicodeDecodeError, UnicodeEncodeError):
            # Of bytes that are no UTF-8, every server makes something else.
            return stages, text.isascii() and "%" not in text
        if _CONTROLS.search(decoded):
            return stages, False
        if decoded == text:
            break
        stages.append(decoded)
    return stages, True


def _cuts(stage: str) -> tuple[str, ...]:
    return (stage,) if "?" not in stage and "#" not in stage else (stage, _QUERY.split(stage, maxsplit=1)[0] or "/")


def _spellings(text: str) -> Iterable[str]:
    merged, stripped, resolved = _merge(text), _strip(text), _resolve(text)
    yield from (text, merged, stripped, resolved)
    yield from (_resolve(merged), _merge(resolved), _resolve(stripped), _merge(_resolve(stripped)))
    yield from (_merge(stripped), _resolve(_merge(stripped)))


def _merge(text: str) -> str:
    return _SLASHES.sub("/", text)


def _strip(text: str) -> str:
    return _PARAMETERS.sub("", text)


def _resolve(text: str) -> str:
    kept: list[str] = []
    for segment in text.split("/")[1:]:
        if segment == "..":
            if kept:
                kept.pop()
        elif segment != ".":
            kept.append(segment)
    is_folder = text.endswith(("/.", "/.."))
    return "/" + "/".join(kept) + ("/" if is_folder and kept and kept[-1] else "")


def _methods(method: str) -> tuple[str, ...]:
    # What answers GET answers HEAD.
    return ("HEAD", "GET") if method == "HEAD" else (method,)


def _match_all(table: RouteTable, methods: tuple[str, ...], paths: Iterable[str]) -> list[MatchedRoute]:
    return [table.match(method, path) for path in paths for method in methods]


def _strongest(site: SiteView, matches: Iterable[MatchedRoute]) -> Protection:
    best = OPEN
    for matched in matches:
        if matched.action is None:
            continue
        action = site.actions.get(matched.action)
        required = action is not None and action.browser_required
        if best.action is None or (required and not best.required):
            clearance = action is not None and action.clearance is True
            best = Protection(matched.route, matched.action, required=required, clearance=clearance)
    return best
