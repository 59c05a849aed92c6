"""The TLS handshake as the proxy saw it (`X-JA4`, set by the adapter alone): whether the claimed browser makes such.

Engines choose their cipher suites for years at a time, so the hash over them (the middle part of a JA4 fingerprint)
names the engine. An unknown hash is judged by its form only: tomorrow's release must pass.
"""

import re

from agentgate.decision.signals.signal_input import Labels, SignalInput

MISMATCH = ("http.tls_mismatch",)
# Transport, version, whether a host was named, how many suites and extensions, ALPN; then the suites' hash.
JA4 = re.compile(r"([tqd])(\d\d|s\d|d\d)[di](\d\d)(\d\d)(\w\w)_([0-9a-f]{12})_[0-9a-f]{12}\Z", re.ASCII)
# By the hash: the engine that has these suites. Recorded from handshakes of each; nothing for a library's.
SUITES = {
    "8daaf6152771": "chromium",
    "5b57614c22b0": "firefox",
    "a09f3c656075": "safari",
    # OpenSSL as curl has it, as Python has it, as Node.js has it; GnuTLS as Wget has it; Go with and without RSA.
    "e8f1e7e78f70": "",
    "85036bcba153": "",
    "a33745022dd6": "",
    "723694b0fccc": "",
    "f57a46bbacb6": "",
    "9dc949149365": "",
    # rustls.
    "f91f431d341e": "",
}
# First releases that offer TLS 1.3 and HTTP/2 as in the table.
SINCE = {"chromium": 80, "firefox": 80, "safari": 14}
# Of a hash that is not in the table: the fewest and most suites, and the fewest extensions.
FORMS = {"chromium": (10, 18, 13), "firefox": (10, 18, 12), "safari": (10, 28, 11)}


def tls_labels(request: SignalInput) -> Labels:
    """Return `http.tls_mismatch`; nothing where the proxy passes no fingerprint on."""
    text, claimed = request.facts.ja4, request.user_agent
    if text is None or claimed.engine not in SINCE or claimed.major < SINCE[claimed.engine]:
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
    known = SUITES.get(digest)
    if known is not None:
        return known == engine
    fewest, most, least = FORMS[engine]
    return fewest <= int(suites) <= most and int(extensions) >= least
