"""What servers make of a request: how real ones read its path and its method. Not the gateway's own code.

Each reading is a way in which some framework, server or second proxy behind the first is known to arrive at a route.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote_to_bytes

Readings = dict[str, bytes]

_OVERRIDES = (b"x-http-method-override", b"x-http-method", b"x-method-override")
# Headers from which some frameworks take the path instead of the request line.
_REWRITES = (b"x-original-url", b"x-rewrite-url")


def protected_by(method: bytes, target: bytes, headers: Mapping[bytes, bytes]) -> list[str]:
    """Return the readings under which a request runs a protected route."""
    methods = set(_methods(method, headers))
    targets = [("", target), *((f"{name.decode()}: ", headers[name]) for name in _REWRITES if name in headers)]
    return [
        f"{source}{name}"
        for source, text in targets
        for name, path in paths(text)
        if any(is_protected(each, path) for each in methods)
    ]


def is_protected(method: bytes, path: bytes) -> bool:
    """Say whether a server that took this path for granted would run a protected route: `mutations.ROUTES`."""
    if method in {b"GET", b"HEAD"}:
        return path == b"/admin" or path.startswith(b"/members/")
    if method == b"POST":
        return path == b"/login"
    return method == b"DELETE" and path.startswith(b"/api/orders/")


def _methods(method: bytes, headers: Mapping[bytes, bytes]) -> Iterator[bytes]:
    yield method
    yield method.upper()
    for name in _OVERRIDES:
        if name in headers:
            yield headers[name].strip().upper()


def paths(target: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the paths that servers see, each with who sees it."""
    whole = re.sub(rb"\A[a-zA-Z][a-zA-Z0-9+.-]*://[^/?#]*", b"", target) or b"/"
    raw = re.split(rb"[?#]", whole, maxsplit=1)[0] or b"/"
    yield "raw", raw
    once = unquote_to_bytes(raw)
    yield from _forms("raw", raw)
    yield from _forms("decoded", once)
    yield from _forms("decoded twice", unquote_to_bytes(once))
    yield from _forms("decoded before it was cut at ? or #", re.split(rb"[?#]", unquote_to_bytes(whole), maxsplit=1)[0])
    yield from _forms("overlong and %u decoded", _lenient(raw))
    # A program in C sees the end of the text where there is none.
    yield from _forms("cut at NUL", once.split(b"\0", maxsplit=1)[0])


def _forms(name: str, path: bytes) -> Iterator[tuple[str, bytes]]:
    for turned, text in ((name, path), (f"{name}, backslashes turned", path.replace(b"\\", b"/"))):
        # Servlet containers take parameters away before they resolve dots; others never do.
        for stripped, bare in ((turned, text), (f"{turned}, parameters stripped", re.sub(rb";[^/]*", b"", text))):
            for form, made in _normal_forms(bare):
                yield f"{stripped}{form}", made
                yield f"{stripped}{form}, case-insensitive", made.lower()
                # Frameworks that do not tell a path from the same one with a slash at its end.
                yield f"{stripped}{form}, slash at the end", made.rstrip(b"/") or b"/"


def _normal_forms(path: bytes) -> Iterator[tuple[str, bytes]]:
    yield "", path
    yield ", slashes merged", re.sub(rb"/{2,}", b"/", path)
    yield ", dots resolved", _resolved(path)
    if path.startswith(b"/"):
        normal = posixpath.normpath(re.sub(rb"/{2,}", b"/", path))
        yield ", normalised", normal + (b"/" if path.endswith(b"/") and normal != b"/" else b"")


def _resolved(path: bytes) -> bytes:
    """Resolve dots as RFC 3986 5.2.4 does, empty segments kept."""
    kept: list[bytes] = []
    segments = path.split(b"/")[1:]
    for index, segment in enumerate(segments):
        last = index == len(segments) - 1
        if segment == b"..":
            if kept:
                kept.pop()
            if last:
                kept.append(b"")
        elif segment == b".":
            if last:
                kept.append(b"")
        else:
            kept.append(segment)
    return b"/" + b"/".join(kept)


def _lenient(path: bytes) -> bytes:
    """Decode as old servers did: `%uXXXX`, and sequences of UTF-8 that are longer than they need be."""
    path = re.sub(rb"%u00([0-9A-Fa-f]{2})", rb"%\1", path)
    decoded = unquote_to_bytes(path)
    decoded = re.sub(
        rb"[\xc0\xc1]([\x80-\xbf])", lambda match: bytes([match[0][0] << 6 & 0x40 | match[1][0] & 0x3F]), decoded
    )
    return re.sub(
        rb"\xe0[\x80\x81]([\x80-\xbf])", lambda match: bytes([match[0][1] << 6 & 0x40 | match[1][0] & 0x3F]), decoded
    )
