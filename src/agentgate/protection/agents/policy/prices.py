"""Prices: what an agent offers for a request, and whether that will do, compared in minor units.

An offer counts only when the agent's verified signature covers it: who does not sign it did not make it.
"""

from collections.abc import Mapping

from msgspec import Struct

from agentgate.lib.enums import AgentVerdict
from agentgate.lib.errors import CrawlerError
from agentgate.lib.price import Price, read_price
from agentgate.protection.agents.identity import Identity

EXACT = "crawler-exact-price"
MOST = "crawler-max-price"
# What every crawler reads to learn the rules is never charged for.
FREE_PATHS = frozenset(
    ("/robots.txt", "/sitemap.xml", "/security.txt", "/.well-known/security.txt", "/crawlers.json"),
)
READING = frozenset(("GET", "HEAD"))

# The status of a refused offer at submit; the gateway's reasons go with it.
REQUIRED, INVALID = "payment_required", "payment_invalid"

Headers = Mapping[bytes, bytes]


class PriceOffer(Struct, frozen=True, gc=False):
    """What came of an offer: a price to charge, or what is wrong with it."""

    # What the request costs; None when it is free.
    price: Price | None = None
    error: CrawlerError | None = None
    # `payment_required` or `payment_invalid`; None when the offer will do.
    reason: str | None = None

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """What a refused offer is answered with: the price, and what is wrong."""
        if self.price is None or self.error is None:
            return []
        return [(b"crawler-price", self.price.text().encode()), (b"crawler-error", self.error.value.encode())]


FREE = PriceOffer()


def is_free(method: str, path: str) -> bool:
    """Say whether a request is for one of the files that never cost anything."""
    return path in FREE_PATHS and method in READING


def read_offer(price: Price | None, headers: Headers, identity: Identity) -> PriceOffer:
    """Return what comes of a request with this price. For a free request no offer is looked at."""
    if price is None:
        return FREE
    exact, most = headers.get(EXACT.encode()), headers.get(MOST.encode())
    if exact is not None and most is not None:
        return PriceOffer(price, CrawlerError.CONFLICTING_PRICE_HEADERS, INVALID)
    if exact is None and most is None:
        return PriceOffer(price, CrawlerError.MISSING_CRAWLER_PRICE, REQUIRED)
    name, sent = (EXACT, exact) if exact is not None else (MOST, most or b"")
    # Two lines of the same header came joined, so they are no price either.
    offer = read_price(sent.decode("latin-1").strip(" \t"))
    if offer is None:
        return PriceOffer(price, CrawlerError.INVALID_CRAWLER_PRICE_VALUE, INVALID)
    if name not in identity.covered or identity.verdict is not AgentVerdict.VERIFIED:
        is_verified = identity.verdict is AgentVerdict.VERIFIED
        return PriceOffer(price, CrawlerError.STRONG_AUTH_REQUIRED, INVALID if is_verified else REQUIRED)
    error = _shortfall(name, offer, price)
    return PriceOffer(price) if error is None else PriceOffer(price, error, REQUIRED)


def _shortfall(name: str, offer: Price, price: Price) -> CrawlerError | None:
    if name == EXACT:
        return None if offer == price else CrawlerError.INVALID_CRAWLER_EXACT_PRICE
    is_enough = offer.currency == price.currency and offer.minor_units >= price.minor_units
    return None if is_enough else CrawlerError.INVALID_CRAWLER_MAX_PRICE
