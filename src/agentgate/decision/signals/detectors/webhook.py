"""Headers in which services sign their webhooks. Only the site, which has the key, can check the signature."""

import re
from collections.abc import Iterable

from agentgate.decision.signals.words import WORDS

_NAMES = frozenset(WORDS.webhook_headers)
_FORM = re.compile(r"(?:.*-)?(?:signature|hmac\w*|hmacsignature|webhook)(?:-.*)?\Z", re.ASCII)
# HTTP message signatures (RFC 9421) are checked, as an agent's.
_OF_AGENTS = frozenset({"signature", "signature-input", "signature-agent", "accept-signature"})
# Headers of browsers that a server that posts to another does not send.
BROWSERS = frozenset({"cookie", "origin", "sec-fetch-mode", "sec-fetch-dest", "accept-language", "referer"})


def signatures_of(names: Iterable[str]) -> frozenset[str]:
    """Return the headers in which services sign their posts."""
    return frozenset(
        name for name in names if name in _NAMES or (name not in _OF_AGENTS and _FORM.match(name) is not None)
    )
