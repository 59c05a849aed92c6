"""A request for which predicates hold, and what follows from predicates: for lints.

Addresses and methods are reasoned about exactly. For globs the reasoning is sound but not complete: a request is tried
out before it is shown, and "can never be" is reported only if one glob covers another.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from ipaddress import ip_address
from itertools import islice, product
from typing import Any
from urllib.parse import unquote

from agentgate.lib.ip_address import AddressNumber
from agentgate.sites.rules.patterns.glob import Glob, read_folded_glob, read_program_glob, split_glob
from agentgate.sites.rules.patterns.networks import V4_BITS, V6_BITS, NetworkSet, read_strict_network
from agentgate.sites.rules.patterns.predicates import (
    HEADER,
    HOST,
    METHOD,
    NETWORK,
    NETWORK_LIST,
    PARAMETER,
    PARAMETERS,
    PATH,
    USER_AGENT,
    USER_AGENT_HEADER,
    Predicate,
)

# Addresses reserved for documentation.
_ADDRESSES = (AddressNumber(4, int(ip_address("198.51.100.7"))), AddressNumber(6, int(ip_address("2001:db8::7"))))
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_HOSTS = ("shop.example", "www.shop.example", "other.example")
_PATHS = ("/", "/x", "/y/z", "/q.html")
_FILLINGS = ("", "x", "/x", "x/y")
_MOST_PARAMETERS = 10**6
# How many ways to meet several globs at once are tried.
_MOST_TRIES = 64
# A path that every server reads alike.
_PLAIN_PATH = re.compile(r"(?:/|(?:/[A-Za-z0-9_~-](?:[A-Za-z0-9._~-]*[A-Za-z0-9_~-])?)+/?)\Z")

_HOST_PART = re.compile(r"[a-z0-9_-]+\Z")


# Parts of a request that predicates read, by the fields of a Witness. Parts that no predicate reads are absent.
RequestParts = dict[str, Any]

# Every page has a path and a host.
_ALWAYS = {PATH: (Predicate(PATH, "", ("/*",)),), HOST: (Predicate(HOST, "", ("*",)),)}
# The subject of a predicate, and its header.
_Topic = tuple[str, str]


def find_request(holding: Iterable[Predicate], failing: Iterable[Predicate]) -> RequestParts | None:
    """Return a request for which the first hold and the others do not; None when none is found."""
    parts: RequestParts = {}
    named: dict[str, dict[str, str]] = {HEADER: {}, PARAMETER: {}}
    for (subject, name), (wanted, unwanted) in _by_topic(holding, failing).items():
        if subject in named:
            if not wanted:
                # A header or parameter that is not there fits nothing.
                continue
            value = _find_text(wanted, unwanted, _texts(wanted, ()))
            if value is None:
                return None
            named[subject][name] = value
            continue
        if subject == NETWORK_LIST and wanted:
            # The rules do not contain its networks.
            return None
        if subject in (PARAMETERS, NETWORK_LIST):
            continue
        found = _FINDERS[subject](wanted, unwanted)
        if found is None:
            return None
        parts[_FIELDS[subject]] = found
    least, most = _amounts(holding, failing)
    if max(least, len(named[PARAMETER])) > most:
        return None
    if least > len(named[PARAMETER]):
        parts["parameters"] = least
    return parts | {field: named[subject] for subject, field in _NAMED_FIELDS.items() if named[subject]}


def is_impossible(holding: Iterable[Predicate], failing: Iterable[Predicate]) -> bool:
    """Return whether it is proven that there is no such request."""
    for (subject, _), (wanted, unwanted) in _by_topic(holding, failing).items():
        if subject == NETWORK:
            if _find_address(wanted, unwanted) is None:
                return True
        elif subject == METHOD:
            if wanted and not _shared_methods(wanted) - _all_entries(unwanted):
                return True
        elif any(_covers(other, each) for each in (*wanted, *_ALWAYS.get(subject, ())) for other in unwanted):
            return True
    return False


def follows(holding: Iterable[Predicate], failing: Iterable[Predicate], *, holds: Predicate) -> bool:
    """Return whether a predicate holds whenever the given ones hold and fail."""
    wanted, unwanted = _of_topic(holding, failing, holds)
    if holds.subject in (NETWORK, METHOD):
        return is_impossible(wanted, [*unwanted, holds])
    return any(_covers(holds, each) for each in (*wanted, *_ALWAYS.get(holds.subject, ())))


def excludes(holding: Iterable[Predicate], failing: Iterable[Predicate], *, fails: Predicate) -> bool:
    """Return whether a predicate fails whenever the given ones hold and fail."""
    wanted, unwanted = _of_topic(holding, failing, fails)
    if fails.subject in (NETWORK, METHOD) and wanted:
        return is_impossible([*wanted, fails], unwanted)
    return any(_covers(each, fails) for each in unwanted)


def _topic(predicate: Predicate) -> _Topic:
    # A User-Agent is a header, whichever condition names it.
    return (HEADER, USER_AGENT_HEADER) if predicate.subject == USER_AGENT else predicate[:2]


def _by_topic(
    holding: Iterable[Predicate], failing: Iterable[Predicate]
) -> dict[_Topic, tuple[list[Predicate], list[Predicate]]]:
    found: dict[_Topic, tuple[list[Predicate], list[Predicate]]] = {}
    for place, predicates in enumerate((holding, failing)):
        for each in sorted(predicates):
            found.setdefault(_topic(each), ([], []))[place].append(each)
    return found


def _of_topic(
    holding: Iterable[Predicate], failing: Iterable[Predicate], like: Predicate
) -> tuple[list[Predicate], list[Predicate]]:
    return _by_topic(holding, failing).get(_topic(like), ([], []))


def _all_entries(predicates: Iterable[Predicate]) -> set[str]:
    return {entry for each in predicates for entry in each.entries}


def _shared_methods(wanted: list[Predicate]) -> set[str]:
    return set.intersection(*(set(each.entries) for each in wanted))


def _find_method(wanted: list[Predicate], unwanted: list[Predicate]) -> str | None:
    barred = _all_entries(unwanted)
    possible = sorted(_shared_methods(wanted)) if wanted else [*_METHODS, *(f"X-{number}" for number in "ABC")]
    # A handler of GET also handles HEAD, so a HEAD is never surely something else.
    fit = (each for each in possible if each not in barred and not (each == "HEAD" and "GET" in barred))
    return next(fit, None)


@lru_cache(maxsize=1_024)
def _networks(entries: tuple[str, ...]) -> NetworkSet:
    return NetworkSet(map(read_strict_network, entries))


def _find_address(wanted: list[Predicate], unwanted: list[Predicate]) -> str | None:
    inside = [_networks(each.entries) for each in wanted]
    outside = [_networks(each.entries) for each in unwanted]
    # The lowest address that fits is 0, begins a wanted network, or follows an unwanted one.
    for address in _address_candidates(inside, outside):
        if all(each.has(address) for each in inside) and not any(each.has(address) for each in outside):
            return str(ip_address(address.number.to_bytes(4 if address.version == 4 else 16)))
    return None


def _address_candidates(inside: list[NetworkSet], outside: list[NetworkSet]) -> Iterator[AddressNumber]:
    if not inside:
        yield from _ADDRESSES
    for version, bits in ((4, V4_BITS), (6, V6_BITS)):
        if not inside:
            yield AddressNumber(version, 0)
        for each in inside:
            yield from (AddressNumber(version, start) for start in each.starts(version))
        for each in outside:
            yield from (AddressNumber(version, end + 1) for end in each.ends(version) if end + 1 < 1 << bits)


@lru_cache(maxsize=4_096)
def _globs(predicate: Predicate) -> tuple[Glob, ...]:
    if predicate.subject == PATH:
        return tuple(Glob(map(unquote, split_glob(entry))) for entry in predicate.entries)
    if predicate.subject == PARAMETER:
        return tuple(Glob(split_glob(entry)) for entry in predicate.entries)
    read = read_program_glob if predicate.subject == USER_AGENT else read_folded_glob
    return tuple(map(read, predicate.entries))


@lru_cache(maxsize=4_096)
def _folded_globs(predicate: Predicate) -> tuple[Glob, ...]:
    return tuple(Glob(part.lower() for part in glob.parts) for glob in _globs(predicate))


def _covers(one: Predicate, other: Predicate) -> bool:
    """Return whether every text that fits the other predicate fits this one."""
    if one.subject == NETWORK_LIST:
        return set(other.entries) <= set(one.entries)
    if one.subject == PARAMETERS:
        return int(one.entries[0]) <= int(other.entries[0])
    return all(any(glob.covers(each) for glob in _globs(one)) for each in _globs(other))


def _matches(predicate: Predicate, text: str, *, loosely: bool) -> bool:
    del loosely
    return any(glob.matches(text) for glob in _globs(predicate))


def _matches_path(predicate: Predicate, path: str, *, loosely: bool) -> bool:
    if not loosely:
        return any(glob.matches(path) for glob in _globs(predicate))
    lowered = path.lower()
    other = lowered + "/" if not lowered.endswith("/") else lowered[:-1] or lowered
    return any(glob.matches(each) for glob in _folded_globs(predicate) for each in (path, lowered, other))


def _find_text(
    wanted: list[Predicate], unwanted: list[Predicate], texts: Iterable[str], matches: Callable[..., bool] = _matches
) -> str | None:
    for text in texts:
        fits = all(matches(each, text, loosely=False) for each in wanted)
        if fits and not any(matches(each, text, loosely=True) for each in unwanted):
            return text
    return None


def _texts(wanted: list[Predicate], usual: Iterable[str]) -> Iterator[str]:
    """Return texts that could fit: each glob filled in, and several globs put together."""
    if not wanted:
        yield from usual
        return
    for glob in islice((glob for each in wanted for glob in _globs(each)), _MOST_TRIES):
        yield from (glob.example(filling) for filling in _FILLINGS)
    for chosen in islice(product(*map(_globs, wanted)), _MOST_TRIES):
        first = max((glob.parts[0] for glob in chosen), key=len)
        last = max((glob.parts[-1] for glob in chosen if len(glob.parts) > 1), key=len, default="")
        middle = [part for glob in chosen for part in glob.parts[1:-1]]
        for filling in _FILLINGS:
            yield filling.join((first, *middle, last))


def _find_host(wanted: list[Predicate], unwanted: list[Predicate]) -> str | None:
    names = (text for text in _texts(wanted, _HOSTS) if all(map(_HOST_PART.match, text.split("."))))
    return _find_text(wanted, unwanted, names)


def _find_path(wanted: list[Predicate], unwanted: list[Predicate]) -> str | None:
    plain = (text for text in _texts(wanted, _PATHS) if _PLAIN_PATH.match(text))
    return _find_text(wanted, unwanted, plain, _matches_path)


def _amounts(holding: Iterable[Predicate], failing: Iterable[Predicate]) -> tuple[int, int]:
    """Return the least and the most parameters that the query may have."""
    more_than = [int(each.entries[0]) for each in holding if each.subject == PARAMETERS]
    at_most = [int(each.entries[0]) for each in failing if each.subject == PARAMETERS]
    return max(more_than, default=-1) + 1, min(at_most, default=_MOST_PARAMETERS)


_FINDERS: dict[str, Callable[[list[Predicate], list[Predicate]], str | None]] = {
    NETWORK: _find_address,
    METHOD: _find_method,
    HOST: _find_host,
    PATH: _find_path,
}
_FIELDS = {NETWORK: "address", METHOD: "method", HOST: "host", PATH: "path"}
_NAMED_FIELDS = {HEADER: "headers", PARAMETER: "query"}
