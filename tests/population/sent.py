"""Sent: one request of the population, with who sent it and what should become of it."""

from enum import Enum
from typing import NamedTuple

from tests.population.headers import Headers


class Should(Enum):
    """What should become of a request."""

    PASS = "pass"
    # Refused or challenged.
    STOP = "stop"


class Sent(NamedTuple):
    """A request as it leaves its sender."""

    # Whose it is, as outcomes are told: `people: office`, `webhook`, `scraper: slow`.
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
    # Who keeps the clearance of a check that was passed; 0 for who passes none.
    person: int = 0
    # What the browser sends before the cookies, and whether the request can show a challenge.
    before_cookie: frozenset[str] = frozenset()
    is_navigation: bool = False
    # Whether it was sent again after a challenge.
    challenged: bool = False
