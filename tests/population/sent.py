"""Sent: one request of the population, with its sender and its expected outcome."""

from enum import Enum
from typing import NamedTuple

from tests.population.headers import Headers


class Should(Enum):
    """What should become of a request."""

    PASS = "pass"
    # Blocked or challenged.
    STOP = "stop"


class Sent(NamedTuple):
    """A request as it leaves its sender."""

    # Kind of sender, as in the outcomes: `people: office`, `webhook`, `scraper: slow`.
    kind: str
    # Which browser or program, within the kind.
    name: str
    method: str
    url: str
    headers: Headers
    address: str
    should: Should
    # When, in milliseconds from the start.
    at_ms: int = 0
    # All requests of one page view have the same; 0 for what is none.
    view: int = 0
    # Number of the person who keeps the clearance of a passed check; 0 if the sender passes none.
    person: int = 0
    # Headers that the browser sends before the cookies, and whether the request can show a challenge.
    before_cookie: frozenset[str] = frozenset()
    is_navigation: bool = False
    # Whether it was sent again after a challenge.
    challenged: bool = False
