"""RequestMatcher: matches a request with the predicates of a site's rules and with its lists (hot, pure).

A site that has neither has no matcher. A path is read as routes are: a plain path unchanged, and also with case folded
and with or without its closing slash; an odd path could be everything whose words occur in it. A predicate that holds
for the unchanged request is sure. A predicate that holds in another reading is possible, and rules take the strictest
(`rules/evaluate`).
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from urllib.parse import unquote_to_bytes

from agentgate.lib.ip_address import read_address
from agentgate.sites.lists.networks import searchable
from agentgate.sites.lists.site_lists import SiteLists, stronger
from agentgate.sites.query_matcher import QueryMatcher, occur, words_of
from agentgate.sites.request_methods import KNOWN_METHODS, methods_of
from agentgate.sites.rules.evaluate import NO_TRAITS, PAGE, Traits
from agentgate.sites.rules.patterns.glob import Glob, split_glob
from agentgate.sites.rules.patterns.networks import NetworkSet
from agentgate.sites.rules.patterns.predicates import USER_AGENT_HEADER, HeaderPredicate, Predicates
from agentgate.sites.targets import MARK, folded_path, is_plain, odd_texts

# A value in lower case, or None where the header did not come.
ValueOf = Callable[[str], str | None]
# Names and packed networks.
PackedLists = tuple[tuple[str, bytes], ...]
NO_NETWORKS: Mapping[str, NetworkSet] = MappingProxyType({})


class RequestMatcher:
    """Predicates and lists of one site."""

    __slots__ = ("_methods", "_paths", "_predicates", "_query", "lists", "networks", "reads_page")

    def __init__(
        self,
        predicates: Predicates | None,
        lists: SiteLists | None = None,
        networks: Mapping[str, NetworkSet] = NO_NETWORKS,
    ) -> None:
        self._predicates = predicates
        self.lists = lists
        # By the name of the list. An unknown list has no networks.
        self.networks = networks
        self._methods = () if predicates is None else predicates.methods
        self._paths = (
            ()
            if predicates is None
            else tuple((tuple(map(PathGlob, entries)), bit) for entries, bit in predicates.paths)
        )
        self._query = (
            QueryMatcher(predicates.parameters, predicates.amounts)
            if predicates is not None and (predicates.parameters or predicates.amounts)
            else None
        )
        self.reads_page = predicates is not None

    def header_predicates(self, names: Iterable[str], *, others: bool = False) -> tuple[HeaderPredicate, ...]:
        """Return the predicates on these headers; with `others`, on all but these."""
        wanted = frozenset(names)
        found = () if self._predicates is None else self._predicates.headers
        return tuple(each for each in found if (each.header in wanted) is not others)

    def of_client(self, address: str, visitor: int | None) -> Traits:
        """Return the results for an address and its visitor ID."""
        sure = 0 if self._predicates is None else self._predicates.of_address(address) | self._of_networks(address)
        listed = NO_TRAITS if self.lists is None else self.lists.of_client(address, visitor)
        return listed._replace(sure=sure)

    def _of_networks(self, address: str) -> int:
        named = () if self._predicates is None else self._predicates.network_lists
        number = read_address(address) if named else None
        if number is None:
            return 0
        return sum(
            bit
            for names, bit in named
            if any(name in self.networks and self.networks[name].has(number) for name in names)
        )

    def of_program(self, user_agent: str | None) -> Traits:
        """Return the list entry for a User-Agent in lower case."""
        return NO_TRAITS if self.lists is None or not user_agent else self.lists.of_program(user_agent)

    def of_headers(self, predicates: tuple[HeaderPredicate, ...], value_of: ValueOf) -> int:
        """Return the bits of those predicates that hold."""
        return 0 if self._predicates is None else self._predicates.of_headers(predicates, value_of)

    def of_page(self, method: str, overrides: Iterable[bytes], target: bytes, host: str) -> Traits:
        """Return the results for method, path and host of a visitor's request."""
        if self._predicates is None:
            return NO_TRAITS
        sure, maybe = self._of_method(method, overrides, target) if self._methods else (0, 0)
        sure |= PAGE | self._predicates.of_host(host_name(host))
        if self._paths:
            of_path = self._of_path(target, host.encode("latin-1", "replace"))
            sure, maybe = sure | of_path[0], maybe | of_path[1]
        if self._query is not None:
            of_query = self._query.read(target.partition(b"?")[2])
            sure, maybe = sure | of_query[0], maybe | of_query[1]
        return Traits(sure, maybe)

    @property
    def host_bits(self) -> int:
        return 0 if self._predicates is None else self._predicates.host_bits

    def of_call(self, address: str, visitor: int | None, user_agent: str | None) -> Traits:
        """Return the results for a call of the service itself, which has no page of the site."""
        lowered = None if user_agent is None else user_agent.lower()
        programs = self.header_predicates((USER_AGENT_HEADER,))
        bits = self.of_headers(programs, lambda _: lowered)
        found = stronger(self.of_client(address, visitor), self.of_program(lowered))
        return found._replace(sure=self.of_client(address, visitor).sure | bits)

    def _of_method(self, method: str, overrides: Iterable[bytes], target: bytes) -> tuple[int, int]:
        # A form's field may override the method too. It is not visible here; routes cover that case.
        possible = methods_of("OPTIONS", target, overrides=overrides)
        others = None if possible is None else possible - {"OPTIONS"} | ({"OPTIONS"} & _named(overrides))
        sure = maybe = 0
        for methods, bit in self._methods:
            if others is not None and not others:
                if method in methods:
                    sure |= bit
                elif method == "HEAD" and "GET" in methods:
                    # A handler of GET also handles HEAD.
                    maybe |= bit
            elif others is not None and method in methods and others <= methods:
                sure |= bit
            elif others is None or method in methods or not others.isdisjoint(methods):
                maybe |= bit
        return sure, maybe

    def _of_path(self, target: bytes, host: bytes) -> tuple[int, int]:
        path = target.partition(b"?")[0]
        if not is_plain(path):
            texts = odd_texts(host, target)
            return self._bits(lambda each: each.is_universal, lambda each: texts is None or each.could_be(texts))
        text = unquote_to_bytes(path).decode("utf-8", "surrogateescape")
        folded = folded_path(path)
        spellings = (folded, _other_slash(folded))
        return self._bits(lambda each: each.exact.matches(text), lambda each: any(map(each.folded.matches, spellings)))

    def _bits(self, is_sure: "Callable[[PathGlob], bool]", may_be: "Callable[[PathGlob], bool]") -> tuple[int, int]:
        sure = maybe = 0
        for globs, bit in self._paths:
            if any(map(is_sure, globs)):
                sure |= bit
            elif any(map(may_be, globs)):
                maybe |= bit
        return sure, maybe


class PathGlob:
    """A glob for paths: unchanged, with case folded, and the words that an odd target must have."""

    __slots__ = ("_words", "exact", "folded", "is_universal")

    def __init__(self, text: str) -> None:
        parts = [part.encode() for part in split_glob(text)]
        self.exact = Glob(unquote_to_bytes(part).decode("utf-8", "surrogateescape") for part in parts)
        self.folded = Glob(map(folded_path, parts))
        # `/*` fits every path, as each begins with a slash.
        self.is_universal = self.exact.is_universal or self.exact.parts == ("/", "")
        self._words = tuple(word for part in parts for word in words_of(part))

    def could_be(self, texts: Iterable[str]) -> bool:
        """Return whether the words occur in one of several readings of an odd target, in their order."""
        return any(occur(self._words, text.replace(MARK, "")) for text in texts)


def host_name(host: str) -> str:
    """Return a host's name without port and closing dot."""
    name = host.lower()
    if name.startswith("["):
        return name.partition("]")[0] + "]"
    return name.partition(":")[0].rstrip(".")


def searchable_lists(
    lists: PackedLists, before: PackedLists | None, matcher: RequestMatcher | None
) -> Mapping[str, NetworkSet]:
    """Return network lists for lookups. A matcher's lists that have not changed are not prepared again."""
    known = {} if matcher is None else matcher.networks
    same = set(before or ())
    return {
        name: known[name] if name in known and (name, packed) in same else searchable(packed) for name, packed in lists
    }


def make_matcher(
    predicates: Predicates | None, lists: SiteLists | None, networks: Mapping[str, NetworkSet] = NO_NETWORKS
) -> RequestMatcher | None:
    """Return the matcher of a site; None without predicates and lists."""
    has_none = predicates is None and lists is None and not networks
    return None if has_none else RequestMatcher(predicates, lists, networks)


def _named(overrides: Iterable[bytes]) -> frozenset[str]:
    names = (name.strip().upper() for value in overrides for name in value.decode("latin-1").split(","))
    return frozenset(name for name in names if name in KNOWN_METHODS)


def _other_slash(path: str) -> str:
    return path + "/" if not path.endswith("/") else path[:-1] or path
