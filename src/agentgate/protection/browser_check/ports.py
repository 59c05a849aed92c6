"""What the browser check asks of the durable store."""

from typing import Protocol

from msgspec import Struct

from agentgate.lib.enums import WidgetMode
from agentgate.protection.sites.directory import SiteView


class Binding(Struct, frozen=True, kw_only=True):
    """Whose a challenge is. Nobody else can use it, nor use it up."""

    # The site's number.
    site: int
    action: str
    origin: str
    # The visitor's 16 hex digits.
    visitor: str


class OwnPage(Struct, frozen=True):
    """A page of the service itself that runs the check of a site for one action."""

    site: SiteView
    action: str


class OwnPages(Protocol):
    """Pages of the service itself. Each has a key of its own, and the tokens that it gets are good for it alone."""

    # What such keys begin with; no site's key does.
    prefix: str

    async def find_page(self, key: str, *, now_ms: int) -> OwnPage | None:
        """Return the page with this key; None when there is none, or when it is over."""
        ...


class StoredChallenge(Struct, frozen=True, kw_only=True):
    """A challenge as it is kept."""

    id: str
    binding: Binding
    # Random; the salts of the work and the program come from it.
    seed: bytes
    # The place of its level in `work.LEVELS`.
    level: int
    widget: WidgetMode
    c_data: str | None
    issued_ms: int
    expires_ms: int
    # How many verifications were begun.
    attempts: int = 0
    # When the check for a person was asked for; None while it was not.
    stepped_ms: int | None = None
    # It has produced a token.
    used: bool = False
