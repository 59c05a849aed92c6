"""Prices: which text is one, and what comes of an offer. Each of the six errors exactly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgate.agents.identity import UNSIGNED, Identity
from agentgate.agents.policy_decision import PriceOffer, is_free, read_offer
from agentgate.lib.enums import AgentVerdict
from agentgate.lib.errors import CrawlerError
from agentgate.sites.price import Price, read_price

PRICE = Price("USD", 5)
EXACT, MOST = b"crawler-exact-price", b"crawler-max-price"

# Up to nine whole digits and two decimals.
PRICE_MOST_MINOR_UNITS = 999_999_999_99


def verified(*covered: bytes) -> Identity:
    names = frozenset(name.decode() for name in covered)
    return Identity(verdict=AgentVerdict.VERIFIED, agent="https://agent.example", keyid="k", covered=names)


def outcome(offers: dict[bytes, bytes], identity: Identity | None = None) -> tuple[CrawlerError | None, str | None]:
    deal = read_offer(PRICE, offers, identity or verified(*offers))
    return deal.error, deal.reason


@pytest.mark.parametrize(
    ("text", "price"),
    [
        ("USD 0.05", Price("USD", 5)),
        ("EUR 0.00", Price("EUR", 0)),
        ("JPY 120.00", Price("JPY", 12_000)),
        ("USD 999999999.99", Price("USD", PRICE_MOST_MINOR_UNITS)),
    ],
)
def test_a_price_is_read_and_written_alike(text, price) -> None:
    assert read_price(text) == price
    assert price.text() == text


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "USD", "USD ", "0.05", "USD0.05", "USD  0.05", " USD 0.05", "USD 0.05 ", "usd 0.05", "US 0.05"),
        *("USDX 0.05", "USD .05", "USD 0.5", "USD 0.005", "USD 5", "USD 5.", "USD 05.00", "USD 00.05", "USD -0.05"),
        *("USD +0.05", "USD 1e9", "USD 1e9.00", "USD 1,000.00", "USD 1_000.00", "USD 1000000000.00", "USD 0.0x"),
        *("USD \u0660.\u0660\u0665", "USD \uff10.\uff10\uff15", "\uff35\uff33\uff24 0.05", "USD 0.05\n", "USD\t0.05"),
        *("USD 0.05, USD 0.05", "USD 0..05", "USD 0.0.5", "U$D 0.05", "USD 0.05;a", "USD NaN", "USD inf"),
    ],
)
def test_what_is_not_a_price_is_none(text) -> None:
    assert read_price(text) is None


@given(st.text(max_size=40))
def test_any_text_is_a_price_or_none(text) -> None:
    price = read_price(text)

    assert price is None or (price.text() == text and 0 <= price.minor_units <= PRICE_MOST_MINOR_UNITS)


@given(st.integers(0, PRICE_MOST_MINOR_UNITS))
def test_every_amount_is_read_as_it_was_written(minor_units) -> None:
    assert read_price(Price("USD", minor_units).text()) == Price("USD", minor_units)


def test_a_free_request_needs_no_offer_and_inspects_none() -> None:
    assert read_offer(None, {EXACT: b"nonsense", MOST: b"USD 1.00"}, UNSIGNED) == PriceOffer()


def test_an_offer_that_will_do_costs_the_price_and_not_the_offer() -> None:
    assert read_offer(PRICE, {EXACT: b"USD 0.05"}, verified(EXACT)) == PriceOffer(PRICE)
    assert read_offer(PRICE, {MOST: b" USD 0.99\t"}, verified(MOST)) == PriceOffer(PRICE)
    assert read_offer(PRICE, {MOST: b"USD 0.05"}, verified(MOST)) == PriceOffer(PRICE)


@pytest.mark.parametrize(
    ("offers", "error", "reason"),
    [
        ({}, CrawlerError.MISSING_CRAWLER_PRICE, "payment_required"),
        ({EXACT: b"USD 0.06"}, CrawlerError.INVALID_CRAWLER_EXACT_PRICE, "payment_required"),
        ({EXACT: b"EUR 0.05"}, CrawlerError.INVALID_CRAWLER_EXACT_PRICE, "payment_required"),
        ({MOST: b"USD 0.04"}, CrawlerError.INVALID_CRAWLER_MAX_PRICE, "payment_required"),
        ({MOST: b"EUR 0.05"}, CrawlerError.INVALID_CRAWLER_MAX_PRICE, "payment_required"),
        ({MOST: b"USD 0.005"}, CrawlerError.INVALID_CRAWLER_PRICE_VALUE, "payment_invalid"),
        ({MOST: b""}, CrawlerError.INVALID_CRAWLER_PRICE_VALUE, "payment_invalid"),
        ({EXACT: b"USD 0.05, USD 0.05"}, CrawlerError.INVALID_CRAWLER_PRICE_VALUE, "payment_invalid"),
        ({EXACT: b"USD 0.05", MOST: b"USD 0.05"}, CrawlerError.CONFLICTING_PRICE_HEADERS, "payment_invalid"),
    ],
)
def test_an_offer_that_will_not_do_shows_why(offers, error, reason) -> None:
    assert outcome(offers) == (error, reason)


def test_an_offer_counts_only_when_the_signature_covers_it() -> None:
    offer = {EXACT: b"USD 0.05"}

    assert outcome(offer, verified(MOST)) == (CrawlerError.STRONG_AUTH_REQUIRED, "payment_invalid")
    assert outcome(offer, UNSIGNED) == (CrawlerError.STRONG_AUTH_REQUIRED, "payment_required")


def test_a_rejected_offer_gets_price_and_error() -> None:
    assert read_offer(PRICE, {}, UNSIGNED).headers == [
        (b"crawler-price", b"USD 0.05"),
        (b"crawler-error", b"MissingCrawlerPrice"),
    ]
    assert read_offer(PRICE, {EXACT: b"USD 0.05"}, verified(EXACT)).headers == []


def test_what_every_crawler_reads_is_free_to_read() -> None:
    assert all(is_free("GET", path) for path in ("/robots.txt", "/sitemap.xml", "/.well-known/security.txt"))
    assert not is_free("POST", "/robots.txt")
    assert not is_free("GET", "/robots.txt/")
    assert not is_free("GET", "/x/robots.txt")
