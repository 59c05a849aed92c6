"""OpenPaths: the paths that a site opened to one sender each, such as `/hooks/stripe` to Stripe.

A service is known by what it publishes: the networks it sends from, or the header in which it signs. Where it publishes
networks, those count. A signature can only be checked by the site, which has the key: here its header keeps out whoever
came by chance, and the site refuses the rest as it always has.
"""

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from msgspec import Struct

from agentgate.protection.sites.records import SiteOpenPath


class Sender(Struct, frozen=True):
    """A service that posts to sites."""

    signatures: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()


_STRIPE = (
    *("3.18.12.63/32", "3.130.192.231/32", "13.235.14.237/32", "13.235.122.149/32", "18.211.135.69/32"),
    *("35.154.171.200/32", "52.15.183.38/32", "54.88.130.119/32", "54.88.130.237/32", "54.187.174.169/32"),
    *("54.187.205.235/32", "54.187.216.72/32"),
)
_GITHUB = (
    *("192.30.252.0/22", "185.199.108.0/22", "140.82.112.0/20", "143.55.64.0/20"),
    *("2a0a:a440::/29", "2606:50c0::/32"),
)
_PADDLE = (
    *("34.232.58.13/32", "34.195.105.136/32", "34.237.3.244/32"),
    *("35.155.119.135/32", "52.11.166.252/32", "34.212.5.7/32"),
)
_POSTMARK = ("3.134.147.250/32", "50.31.156.6/32", "50.31.156.77/32", "18.217.206.57/32")

SENDERS = {
    "adyen": Sender(signatures=("x-adyen-hmac-signature", "hmacsignature")),
    "asana": Sender(signatures=("x-hook-signature", "x-hook-secret")),
    "bitbucket": Sender(signatures=("x-hub-signature", "x-event-key")),
    "calendly": Sender(signatures=("calendly-webhook-signature",)),
    "checkout": Sender(signatures=("cko-signature",)),
    "coinbase": Sender(signatures=("x-cc-webhook-signature",)),
    "discord": Sender(signatures=("x-signature-ed25519",)),
    "docusign": Sender(signatures=("x-docusign-signature-1",)),
    "flutterwave": Sender(signatures=("verif-hash",)),
    "gitea": Sender(signatures=("x-gitea-signature", "x-forgejo-signature", "x-gogs-signature")),
    "github": Sender(signatures=("x-hub-signature-256",), networks=_GITHUB),
    "gitlab": Sender(signatures=("x-gitlab-token", "x-gitlab-event")),
    "hubspot": Sender(signatures=("x-hubspot-signature", "x-hubspot-signature-v3")),
    "intuit": Sender(signatures=("intuit-signature",)),
    "lemonsqueezy": Sender(signatures=("x-signature",)),
    "line": Sender(signatures=("x-line-signature",)),
    "linear": Sender(signatures=("linear-signature",)),
    "mandrill": Sender(signatures=("x-mandrill-signature",)),
    "mollie": Sender(signatures=("x-mollie-signature",)),
    "paddle": Sender(signatures=("paddle-signature",), networks=_PADDLE),
    "pagerduty": Sender(signatures=("x-pagerduty-signature",)),
    "paypal": Sender(signatures=("paypal-transmission-sig",)),
    "paystack": Sender(signatures=("x-paystack-signature",)),
    "plaid": Sender(signatures=("plaid-verification",)),
    "postmark": Sender(networks=_POSTMARK),
    "razorpay": Sender(signatures=("x-razorpay-signature",)),
    "sendgrid": Sender(signatures=("x-twilio-email-event-webhook-signature",)),
    "sentry": Sender(signatures=("sentry-hook-signature",)),
    "shopify": Sender(signatures=("x-shopify-hmac-sha256",)),
    "slack": Sender(signatures=("x-slack-signature",)),
    "square": Sender(signatures=("x-square-hmacsha256-signature",)),
    "stripe": Sender(signatures=("stripe-signature",), networks=_STRIPE),
    "svix": Sender(signatures=("svix-signature", "webhook-signature")),
    "telegram": Sender(networks=("149.154.160.0/20", "91.108.4.0/22")),
    "trello": Sender(signatures=("x-trello-webhook",)),
    "twilio": Sender(signatures=("x-twilio-signature",)),
    "typeform": Sender(signatures=("typeform-signature",)),
    "vercel": Sender(signatures=("x-vercel-signature",)),
    "woocommerce": Sender(signatures=("x-wc-webhook-signature",)),
    "xero": Sender(signatures=("x-xero-signature",)),
    "zendesk": Sender(signatures=("x-zendesk-webhook-signature",)),
    "zoom": Sender(signatures=("x-zm-signature",)),
}


ANYONE = "anyone"
BELOW = "/*"
PATH_CHARACTERS, NOTE_CHARACTERS = 1_024, 200
# Plain, so that no server reads anything else in it.
_PATH = re.compile(r"(?:/(?!\.{1,2}(?:/|\Z))[A-Za-z0-9._~@:+=!,-]+)+/?\Z", re.ASCII)

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class _Opening(Struct, frozen=True):
    """One entry, ready to be asked."""

    networks: tuple[Network, ...] = ()
    signatures: frozenset[str] = frozenset()
    to_anyone: bool = False

    def is_sender(self, signatures: frozenset[str], address: str) -> bool:
        if self.to_anyone:
            return True
        if self.networks:
            return _is_within(address, self.networks)
        return not self.signatures.isdisjoint(signatures)


class OpenPath(Struct, frozen=True):
    """All entries of a path: each opens it to one sender."""

    openings: tuple[_Opening, ...]

    def is_sender(self, signatures: frozenset[str], address: str) -> bool:
        """Say whether a request comes from a sender that the path is open to."""
        return any(each.is_sender(signatures, address) for each in self.openings)


class OpenPaths:
    """A site's open paths."""

    def __init__(self, entries: Iterable[SiteOpenPath]) -> None:
        self._exact: dict[str, tuple[_Opening, ...]] = {}
        self._below: list[tuple[str, _Opening]] = []
        for entry in entries:
            opening = _read(entry)
            if entry.path.endswith(BELOW):
                self._below.append((entry.path.removesuffix("*"), opening))
            else:
                self._exact[entry.path] = (*self._exact.get(entry.path, ()), opening)

    def find(self, target: str) -> OpenPath | None:
        """Return what is opened of a target; with any method, since a sender may look whether the path is there."""
        if not self._exact and not self._below:
            return None
        path = target.partition("?")[0]
        if _PATH.match(path) is None:
            return None
        below = (opening for start, opening in self._below if path.startswith(start))
        found = (*self._exact.get(path, ()), *below)
        return OpenPath(found) if found else None


def find_open_path_problem(entry: SiteOpenPath) -> str | None:
    """Return what is wrong with an entry: the field, and what would be right."""
    path = entry.path.removesuffix("*") if entry.path.endswith(BELOW) else entry.path
    if len(entry.path) > PATH_CHARACTERS or _PATH.match(path) is None:
        return "path must be plain, such as /hooks/stripe, or /hooks/* for all below it; / alone cannot be opened."
    if isinstance(entry.note, str) and len(entry.note) > NOTE_CHARACTERS:
        return f"note may have at most {NOTE_CHARACTERS} characters."
    if entry.sender == ANYONE or entry.sender in SENDERS or _network(entry.sender) is not None:
        return None
    known = ", ".join(sorted(SENDERS))
    return f"sender {entry.sender[:100]!r} must be {ANYONE}, an address or network, or one of: {known}."


def _read(entry: SiteOpenPath) -> _Opening:
    if entry.sender == ANYONE:
        return _Opening(to_anyone=True)
    network = _network(entry.sender)
    if network is not None:
        return _Opening(networks=(network,))
    sender: Sender = SENDERS[entry.sender]
    return _Opening(networks=tuple(map(ip_network, sender.networks)), signatures=frozenset(sender.signatures))


def _network(text: str) -> Network | None:
    try:
        return ip_network(text)
    except ValueError:
        return None


def _is_within(address: str, networks: Iterable[Network]) -> bool:
    try:
        found = ip_address(address)
    except ValueError:
        return False
    return any(found in network for network in networks)


NO_OPEN_PATHS = OpenPaths(())
