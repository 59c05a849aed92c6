"""Familiar requests: a visitor who was here before, with the same head, asks for another page of the same site.

What was found out the first time is kept: whose server asks, who the visitor is, what its clearance is good for, what
the signals, models and rules made of it. Only what differs from request to request is looked at again. All of it is
forgotten as soon as a site, a model, a key or the threat data change. What is not familiar goes the usual way.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from math import inf
from operator import itemgetter
from typing import Any

from msgspec import Struct

from agentgate.events.records import Pattern
from agentgate.http.connection.head_reader import KnownHead
from agentgate.http.request_guard import is_usual_value
from agentgate.protection.gateway.cache_epoch import Footing
from agentgate.protection.gateway.header_fingerprints import NETWORK_STEPS, VISITOR_STEPS, Glimpse, Shape
from agentgate.protection.gateway.original_request import Asked, OriginalReader
from agentgate.protection.gateway.receipts import MISSING, NOTHING, TOKEN_HEADER, Cleared, Shown, fit
from agentgate.protection.gateway.route_protection import Protection, Protections
from agentgate.protection.signals.detectors.address import view_address
from agentgate.protection.signals.rates import Counted
from agentgate.protection.sites.directory import SiteCaller, SiteView

URL = b"x-original-url"
# Values that say nothing about the visitor: the page, which is looked at each time, and what no signal reads.
NOT_THE_VISITORS = frozenset((URL, b"referer"))
# Bounds of what is remembered; then all is forgotten.
MOST_FAMILIARS = 20_000
MOST_PAGES, LONGEST_PAGE = 8_192, 512
MOST_OUTLOOKS, MOST_SETTLED = 8_192, 8_192
# Of each lane: what others have as their referer is chosen by visitors.
MOST_USUAL = 512
MOST_RATES = 8_192
# All the values of one visitor together.
LONGEST_VALUES = 2_048


class Kind(Struct, frozen=True, gc=False):
    """What pages of a site have in common between which neither a clearance nor rules nor models see a difference.

    There is one of each, so that two pages are of a kind when they have the same.
    """

    origin: str
    protection: Protection
    # The rank of the target's length.
    length: int


class Page(Struct, frozen=True, gc=False):
    """A URL of a site: where it is, and its protection."""

    origin: str
    target: str
    path: str
    kind: Kind


class Settled(Struct, frozen=True, gc=False):
    """What such requests are answered, and what their events look like."""

    # Before the date, between the date and the decision's ID, and after that.
    start: bytes
    written: bytes
    end: bytes
    pattern: Pattern


# By the ranks of both rates: what a visitor's requests for one kind of page are answered.
Outlook = dict[tuple[int, int], Settled]


class Scene:
    """Requests with one head and one method to one site, from addresses about which the same is known."""

    __slots__ = ("ok", "outlooks", "pages")

    def __init__(self, ok: bytes, pages: dict[bytes, Page]) -> None:
        # How the proxy wants a yes to look.
        self.ok = ok
        # Those of the site and method, shared by all their scenes.
        self.pages = pages
        # By all else that signals, models and rules look at, but the rates: the kind of page, what is shown for it, and
        # the rank of the number of cookies.
        self.outlooks: dict[tuple[Kind, tuple[str, ...], int], Outlook] = {}


class Familiar(Struct, gc=False):
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
    # The kind of page it asked for last, how such requests are answered, and until when the secret and what it shows
    # are good for them.
    kind: Kind | None = None
    outlook: Outlook = {}
    until_ms: float = 0.0


class Lane:
    """Which of the values that change in requests with one head are the visitor's own, and who was met with them."""

    __slots__ = ("_usual", "familiars", "pick", "rest", "url")

    def __init__(self, head: KnownHead) -> None:
        names = head.names
        own = [place for place, name in enumerate(names) if name not in NOT_THE_VISITORS]
        self.pick: Callable[[Sequence[bytes]], Any] = itemgetter(*own)
        self.url = names.index(URL)
        # Judged each time: those of a familiar visitor were judged when it was met.
        self.rest = [place for place, name in enumerate(names) if name in NOT_THE_VISITORS and name != URL]
        self.familiars: dict[Any, Familiar] = {}
        # Values that were judged.
        self._usual: set[bytes] = set()

    def are_usual(self, values: Sequence[bytes]) -> bool:
        """Say whether the values that are nobody's are such as a header may have."""
        # Not `all`, which takes twice as long: there is one such value at most.
        for place in self.rest:  # noqa: SIM110
            if values[place] not in self._usual and not self._judge(values[place]):
                return False
        return True

    def _judge(self, value: bytes) -> bool:
        is_usual = is_usual_value(value)
        if is_usual and len(value) <= LONGEST_PAGE:
            if len(self._usual) >= MOST_USUAL:
                self._usual.clear()
            self._usual.add(value)
        return is_usual


class _Ranks(dict[int, int]):
    """What signals and models can tell apart of a rate: the steps that it has reached, and its rank for the models."""

    def __init__(self, steps: Sequence[int], ranks: Mapping[int, int]) -> None:
        super().__init__()
        self._steps = steps
        self._ranks = ranks

    def __missing__(self, rate: int) -> int:
        rank = self._ranks[rate] * (len(self._steps) + 1) + bisect_right(self._steps, rate)
        if len(self) < MOST_RATES:
            self[rate] = rank
        return rank


class Familiars:
    """Who was met of late, and what was settled about their requests."""

    def __init__(self, footing: Footing, originals: OriginalReader) -> None:
        self._footing = footing
        self._originals = originals
        self._protections = Protections()
        self._forget()

    def _forget(self) -> None:
        self._footing.renew()
        # What can be told apart of each figure.
        ranks_of = self._footing.models.reading.ranks_of
        self._cookie_ranks, self._length_ranks = ranks_of("cookie_count"), ranks_of("target_length")
        self.visitor_ranks = _Ranks(VISITOR_STEPS, ranks_of("rate_visitor"))
        self.network_ranks = _Ranks(NETWORK_STEPS, ranks_of("rate_network"))
        self._kinds: dict[tuple[Any, ...], Kind] = {}
        # By the heads with which somebody was met.
        self.lanes: dict[KnownHead, Lane] = {}
        self._scenes: dict[tuple[Any, ...], Scene] = {}
        self._pages: dict[tuple[int, str], dict[bytes, Page]] = {}
        self._familiar_count = self._page_count = self._outlook_count = self._settled_count = 0

    def forget_what_is_over(self) -> None:
        """Forget everything if something has changed that it was made of."""
        if self._footing.has_changed():
            self._forget()

    def new_page(self, familiar: Familiar, url: bytes) -> Page | None:
        """Return what is asked for, and remember it; None when the URL is none."""
        asked: Asked | None = self._originals.read_url(url) if is_usual_value(url) else None
        if asked is None:
            return None
        protection = self._protections.find(familiar.caller.site, familiar.method, asked[2])
        page = Page(*asked, self._kind_of(asked, protection))
        if len(url) <= LONGEST_PAGE:
            self._page_count += 1
            if self._page_count > MOST_PAGES:
                self._forget_pages()
                self._page_count = 1
            familiar.scene.pages[url] = page
        return page

    def _forget_pages(self) -> None:
        self._page_count = 0
        self._kinds.clear()
        for pages in self._pages.values():
            pages.clear()

    def _kind_of(self, asked: Asked, protection: Protection) -> Kind:
        key = (asked[0], protection, self._length_ranks[len(asked[1])])
        kind = self._kinds.get(key)
        if kind is None:
            kind = self._kinds[key] = Kind(*key)
        return kind

    def meet(self, head: KnownHead, values: Sequence[bytes], familiar: Familiar) -> None:
        """Remember a visitor whose request went the usual way, in a scene of this moment."""
        lane = self.lanes.get(head)
        if lane is None:
            lane = self.lanes[head] = Lane(head)
        self._familiar_count += 1
        lane.familiars[lane.pick(values)] = familiar

    def scene_of(self, head: KnownHead, site: SiteView, glimpse: Glimpse) -> Scene:
        """Return the scene that such a request is part of. Where there is no more room, all scenes begin anew."""
        if self._familiar_count >= MOST_FAMILIARS:
            self._forget()
        read = () if glimpse.shape.pick is None else glimpse.shape.pick(glimpse.headers)
        key = (head, site.number, glimpse.method, read, view_address(glimpse.address, self._footing.intel).labels)
        scene = self._scenes.get(key)
        if scene is None:
            pages = self._pages.setdefault((site.number, glimpse.method), {})
            scene = self._scenes[key] = Scene(head.target[2], pages)
        return scene

    def turn_to(self, familiar: Familiar, kind: Kind, now_ms: int) -> bool:
        """Find how a visitor's requests for such pages are answered; False when it must be looked at again."""
        shown = shown_by(familiar, kind, now_ms)
        if shown is None or not familiar.caller.is_valid(now_ms):
            return False
        outlooks, key = familiar.scene.outlooks, (kind, shown.states, self._cookie_ranks[familiar.cookie_count])
        outlook = outlooks.get(key)
        if outlook is None:
            self._outlook_count += 1
            if self._outlook_count > MOST_OUTLOOKS:
                self._forget_outlooks()
                self._outlook_count = 1
            outlook = outlooks[key] = {}
        familiar.kind, familiar.outlook, familiar.until_ms = kind, outlook, _until_ms(familiar)
        return True

    def _forget_outlooks(self) -> None:
        self._clear_outlooks()
        for scene in self._scenes.values():
            scene.outlooks.clear()
        # Visitors hold theirs until they ask for a page of another kind, and now all kinds are others.
        self._forget_pages()

    def _clear_outlooks(self) -> None:
        self._settled_count = 0
        for scene in self._scenes.values():
            for outlook in scene.outlooks.values():
                outlook.clear()

    def settle(self, outlook: Outlook, rates: tuple[int, int], settled: Settled) -> None:
        """Remember what requests with this outlook and these ranks of rates are answered."""
        self._settled_count += 1
        if self._settled_count > MOST_SETTLED:
            self._clear_outlooks()
            self._settled_count = 1
        outlook[rates] = settled


def _until_ms(familiar: Familiar) -> float:
    """Return when the secret or the clearance is over."""
    secret_ms = familiar.caller.expires_ms
    return min(
        inf if secret_ms is None else secret_ms, inf if familiar.cleared is None else familiar.cleared.expires_ms
    )


def shown_by(familiar: Familiar, kind: Kind, now_ms: int) -> Shown | None:
    """Return what a familiar visitor's clearance is worth for such pages; None when it must be looked at again."""
    cleared, protection = familiar.cleared, kind.protection
    if cleared is None:
        return MISSING if protection.required else NOTHING
    if now_ms >= cleared.expires_ms or kind.origin != cleared.origin:
        return None
    return fit(cleared.shown, protection) if protection.required else cleared.shown


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
