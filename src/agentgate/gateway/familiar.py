"""Familiar requests: a visitor who was here before, with the same head, asks for another page of the same site.

What was found out the first time is kept: whose server asks, who the visitor is, what its clearance is good for, what
the signals, models and rules made of it. Only what differs from request to request is looked at again. All of it is
forgotten as soon as a site, a model, a key or the threat data change. What is not familiar goes the usual way.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from msgspec import Struct

from agentgate.core.keyring import Keyring
from agentgate.decide.decider import Decider
from agentgate.detect.rates import Counted
from agentgate.detect.signals.address import view_address
from agentgate.detect.signals.rate import NETWORK_HIGH, VISITOR_HIGH
from agentgate.events.records import Pattern
from agentgate.gateway.heads import NETWORK_STEPS, VISITOR_STEPS, Glimpse, Shape
from agentgate.gateway.original import Asked, OriginalReader
from agentgate.gateway.protection import Protection, Protections
from agentgate.gateway.receipts import MISSING, NOTHING, TOKEN_HEADER, Cleared, Shown, fit
from agentgate.sites.directory import SiteCaller, SiteDirectory, SiteView
from agentgate.web.head_reader import KnownHead
from agentgate.web.request_guard import is_usual_value

URL = b"x-original-url"
# Values that say nothing about the visitor: the page, which is looked at each time, and what no signal reads.
NOT_THE_VISITORS = frozenset((URL, b"referer"))
# Figures of a request that differ although its head is the same.
FIGURES = ("cookie_count", "target_length", "rate_visitor", "rate_network")

# Bounds of what is remembered; then all is forgotten.
MOST_FAMILIARS = 20_000
MOST_PAGES, LONGEST_PAGE = 8_192, 512
MOST_SETTLED = 8_192
# All the values of one visitor together.
LONGEST_VALUES = 2_048

# The page's place, what is shown for it, the steps of rates, and the figures: all else that a decision goes by.
Key = tuple[Any, ...]


class Page(Struct, frozen=True, gc=False):
    """A URL of a site: where it is, and its protection."""

    origin: str
    target: str
    path: str
    protection: Protection
    # What the rules know of it.
    place: tuple[str, str | None, bool]


class Settled(Struct, frozen=True, gc=False):
    """What such requests are answered, and what their events look like."""

    status: int
    body: bytes
    written: bytes
    pattern: Pattern


class Scene:
    """Requests with one head and one method to one site, from addresses about which the same is known."""

    __slots__ = ("ok", "pages", "settled")

    def __init__(self, ok: bytes, pages: dict[bytes, Page]) -> None:
        # How the proxy wants a yes to look.
        self.ok = ok
        # Those of the site and method, shared by all their scenes.
        self.pages = pages
        # By all else that signals, models and rules look at.
        self.settled: dict[Key, Settled] = {}


class Familiar(Struct, frozen=True, gc=False):
    """A visitor of one site, and whose server asks for it."""

    caller: SiteCaller
    method: str
    address: str
    visitor: int
    # None without a clearance.
    cleared: Cleared | None
    cookie_count: int
    counted: Counted
    scene: Scene


class Lane:
    """Which of the values that change in requests with one head are the visitor's own, and who was met with them."""

    __slots__ = ("familiars", "pick", "rest", "url")

    def __init__(self, head: KnownHead) -> None:
        names = head.names
        own = [place for place, name in enumerate(names) if name not in NOT_THE_VISITORS]
        self.pick: Callable[[Sequence[bytes]], Any] = itemgetter(*own)
        self.url = names.index(URL)
        # Judged each time: those of a familiar visitor were judged when it was met.
        self.rest = [place for place, name in enumerate(names) if name in NOT_THE_VISITORS and name != URL]
        self.familiars: dict[Any, Familiar] = {}

    def are_usual(self, values: Sequence[bytes]) -> bool:
        """Say whether the values that are nobody's are such as a header may have."""
        # Not `all`, which takes twice as long: there is one such value at most.
        for place in self.rest:  # noqa: SIM110
            if not is_usual_value(values[place]):
                return False
        return True


class Familiars:
    """Who was met of late, and what was settled about their requests."""

    def __init__(self, sites: SiteDirectory, decider: Decider, *, keyring: Keyring, originals: OriginalReader) -> None:
        self._sites = sites
        self._intels = decider.intel
        self._model_directory = decider.models
        self._keyring = keyring
        self._originals = originals
        self._protections = Protections()
        self._forget()

    def _forget(self) -> None:
        self._edition = self._sites.edition
        self._intel = self._intels.current
        self._models = self._model_directory.view
        self._generation = self._keyring.generation
        self._keys = self._current_keys()
        # What the models can tell apart of each figure.
        self.ranks = tuple(map(self._models.reading.ranks_of, FIGURES))
        self._lanes: dict[KnownHead, Lane] = {}
        self._scenes: dict[tuple[Any, ...], Scene] = {}
        self._pages: dict[tuple[int, str], dict[bytes, Page]] = {}
        self._familiar_count = self._page_count = self._settled_count = 0

    def _current_keys(self) -> tuple[bytes, ...]:
        return tuple(self._keyring.current(name) for name in ("visitor", "clearance"))

    def lane_of(self, head: KnownHead) -> Lane | None:
        """Return the lane of a head with which somebody was met, after forgetting what is over."""
        if (
            self._sites.edition != self._edition
            or self._intels.current is not self._intel
            or self._model_directory.view is not self._models
            or (self._generation != self._keyring.generation and self._have_keys_changed())
        ):
            self._forget()
        return self._lanes.get(head)

    def _have_keys_changed(self) -> bool:
        """Compare by value: keys are read anew every few seconds."""
        self._generation = self._keyring.generation
        return self._current_keys() != self._keys

    def new_page(self, familiar: Familiar, url: bytes) -> Page | None:
        """Return what is asked for, and remember it; None when the URL is none."""
        asked: Asked | None = self._originals.read_url(url) if is_usual_value(url) else None
        if asked is None:
            return None
        protection = self._protections.find(familiar.caller.site, familiar.method, asked[2])
        page = Page(*asked, protection, (protection.route, protection.action, protection.required))
        if len(url) <= LONGEST_PAGE:
            self._page_count += 1
            if self._page_count > MOST_PAGES:
                self._page_count = 0
                for pages in self._pages.values():
                    pages.clear()
            familiar.scene.pages[url] = page
        return page

    def meet(self, head: KnownHead, values: Sequence[bytes], familiar: Familiar) -> None:
        """Remember a visitor whose request went the usual way, in a scene of this moment."""
        lane = self._lanes.get(head)
        if lane is None:
            lane = self._lanes[head] = Lane(head)
        self._familiar_count += 1
        lane.familiars[lane.pick(values)] = familiar

    def scene_of(self, head: KnownHead, site: SiteView, glimpse: Glimpse) -> Scene:
        """Return the scene that such a request is part of. Where there is no more room, all scenes begin anew."""
        if self._familiar_count >= MOST_FAMILIARS:
            self._forget()
        read = () if glimpse.shape.pick is None else glimpse.shape.pick(glimpse.headers)
        key = (head, site.number, glimpse.method, read, view_address(glimpse.address, self._intel).labels)
        scene = self._scenes.get(key)
        if scene is None:
            pages = self._pages.setdefault((site.number, glimpse.method), {})
            scene = self._scenes[key] = Scene(head.target[2], pages)
        return scene

    def settle(self, scene: Scene, key: Key, settled: Settled) -> None:
        """Remember what requests of a scene with this key are answered."""
        self._settled_count += 1
        if self._settled_count > MOST_SETTLED:
            self._settled_count = 0
            for each in self._scenes.values():
                each.settled.clear()
        scene.settled[key] = settled


def shown_by(familiar: Familiar, page: Page, now_ms: int) -> Shown | None:
    """Return what a familiar visitor's clearance is worth for a page; None when it must be looked at again."""
    cleared = familiar.cleared
    if cleared is None:
        return MISSING if page.protection.required else NOTHING
    if now_ms >= cleared.expires_ms or page.origin != cleared.origin:
        return None
    return fit(cleared.shown, page.protection) if page.protection.required else cleared.shown


def steps_of(visitor_rate: int, network_rate: int) -> int:
    """Return which thresholds of the signals two rates have reached, as one number."""
    if visitor_rate < VISITOR_HIGH and network_rate < NETWORK_HIGH:
        return 0
    visitor, network = bisect_right(VISITOR_STEPS, visitor_rate), bisect_right(NETWORK_STEPS, network_rate)
    return visitor * (len(NETWORK_STEPS) + 1) + network


def can_recur(head: KnownHead, values: Sequence[bytes], shape: Shape) -> bool:
    """Say whether requests with such a head can be told apart by its few values that change."""
    return (
        URL in head.names
        and not NOT_THE_VISITORS.issuperset(head.names)
        and sum(map(len, values)) <= LONGEST_VALUES
        and shape.pick is not None
        # These are looked at whole: a token counts once, a signature is an agent's, an override is a second method.
        and not (TOKEN_HEADER in head.fields or shape.is_signed or shape.has_override)
    )
