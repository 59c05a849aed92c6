"""The TLS handshake as the proxy saw it (`X-JA4`, set by the adapter alone): whether the claimed browser makes such.

Engines choose their cipher suites for years at a time, so the hash over them (the middle part of a JA4 fingerprint)
names the engine. An unknown hash is judged by its form only: tomorrow's release must pass.
"""

import re

from agentgate.decision.signals.browsers import BROWSERS, engine_of
from agentgate.decision.signals.signal_input import Labels, SignalInput

MISMATCH = ("http.tls_mismatch",)
# Transport, version, whether a host was named, how many suites and extensions, ALPN; then the suites' hash.
JA4 = re.compile(r"([tqd])(\d\d|s\d|d\d)[di](\d\d)(\d\d)(\w\w)_([0-9a-f]{12})_[0-9a-f]{12}\Z", re.ASCII)


def tls_labels(request: SignalInput) -> Labels:
    """Return `http.tls_mismatch`; nothing where the proxy passes no fingerprint on."""
    text, claimed = request.facts.ja4, request.user_agent
    if text is None or claimed.major < engine_of(claimed.engine).tls_since:
        return ()
    found = JA4.match(text)
    if found is None:
        return ()
    # A WebSocket is opened over HTTP/1.1.
    return () if _fits(claimed.engine, found, is_upgrade="upgrade" in request.headers) else MISMATCH


def _fits(engine: str, found: re.Match[str], *, is_upgrade: bool) -> bool:
    transport, version, suites, extensions, protocol, digest = found.groups()
    if version != "13":
        return False
    if transport == "q":
        # Over QUIC all engines have the same three suites.
        return protocol == "h3"
    if protocol != "h2" and not is_upgrade:
        return False
    known = BROWSERS.tls_suites.get(digest)
    if known is not None:
        return known == engine
    fewest, most, least = engine_of(engine).tls_form
    return fewest <= int(suites) <= most and int(extensions) >= least
