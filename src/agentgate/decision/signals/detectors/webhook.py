"""Headers in which services sign their webhooks. Only the site, which has the key, can check the signature."""

import re
from collections.abc import Iterable

# Names in which services send what proves their webhooks, beside those that the form of the name tells.
_NAMES = frozenset(
    [
        "verif-hash",
        "plaid-verification",
        "x-gitlab-token",
        "x-gitlab-event",
        "x-hook-secret",
        "x-goog-channel-token",
        "x-goog-channel-id",
        "paypal-transmission-sig",
        "x-event-key",
        "x-github-event",
        "x-amz-sns-message-type",
        "x-telegram-bot-api-secret-token",
        "x-wc-webhook-source",
        "x-mailgun-token",
        "x-pm-message-stream",
        "aeg-event-type",
        "ce-id",
    ]
)
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
