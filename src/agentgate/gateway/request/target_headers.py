"""Headers of a visitor that an application may read as another request: another target, host or method.

The gate judges their values instead of relying on each proxy to clear them. Names are compared after folding, as
applications and servers read `_` and `.` as `-`.
"""

from collections.abc import Mapping
from functools import lru_cache

from agentgate.http.request_guard import judge_host

_PARTS = (
    *(
        "url",
        "uri",
        "path",
        "prefix",
        "path-base",
        "pathbase",
        "path-info",
        "request-uri",
        "request-path",
        "request-url",
    ),
    *("script-name", "context", "context-path", "query", "query-string", "location", "redirect", "target", "route"),
)
_FAMILIES = ("x-original", "x-forwarded", "x-rewrite", "x-real", "x-proxy", "x-override", "x-http", "x-envoy-original")
# Their values could be any route.
TARGET_HEADERS = frozenset(
    (
        *(f"{family}-{part}" for family in _FAMILIES for part in _PARTS),
        *("x-url", "x-uri", "x-path", "x-path-info", "x-prefix", "x-script-name", "x-request-uri", "x-request-url"),
        *("x-request-path", "request-uri", "script-name", "path-info", "script-url", "redirect-url", "x-base-path"),
        *("x-original-forwarded-uri", "x-ms-original-url", "x-waws-unencoded-url", "x-unencoded-url", "unencoded-url"),
        *("x-http-path-override", "x-http-destinationurl", "x-envoy-decorator-operation", "x-ingress-path"),
        *(
            "x-accel-redirect",
            "x-accel-mapping",
            "x-sendfile",
            "x-reproxy-url",
            "base-url",
            "x-base-url",
            "destination",
        ),
        *(
            "x-subpath",
            "x-virtual-path",
            "x-external-path",
            "x-mapped-path",
            "x-nginx-original-uri",
            "x-auth-request-uri",
        ),
        *("x-auth-request-redirect", "x-dispatch-path", "x-target-path", "x-target-url", "x-upstream-path"),
    )
)
# Hosts, which applications join with the path. Their values are judged as targets unless they are hosts.
HOST_HEADERS = frozenset(
    ("x-forwarded-host", "x-host", "x-original-host", "x-real-host", "x-forwarded-server", "x-http-host-override")
)
METHOD_HEADERS = frozenset(("x-original-method", "x-forwarded-method"))
# Names that AgentGate itself uses. A site trusts them, so a request with one of them is blocked.
OWN_HEADERS = frozenset(
    f"x-service-{part}"
    for part in ("decision", "decision-id", "reason", "would-decision", "drop", "status", "message", "denial")
)
# A visitor can only send a name that an application folds to one of these: the adapter overwrites the exact names.
ADAPTER_HEADERS = frozenset(("x-agentgate-request", "x-agentgate-secret"))
_FOLDED = bytes.maketrans(b"_.", b"--")
_REPEATED_AT_MOST = 4


class ClaimedRequest:
    """Further targets and methods that the headers of a request name."""

    __slots__ = ("is_forged", "methods", "names", "targets")

    def __init__(self, headers: Mapping[bytes, bytes]) -> None:
        self.is_forged = False
        self.methods: list[bytes] = []
        self.targets: list[bytes] = []
        # Headers with a target or a method, as they arrived.
        self.names: set[bytes] = set()
        for name, value in headers.items():
            kind = _kind_of(name)
            if kind is not None:
                self._read(name, kind, value)

    @property
    def joined(self) -> bytes:
        """All other targets as one text, in which the words of each pair occur in both orders."""
        return b" ".join(self.targets * min(len(self.targets), _REPEATED_AT_MOST))

    def _read(self, name: bytes, kind: str, value: bytes) -> None:
        if kind == "target":
            self.names.add(name)
            self.targets.append(value)
        elif kind == "method":
            self.names.add(name)
            self.methods.append(value)
        elif kind == "other host":
            if judge_host(value) is not None:
                self.targets.append(value)
        elif kind == "host":
            self.is_forged |= judge_host(value) is not None
        elif kind == "upgrade":
            # Another protocol is a tunnel whose requests are not judged.
            self.is_forged |= value.lower() != b"websocket"
        else:
            self.is_forged = True


def names_target(name: bytes) -> bool:
    """Return whether an application may read a header of this name as the target."""
    return _kind_of(name) == "target"


@lru_cache(maxsize=4_096)
def _kind_of(name: bytes) -> str | None:
    """Return how a header of this name is read; None for most."""
    folded = name.translate(_FOLDED).decode("latin-1")
    if folded in OWN_HEADERS or (folded in ADAPTER_HEADERS and name != folded.encode()):
        return "forged"
    for names, kind in ((TARGET_HEADERS, "target"), (METHOD_HEADERS, "method"), (HOST_HEADERS, "other host")):
        if folded in names:
            return kind
    return folded if folded in {"host", "upgrade"} else None
