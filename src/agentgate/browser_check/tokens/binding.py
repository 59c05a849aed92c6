"""Token binding: the client that earned a token, so that no other client can redeem it.

A token carries keyed digests, computed separately for each token: of the network that earned it (/24 of IPv4, /48 of
IPv6) and of the User-Agent, with the browser's engine and the ID of the clearance that came with it. Only this service
can compare them, and two tokens of one visitor have nothing in common.
"""

from enum import Enum
from ipaddress import ip_network
from socket import AF_INET, AF_INET6, inet_pton

from msgspec import UNSET, Struct

from agentgate.browser_check.tokens.receipts import Claims
from agentgate.decision.signals.detectors.browser_class import browser_class
from agentgate.lib import base64url
from agentgate.lib.enums import TokenBinding
from agentgate.lib.keyring import Keyring
from agentgate.sites.directory import SiteView

# The key that rotates with a day's grace: a token lives for minutes.
PURPOSE = "clearance"
TAG_BYTES = 16
V4_BYTES, V6_BYTES = 3, 6
# Ends the kind of a private address.
INSIDE = "i"
# Private addresses, which a visitor has inside a network. A service outside of it sees the visitor under another
# address. The first and the last one of each network.
_INSIDE = tuple(
    (network.network_address.packed, network.broadcast_address.packed)
    for network in map(
        ip_network,
        (
            *("10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"),
            *("::1/128", "fc00::/7", "fe80::/10"),
        ),
    )
)


class Match(Enum):
    """Whether an address is in the network that earned a token."""

    SAME = "same"
    OTHER = "other"
    # One is of IPv4 and the other of IPv6, or the token's is private: a visitor may have both.
    UNKNOWN = "unknown"
    # The address is private and the token's is public: that of a proxy, or of a visitor with a VPN.
    PRIVATE = "private"


INCOMPARABLE = frozenset((Match.UNKNOWN, Match.PRIVATE))


class TokenHolder(Struct, frozen=True, gc=False):
    """The client that earns or presents a token."""

    address: str
    user_agent: str
    # IDs of genuine clearances: the one that comes with a new token, or those in the request's cookies.
    clearances: tuple[str, ...] = ()


class _Binding(Struct, frozen=True, gc=False):
    kind: str
    network: str
    engine: str
    user_agent: str
    clearance: str
    # Whether enforce mode would have passed the check, as a keyed digest that only this service can read.
    verdict: str


class Bindings:
    """Makes the claim `binding`, and compares it with the client that shows the token."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring

    def bind(self, site_key: str, receipt_id: str, holder: TokenHolder, *, is_proven: bool = True) -> str:
        """Return the claim for a new token. `is_proven`: enforce mode would have passed the check."""
        kind, network = token_network(holder.address)
        parts = (
            kind,
            self._tag(site_key, receipt_id, b"network", network),
            browser_class(holder.user_agent).engine,
            self._tag(site_key, receipt_id, b"user-agent", holder.user_agent.encode()),
            holder.clearances[0] if holder.clearances else "",
            self._tag(site_key, receipt_id, b"verdict", b"passed" if is_proven else b"failed"),
        )
        return ".".join(parts)

    def is_proven(self, claims: Claims) -> bool:
        """Return whether enforce mode would have passed the check. Monitor mode also issues tokens for others."""
        bound = _read(claims)
        return bound is None or self._is_tag(bound.verdict, claims, b"verdict", b"passed")

    def compare_network(self, claims: Claims, address: str) -> Match:
        """Say whether an address is in the network that earned a token."""
        bound = _read(claims)
        if bound is None:
            return Match.UNKNOWN
        kind, network = token_network(address)
        if kind != bound.kind:
            return Match.PRIVATE if kind.endswith(INSIDE) and not bound.kind.endswith(INSIDE) else Match.UNKNOWN
        return Match.SAME if self._is_tag(bound.network, claims, b"network", network) else Match.OTHER

    def may_redeem(self, claims: Claims, match: Match, site: SiteView, *, is_seen: bool = False) -> bool:
        """Return whether a site's server may redeem a token, given how the visitor's address matches.

        Only strict binding rejects another network: many servers send the address of their proxy. `is_seen`: this
        service saw the address itself, so another network is rejected by default as well.
        """
        if claims.binding is UNSET or site.token_binding is TokenBinding.NONE:
            return True
        if site.token_binding is TokenBinding.STRICT:
            return match is Match.SAME
        return match is not Match.OTHER or not is_seen

    def may_spend(self, claims: Claims, holder: TokenHolder, site: SiteView) -> bool:
        """Return whether a visitor may redeem a token at the gateway, which sees address, User-Agent and cookies.

        The browser must be of the same family. In addition, the network or the clearance must be the same; if the
        networks cannot be compared, the whole User-Agent must be the same.
        """
        bound = _read(claims)
        if site.token_binding is TokenBinding.NONE or bound is None:
            return True
        is_same_agent = self._is_tag(bound.user_agent, claims, b"user-agent", holder.user_agent.encode())
        if not is_same_agent and (not bound.engine or browser_class(holder.user_agent).engine != bound.engine):
            return False
        match = self.compare_network(claims, holder.address)
        if match is Match.SAME or (bound.clearance and bound.clearance in holder.clearances):
            return True
        return match in INCOMPARABLE and is_same_agent and site.token_binding is not TokenBinding.STRICT

    def _tag(self, site_key: str, receipt_id: str, what: bytes, value: bytes) -> str:
        tag = self._keyring.mac(PURPOSE, b"token-binding", site_key.encode(), receipt_id.encode(), what, value)
        return base64url.encode(tag[:TAG_BYTES])

    def _is_tag(self, tag: str, claims: Claims, what: bytes, value: bytes) -> bool:
        try:
            data = base64url.decode(tag)
        except ValueError:
            return False
        parts = (b"token-binding", claims.aud.encode(), claims.jti.encode(), what, value)
        return self._keyring.is_mac(data, PURPOSE, *parts)


def _read(claims: Claims) -> _Binding | None:
    """Return a token's binding; None where it has none, as receipts of agents."""
    if claims.binding is UNSET:
        return None
    parts = claims.binding.split(".")
    # Signed, so it is as we wrote it, unless a later release did: what it means is not known here.
    return _Binding(*parts) if len(parts) == len(_Binding.__struct_fields__) else None


def token_network(address: str) -> tuple[str, bytes]:
    """Return the kind of an address in its one spelling, and the bytes of its network."""
    if ":" in address:
        network = inet_pton(AF_INET6, address)
        return _kind_of(network, "6"), network[:V6_BYTES]
    network = inet_pton(AF_INET, address)
    return _kind_of(network, "4"), network[:V4_BYTES]


def _kind_of(address: bytes, public: str) -> str:
    is_inside = any(len(address) == len(first) and first <= address <= last for first, last in _INSIDE)
    return public + INSIDE if is_inside else public
