"""The shape of the headers: which are there, how many, in which order. Client hints are in `client_hints.py`."""

from agentgate.protection.signals.signal_input import Labels, Look

FEW_HEADERS, MANY_HEADERS = 4, 40
USUAL_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

# The order in which each engine has written these for years, in HTTP/1 and HTTP/2 alike.
ORDER = {
    "chromium": ("accept", "accept-encoding", "accept-language"),
    "firefox": ("accept", "accept-language", "accept-encoding"),
    "safari": ("accept-language", "accept-encoding"),
}
# What proxies that sort the others write before them.
WRITTEN_FIRST = frozenset({"host", "user-agent", "content-length"})
# Fewer can be in this order by chance. Every browser sends more.
SORTED_HEADERS = 5
BROWSERS_SEND = (
    ("accept", "http.accept_missing"),
    ("accept-language", "http.accept_language_missing"),
    ("accept-encoding", "http.accept_encoding_missing"),
)


def header_labels(look: Look) -> Labels:
    """Return `http.*` of the headers' shape, and of the few values that have one."""
    key = (look.names, look.user_agent.engine)
    shape = look.intel.shapes.get(key)
    if shape is None:
        shape = look.intel.shapes.put(key, shape_labels(*key))
    special = _special(look)
    return (*shape, *special) if special else shape


def shape_labels(names: tuple[str, ...], engine: str) -> tuple[str, ...]:
    """Return what the names and their order say, beside what the User-Agent claims."""
    present = frozenset(names)
    labels = [label for name, label in BROWSERS_SEND if name not in present]
    if len(names) < FEW_HEADERS:
        labels.append("http.few_headers")
    if len(names) > MANY_HEADERS:
        labels.append("http.many_headers")
    if "via" in present:
        labels.append("http.via")
    if engine and not _in_order(names, ORDER[engine]):
        labels.append("http.order_mismatch")
    return tuple(labels)


def _in_order(names: tuple[str, ...], expected: tuple[str, ...]) -> bool:
    # Some proxies sort the headers, programs written in Go all but the first few; then their order says nothing about
    # the client.
    rest = [name for name in names if name not in WRITTEN_FIRST]
    if len(rest) >= SORTED_HEADERS and rest == sorted(rest):
        return True
    places = [names.index(name) for name in expected if name in names]
    return places == sorted(places)


def _special(look: Look) -> list[str]:
    headers = look.headers
    labels = []
    if headers.get("connection") == "close":
        labels.append("http.connection_close")
    if look.user_agent.engine and headers.get("accept") == "*/*" and headers.get("sec-fetch-mode") == "navigate":
        labels.append("http.accept_mismatch")
    if len(headers) != len(look.facts.headers):
        labels.append("http.duplicate_header")
    if look.facts.method not in USUAL_METHODS:
        labels.append("http.unusual_method")
    return labels
