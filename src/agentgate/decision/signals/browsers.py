"""BROWSERS: what the releases of browsers' engines send, as browsers.toml has it."""

from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct, toml

# The first release of what an engine never sends, or of which nothing is known.
NEVER = 1_000_000

Release = Annotated[int, Meta(ge=1, le=NEVER)]
HeaderOrder = Annotated[tuple[Annotated[str, Meta(pattern=r"^[a-z-]+\Z")], ...], Meta(min_length=2)]


class Engine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An engine. A field that is missing: never, or unknown."""

    # Releases below are more than two years old; browsers update themselves.
    old_below: int = 0
    # The first releases with Sec-CH-UA and Sec-Fetch, and the first whose page loads are known: Accept, order.
    hints_since: Release = NEVER
    fetch_metadata_since: Release = NEVER
    page_accept_since: Release = NEVER
    page_order_since: Release = NEVER
    # The orders of Accept and its kin with all requests, in HTTP/1 and HTTP/2 alike; and of the headers of a page load.
    accept_orders: tuple[HeaderOrder, ...] = ()
    page_orders: tuple[HeaderOrder, ...] = ()
    # When it prefetches a page (Sec-Purpose), and in earlier releases.
    prefetch_order: HeaderOrder | None = None
    old_page_order: HeaderOrder | None = None
    old_page_order_below: int = 0
    # The first release that offers TLS 1.3 and HTTP/2 as in the table of suites; and of a handshake that is not in it,
    # the fewest and most suites, and the fewest extensions.
    tls_since: Release = NEVER
    tls_form: tuple[int, int, int] = (0, 0, 0)

    def __post_init__(self) -> None:
        for order in (*self.accept_orders, *self.page_orders, self.prefetch_order or (), self.old_page_order or ()):
            if len(set(order)) < len(order):
                raise ValueError(f"a header is listed twice: {', '.join(order)}")


class Browsers(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The engines by name, and the engine of each known set of TLS cipher suites; empty for a library."""

    engines: dict[Annotated[str, Meta(pattern=r"^[a-z]+\Z")], Engine]
    tls_suites: dict[Annotated[str, Meta(pattern=r"^[0-9a-f]{12}\Z")], str]

    def __post_init__(self) -> None:
        unknown = set(self.tls_suites.values()) - {"", *self.engines}
        if unknown:
            raise ValueError(f"unknown engines: {', '.join(sorted(unknown))}")


def read_browsers(text: str) -> Browsers:
    return toml.decode(text, type=Browsers)


BROWSERS = read_browsers(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_UNKNOWN = Engine()


def engine_of(name: str) -> Engine:
    """Return an engine; one that sends nothing known if the name is another."""
    return BROWSERS.engines.get(name, _UNKNOWN)
