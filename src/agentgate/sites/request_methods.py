"""Which methods a request could have for the server behind the proxy (pure): its own, and those that override it.

`methods_of(method, target, overrides=..., has_fields=..., form_override=...)` returns a set of methods, or None (any):
the `methods` of `RouteTable.matches`. `has_fields(content_type)` returns the value for `has_fields`. `overrides` are
the values of `OVERRIDE_HEADERS` that the request has.
"""

import re
from collections.abc import Iterable

from agentgate.sites.targets import MARK, PERCENT, decoded_texts

OVERRIDE_HEADERS = (b"x-http-method-override", b"x-http-method", b"x-method-override")

# RFC 9110 and PATCH; WebDAV (RFC 4918, 3253, 3648, 3744, 4437, 5323, 5842); CalDAV (RFC 4791).
_HTTP = "GET HEAD POST PUT PATCH DELETE OPTIONS TRACE CONNECT"
_DAV = """PROPFIND PROPPATCH MKCOL COPY MOVE LOCK UNLOCK ORDERPATCH ACL SEARCH BIND UNBIND REBIND
    VERSION-CONTROL REPORT CHECKOUT CHECKIN UNCHECKOUT MKWORKSPACE UPDATE LABEL MERGE BASELINE-CONTROL MKACTIVITY
    MKREDIRECTREF UPDATEREDIRECTREF MKCALENDAR"""
KNOWN_METHODS = frozenset((*_HTTP.split(), *_DAV.split()))
# A handler of GET also handles HEAD.
_ALONE = {name: frozenset({name, "GET"} if name == "HEAD" else {name}) for name in KNOWN_METHODS}

# A parameter of that name, and its value. PHP reads a dot, a blank or a bracket in a name as `_`, and `_method[]` as an
# array; ASP.NET takes the header's name as a parameter too.
_PARAMETER = re.compile(
    r"(?:[_.\[]method|x-http-method(?:-override)?|x-method-override)\s*(?:\[[^=]*)?(?:=(.*)|\Z)", re.DOTALL
)
_PARAMETER_ENDS = re.compile(r"[?&;/#]")
_BLANKS = " +"
_MEDIA_TYPE = re.compile(rb"\s*[\w.+!#$&^-]+/[\w.+!#$&^-]+\s*(?:;.*)?\Z", re.DOTALL)
_FIELDS = re.compile(rb"x-www-form-urlencoded|multipart|json", re.IGNORECASE)


def methods_of(
    method: str, target: bytes, *, overrides: Iterable[bytes] = (), has_fields: bool = False, form_override: bool = True
) -> frozenset[str] | None:
    """Return every method that the request could have; None for any."""
    found = _ALONE.get(method)
    if found is None:
        return None
    if method == "POST" and has_fields and form_override:
        # The gateway sees no body. Servers take any text in a field `_method` for a method: Rack and Express also GET.
        return None
    names = _methods_in(target)
    if names is None:
        return None
    if overrides:
        names += [name.strip().upper() for value in overrides for name in value.decode("latin-1").split(",")]
    for name in names:
        # One that is not understood may be understood by the server behind, or be passed over.
        if name not in KNOWN_METHODS:
            return None
        found |= _ALONE[name]
    return found


def has_fields(content_type: bytes | None) -> bool:
    """Return whether servers could read fields from the body: a form's, a JSON object's, or of an unclear type."""
    return content_type is None or _FIELDS.search(content_type) is not None or _MEDIA_TYPE.match(content_type) is None


def _methods_in(target: bytes) -> list[str] | None:
    """Return the methods that parameters of the target ask for; None when it is beyond the bounds of decoding."""
    if PERCENT not in target and target.isascii() and target.lower().find(b"method") < 0:
        return []
    texts = decoded_texts(target)
    if texts is None:
        return None
    # A mark is nothing, or ends a text.
    spellings = dict.fromkeys(text.replace(MARK, other) for text in texts for other in ("", "&"))
    parameters = (part.strip(_BLANKS) for spelling in spellings for part in _PARAMETER_ENDS.split(spelling))
    found = (_PARAMETER.match(part) for part in parameters if "method" in part)
    return [(parameter[1] or "").strip(_BLANKS).upper() for parameter in found if parameter]
