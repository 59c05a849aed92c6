"""RouteTable: every route that a request could be (hot): `RouteTable(site.routes).matches(methods, target, host)`.

`methods` comes from `request_methods.methods_of`; `target` is path and query as they came, `host` the Host header. All
returned routes must let the request pass; an empty result means that the site has no route for it. The route that a
plain target matches unchanged comes first, the others follow: exact paths, then longer prefixes before shorter.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec import UnsetType

from agentgate.sites.records import SiteRoute
from agentgate.sites.request_methods import methods_of
from agentgate.sites.targets import MARK, SEPARATORS, decoded_texts, folded_path, is_plain, odd_texts

ANY_METHOD = "*"
# None: the request could have any method.
Methods = frozenset[str] | None

# Bounds on what one odd target may cost: beyond them it could be any route.
MOST_WORDS = 1_024
MOST_FRAGMENTS = 64

# A larger table is compiled with its site, outside the event loop: that takes more than a millisecond.
FEW_ROUTES, FEW_BYTES = 16, 1_024


class MatchedRoute(NamedTuple):
    """A route as decisions name it, and its action."""

    # `/login` for a path, `/api/*` for a prefix, `*` when the site has no route for the request.
    route: str
    action: str | None


UNMATCHED = MatchedRoute("*", None)


class RouteTable:
    """A site's routes. A table of few routes is compiled for its first request: most sites get none for a while."""

    def __init__(self, routes: Iterable[SiteRoute]) -> None:
        # Of two routes that say the same, the first counts.
        distinct: dict[tuple[str, str, bool], SiteRoute] = {}
        for each in routes:
            distinct.setdefault((each.method, _path(each), _is_prefix(each)), each)
        self._routes = sorted(distinct.values(), key=lambda each: (_is_prefix(each), -len(_path(each))))
        # An unreadable path fails here, where only its own site is affected.
        self._paths = [_bytes(each) for each in self._routes]
        self.is_empty = not self._routes
        self.has_all_paths = any(_is_prefix(each) and _path(each) == "/" for each in self._routes)
        self._is_compiled = False
        if len(self._routes) > FEW_ROUTES or sum(map(len, self._paths)) > FEW_BYTES:
            self._compile()

    def _compile(self) -> None:
        """Build what `matches` reads. Two threads may do so at once: both build the same."""
        routes, paths = self._routes, [_path(each) for each in self._routes]
        self._methods = [route.method for route in routes]
        self._matched = [MatchedRoute(_path(each) + "*" * _is_prefix(each), each.action) for each in routes]
        folded = [folded_path(path) for path in self._paths]
        self._as_is = _index(routes, paths)
        self._folded = self._as_is if folded == paths else _index(routes, folded)
        self._words = _WordIndex()
        for number, (route, path) in enumerate(zip(routes, self._paths, strict=True)):
            self._words.add(number, path, is_prefix=_is_prefix(route))
        # The candidates of an unknown method: every method of a route; the empty one for all others.
        self._every_method = ("", *dict.fromkeys(self._methods))
        self._is_compiled = True

    def matches(self, methods: Methods, target: bytes, host: bytes = b"") -> tuple[MatchedRoute, ...]:
        """Return every route that the request could be."""
        if not self._is_compiled:
            self._compile()
        path = target.partition(b"?")[0]
        if is_plain(path):
            numbers = self._match_plain(methods, path)
        else:
            named = self._words.find(odd_texts(host, target))
            numbers = [
                number
                for number, method in enumerate(self._methods)
                if (named is None or number in named) and (methods is None or method == ANY_METHOD or method in methods)
            ]
        return tuple(dict.fromkeys(map(self._matched.__getitem__, numbers)))

    def find(self, method: str, target: str) -> MatchedRoute:
        """Return the route that a sample request falls under with its target unchanged."""
        found = self.matches(methods_of(method, target.encode()), target.encode())
        return found[0] if found else UNMATCHED

    def _match_plain(self, methods: Methods, path: bytes) -> list[int]:
        text, folded = path.decode("latin-1"), folded_path(path)
        is_folded = folded != text or self._folded is not self._as_is
        found: list[int] = []
        others: list[int] = []
        for method in self._every_method if methods is None else methods:
            index = self._as_is.get(method) or self._as_is[ANY_METHOD]
            found += index.find(text)
            others += index.find_other(text)
            if is_folded:
                index = self._folded.get(method) or self._folded[ANY_METHOD]
                others += index.find(folded)
                others += index.find_other(folded)
        return sorted(found) + sorted(others)


# The numbers of routes by path.
_Paths = dict[str, list[int]]


class _PathIndex:
    """Routes of a method by path: an exact path before a prefix, a longer before a shorter, its own before `*`."""

    def __init__(self, exact: _Paths, prefixes: _Paths) -> None:
        self._exact = exact
        self._prefixes = prefixes
        self._longest_first = sorted(set(map(len, prefixes)), reverse=True)

    def find(self, path: str) -> Sequence[int]:
        found = self._exact.get(path)
        if found is not None:
            return found
        for length in self._longest_first:
            found = self._prefixes.get(path[:length])
            if found is not None:
                return found
        return ()

    def find_other(self, path: str) -> Sequence[int]:
        """Return the routes whose path differs only by a closing slash. A catch-all is not among them."""
        other = path[:-1] or path if path.endswith("/") else path + "/"
        return self._exact.get(other) or self._prefixes.get(other) or ()


def _index(routes: list[SiteRoute], paths: list[str]) -> dict[str, _PathIndex]:
    """Return the index of each method that a route names, and of `*` for all others."""
    # By method: exact paths, and prefixes.
    named: dict[str, tuple[_Paths, _Paths]] = {ANY_METHOD: ({}, {})}
    for number, (route, path) in enumerate(zip(routes, paths, strict=True)):
        named.setdefault(route.method, ({}, {}))[_is_prefix(route)].setdefault(path, []).append(number)
    exact, prefixes = named[ANY_METHOD]
    return {method: _PathIndex(exact | own, prefixes | begun) for method, (own, begun) in named.items()}


class _WordIndex:
    """Routes by the words of their paths."""

    def __init__(self) -> None:
        # By the first word: the words, and the routes that consist of them. A route without words could be any target.
        self._routes: dict[str, dict[tuple[str, ...], list[int]]] = {}
        self._wordless: list[int] = []
        # A prefix such as `/adm` ends within a word: that word is kept with a mark, and by its length.
        self._vocabulary: set[str] = set()
        self._open_lengths: list[int] = []
        self._sorted: list[str] = []

    def add(self, number: int, path: bytes, *, is_prefix: bool) -> None:
        texts = decoded_texts(path)
        text = texts[0].replace(MARK, " ") if texts else ""
        words = tuple(filter(None, SEPARATORS.split(text)))
        if not words:
            self._wordless.append(number)
            return
        if is_prefix and text.endswith(words[-1]):
            self._open_lengths = sorted({len(words[-1]), *self._open_lengths})
            words = (*words[:-1], words[-1] + MARK)
        for word in set(words) - self._vocabulary:
            self._vocabulary.add(word)
            insort(self._sorted, word)
        self._routes.setdefault(words[0], {}).setdefault(words, []).append(number)

    def find(self, texts: tuple[str, ...] | None) -> set[int] | None:
        """Return the routes whose words occur in their order; None when it could be any."""
        if texts is None:
            return None
        found = set(self._wordless)
        for text in texts:
            places = self._places(text)
            if places is None:
                return None
            for first in places:
                for words, numbers in self._routes.get(first, {}).items():
                    if _occur(words, places):
                        found.update(numbers)
        return found

    def _places(self, text: str) -> "dict[str, _Places] | None":
        """Return where the table's words are in the text; None when it has too many words."""
        pieces = SEPARATORS.split(text)
        if len(pieces) > MOST_WORDS:
            return None
        places: dict[str, _Places] = {}
        left = MOST_FRAGMENTS
        for number, piece in enumerate(pieces):
            place = number * MOST_FRAGMENTS
            if MARK not in piece:
                self._note(piece, (place, place), places)
                continue
            fragments = [fragment for fragment in piece.split(MARK) if fragment]
            left -= len(fragments)
            if left < 0:
                return None
            self._note_joined(fragments, place, places)
        return places

    def _note_joined(self, fragments: list[str], place: int, places: "dict[str, _Places]") -> None:
        # A mark may be nothing or a separator, each for itself: a word is any run of fragments.
        for first in range(len(fragments)):
            word = ""
            for last in range(first, len(fragments)):
                noted = len(word)
                word += fragments[last]
                self._note(word, (place + first, place + last), places, noted=noted)
                following = bisect_left(self._sorted, word)
                if following == len(self._sorted) or not self._sorted[following].startswith(word):
                    break

    def _note(self, word: str, place: tuple[int, int], places: "dict[str, _Places]", *, noted: int = 0) -> None:
        """Note where a word is, and the openings that it has beyond those noted for its beginning."""
        if word in self._vocabulary:
            _add_place(places, word, place)
        for length in self._open_lengths[bisect_right(self._open_lengths, noted) :]:
            if length > len(word):
                break
            opening = word[:length] + MARK
            if opening in self._vocabulary:
                _add_place(places, opening, place)


# The positions at which a word begins and ends, as numbers of fragments; both ascend.
_Places = tuple[list[int], list[int]]


def _add_place(places: dict[str, _Places], word: str, place: tuple[int, int]) -> None:
    firsts, lasts = places.setdefault(word, ([], []))
    firsts.append(place[0])
    lasts.append(place[1])


def _occur(words: tuple[str, ...], places: dict[str, _Places]) -> bool:
    end = -1
    for word in words:
        firsts, lasts = places.get(word, ([], []))
        following = bisect_right(firsts, end)
        if following == len(firsts):
            return False
        end = lasts[following]
    return True


def _is_prefix(route: SiteRoute) -> bool:
    return isinstance(route.path, UnsetType)


def _bytes(route: SiteRoute) -> bytes:
    return _path(route).encode("latin-1")


def _path(route: SiteRoute) -> str:
    path = route.path_prefix if isinstance(route.path, UnsetType) else route.path
    assert isinstance(path, str), "a route has exactly one of the two"
    return path
