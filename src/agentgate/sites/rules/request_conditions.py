"""The conditions on the request itself: address, country, network number, program, header, method, path, host.

Each has a counterpart with `not_` before it. Country and network number are labels; the rest become predicates.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from agentgate.sites.rules.patterns.glob import split_glob
from agentgate.sites.rules.patterns.networks import read_strict_network
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
    Predicate,
)
from agentgate.sites.rules.terms import Choice, Condition, ConditionInput, MatchProblem, PlainMatch, Terms

ENTRIES_PER_LIST = 1_000
LISTS_PER_MATCH = 16
HEADERS_PER_MATCH = 8
PARAMETERS_PER_MATCH = 8
MOST_PARAMETERS = 255
MORE_THAN = "more_parameters_than"
GLOB_CHARACTERS = 256
NOT = "not_"
MOST_ASN = 2**32 - 1

_COUNTRY = re.compile(r"[A-Za-z]{2}\Z")
_ASN = re.compile(r"(?:AS)?([0-9]{1,10})\Z", re.IGNORECASE)
LIST_NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?\Z")
_METHOD = re.compile(r"[A-Z][A-Z-]{0,31}\Z")
_PRINTABLE = re.compile(r"[ -~]+\Z")
_HOST = re.compile(r"(?:[A-Za-z0-9*._-]+|\[[0-9A-Fa-f:.*]+\])\Z")
# Characters of a path: no blank, no query, no fragment. Beyond ASCII, letters unescaped.
_PATH = re.compile(r"[/*][^\x00-\x20?#\x7f-\xa0\ud800-\udfff\uffff]*\Z")
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PARAMETER_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_HEADER_NAME = re.compile(r"[A-Za-z0-9-]{1,64}\Z")
# Headers of the proxy's own request, and headers that have their own condition.
_REFUSED_HEADERS = frozenset(
    (
        *("authorization", "connection", "content-length", "expect", "host", "keep-alive", "proxy-connection", "te"),
        *("trailer", "transfer-encoding", "upgrade"),
    )
)
_REFUSED_STARTS = ("x-original-", "x-agentgate-", "x-forwarded-", "x-service-")


def quoted(value: Any) -> str:
    """Return a value as a message shows it."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 40 else f"{text[:40]}..."


def asn_number(value: Any) -> int | None:
    """Return a network's number, written as a number or as `AS64500`; None when it is neither."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    match = _ASN.match(str(value))
    number = None if match is None else int(match[1])
    return number if number is not None and 0 < number <= MOST_ASN else None


def network_problem(text: str) -> str | None:
    try:
        read_strict_network(text)
    except ValueError as problem:
        if "beyond its prefix" in str(problem):
            return f"{problem}."
        return f"{quoted(text)} must be an address or a network, such as 203.0.113.7, 203.0.113.0/24 or 2001:db8::/32."
    return None


def _list_name_problem(text: str) -> str | None:
    if LIST_NAME.match(text):
        return None
    return f"{quoted(text)} must be the name of a network list, such as spamhaus-drop."


def glob_problem(text: str, *, example: str) -> str | None:
    """Return the problem with a glob for a header's value, or None."""
    if len(text) > GLOB_CHARACTERS or _PRINTABLE.match(text) is None:
        return f"{quoted(text)} must be 1 to {GLOB_CHARACTERS} printable ASCII characters, such as {example}."
    return _escape_problem(text)


def _escape_problem(text: str) -> str | None:
    try:
        split_glob(text)
    except ValueError:
        return f"{quoted(text)} has a backslash that is not followed by a star or a backslash."
    return None


def _country_problem(text: str) -> str | None:
    return None if _COUNTRY.match(text) else f"{quoted(text)} must be a country's two letters, such as de."


def _method_problem(text: str) -> str | None:
    return None if _METHOD.match(text) else f"{quoted(text)} must be a method in capital letters, such as POST."


def _host_problem(text: str) -> str | None:
    if len(text) > GLOB_CHARACTERS or _HOST.match(text) is None:
        return f"{quoted(text)} must be a host name without a port, such as shop.example or *.shop.example."
    return None


def _path_problem(text: str) -> str | None:
    if len(text) > GLOB_CHARACTERS or _PATH.match(text) is None:
        return (
            f"{quoted(text)} must begin with / or * and have at most {GLOB_CHARACTERS} characters, without blanks, ?"
            " and #: /blog/* or *.php. Omit the query."
        )
    if _STRAY_PERCENT.search(text):
        return f"{quoted(text)} has a % that does not start an escape. Write %25 for a percent sign."
    return _escape_problem(text)


def header_problem(name: str) -> str | None:
    """Return why rules cannot ask for a header."""
    if _HEADER_NAME.match(name) is None:
        return f"{quoted(name)} must be the name of a header: 1 to 64 letters, digits and hyphens."
    lowered = name.lower()
    if lowered in _REFUSED_HEADERS or lowered.startswith(_REFUSED_STARTS):
        other = "; use hosts" if lowered == "host" else ""
        return f"{quoted(name)} is a header of the adapter and not of the visitor{other}."
    return None


def check_list(
    key: str, values: Any, problem: Callable[[str], str | None], *, example: str, most: int = ENTRIES_PER_LIST
) -> Iterator[MatchProblem]:
    """Yield the problems with a list of texts."""
    if not isinstance(values, list) or not 0 < len(values) <= most:
        yield (key,), f"{key} must be a list of 1 to {most} entries, such as [{example}]."
        return
    for index, value in enumerate(values):
        is_text = isinstance(value, str) and value
        found = problem(value) if is_text else f"{quoted(value)} must be text, such as {example}."
        if found is not None:
            yield (key, index), found


def _check_asns(key: str, match: PlainMatch) -> Iterator[MatchProblem]:
    values = match[key]
    if not isinstance(values, list) or not 0 < len(values) <= ENTRIES_PER_LIST:
        yield (key,), f"{key} must be a list of 1 to {ENTRIES_PER_LIST} entries, such as [64500]."
        return
    for index, value in enumerate(values):
        if asn_number(value) is None:
            yield (key, index), f"{quoted(value)} must be the number of a network, such as 64500 or AS64500."


def _value_problem(text: str) -> str | None:
    if len(text) > GLOB_CHARACTERS or not text.isprintable():
        return f"{quoted(text)} must be 1 to {GLOB_CHARACTERS} printable characters, unescaped, such as history."
    return _escape_problem(text)


def _check_query(key: str, match: PlainMatch) -> Iterator[MatchProblem]:
    parameters = match[key]
    if not isinstance(parameters, dict) or not 0 < len(parameters) <= PARAMETERS_PER_MATCH:
        example = 'such as {action: [history], diff: ["*"]}'
        yield (key,), f"{key} must be an object of 1 to {PARAMETERS_PER_MATCH} parameters with globs, {example}."
        return
    for name, globs in parameters.items():
        if _PARAMETER_NAME.match(name) is None:
            yield (key, name), f"{quoted(name)} must be a parameter: 1 to 64 letters, digits, underscores and hyphens."
        for path, message in check_list(name, globs, _value_problem, example="history"):
            yield (key, *path), message


def _check_amount(key: str, match: PlainMatch) -> Iterator[MatchProblem]:
    amount = match[key]
    if isinstance(amount, bool) or not isinstance(amount, int) or not 0 <= amount <= MOST_PARAMETERS:
        yield (key,), f"{key} must be an integer from 0 to {MOST_PARAMETERS}."


def _check_lists(key: str, match: PlainMatch) -> Iterator[MatchProblem]:
    yield from check_list(key, match[key], _list_name_problem, example="spamhaus-drop", most=LISTS_PER_MATCH)


def _check_headers(key: str, match: PlainMatch) -> Iterator[MatchProblem]:
    headers = match[key]
    if not isinstance(headers, dict) or not 0 < len(headers) <= HEADERS_PER_MATCH:
        example = 'such as {X-Requested-With: ["*"]}'
        yield (key,), f"{key} must be an object of 1 to {HEADERS_PER_MATCH} header names with globs, {example}."
        return
    for name, globs in headers.items():
        wrong = header_problem(name)
        if wrong is not None:
            yield (key, name), wrong
        for path, message in check_list(name, globs, partial(glob_problem, example="text/*"), example="text/*"):
            yield (key, *path), message


def _predicates(subject: str, key: str, match: PlainMatch) -> list[Predicate]:
    if subject == HEADER:
        return [Predicate(HEADER, name.lower(), _entries(globs)) for name, globs in match[key].items()]
    if subject == PARAMETER:
        return [Predicate(PARAMETER, name, _entries(globs)) for name, globs in match[key].items()]
    if subject == PARAMETERS:
        return [Predicate(PARAMETERS, "", (str(match[key]),))]
    return [Predicate(subject, "", _entries(match[key]))]


def _entries(values: list[str]) -> tuple[str, ...]:
    return tuple(sorted(set(values)))


def _compile(subject: str, key: str, match: PlainMatch, terms: Terms) -> None:
    into = terms.failing if key.startswith(NOT) else terms.holding
    into.update(_predicates(subject, key, match))


def _miss(subject: str, key: str, match: PlainMatch, seen: ConditionInput) -> str | None:
    is_negative = key.startswith(NOT)
    for predicate in _predicates(subject, key, match):
        holds = seen.holds(predicate)
        if holds is not None and holds is is_negative:
            if subject == PARAMETERS:
                return f"the query has at most {match[key]} parameters"
            about = f"the {_WORDS[subject]}{' ' * bool(predicate.name)}{predicate.name}"
            verb = "is" if is_negative else "is not"
            if subject == NETWORK_LIST:
                return f"the address {verb} in {', '.join(predicate.entries)}"
            return f"{about} {verb} among {', '.join(predicate.entries[:5])}"
    return None


def _labels(key: str, match: PlainMatch) -> frozenset[str]:
    if key.endswith("countries"):
        return frozenset(f"net.country.{value.lower()}" for value in match[key])
    return frozenset(f"net.asn.{asn_number(value)}" for value in match[key])


def _compile_labels(key: str, match: PlainMatch, terms: Terms) -> None:
    if key.startswith(NOT):
        terms.excluded.update(_labels(key, match))
    else:
        terms.choices.append(Choice(labels=_labels(key, match)))


def _miss_labels(key: str, match: PlainMatch, seen: ConditionInput) -> str | None:
    found = sorted(seen.labels & _labels(key, match))
    if key.startswith(NOT):
        return f"{found[0]} is present" if found else None
    return None if found else f"none of {', '.join(sorted(_labels(key, match))[:5])} is present"


_WORDS = {
    NETWORK: "address",
    NETWORK_LIST: "address",
    USER_AGENT: "User-Agent",
    METHOD: "method",
    PATH: "path",
    HOST: "host",
    HEADER: "header",
    PARAMETER: "parameter",
}


def _list(problem: Callable[[str], str | None], example: str) -> Callable[[str, PlainMatch], Iterator[MatchProblem]]:
    return lambda key, match: check_list(key, match[key], problem, example=example)


_program_problem = partial(glob_problem, example="curl/*")
# By key: the subject of the predicate (None for labels), the check, and the meaning.
_CHECKS: dict[str, tuple[str | None, Callable[[str, PlainMatch], Iterator[MatchProblem]], str]] = {
    "countries": (None, _list(_country_problem, "de"), "The IP address is in one of these countries."),
    "asns": (None, _check_asns, "One of these networks (ASN) announces the IP address."),
    "networks": (NETWORK, _list(network_problem, "203.0.113.0/24"), "The IP address is in one of these networks."),
    "network_lists": (NETWORK_LIST, _check_lists, "The IP address is in one of these network lists of the site."),
    "user_agents": (USER_AGENT, _list(_program_problem, "curl/*"), "The User-Agent matches one of these globs."),
    "headers": (HEADER, _check_headers, "Each of these headers is present and matches one of its globs."),
    "methods": (METHOD, _list(_method_problem, "POST"), "The method is one of these."),
    "paths": (PATH, _list(_path_problem, "/blog/*"), "The path matches one of these globs."),
    "query": (PARAMETER, _check_query, "Each of these query parameters is present and matches one of its globs."),
    "hosts": (HOST, _list(_host_problem, "*.shop.example"), "The host name matches one of these globs."),
}
# Keys of predicates: what they ask is not a label. Events have the method, and nothing of the rest.
PREDICATE_KEYS = tuple(key for key, (subject, _, _) in _CHECKS.items() if subject is not None)


def _condition(
    key: str, subject: str | None, check: Callable[[str, PlainMatch], Iterator[MatchProblem]], doc: str
) -> Condition:
    return Condition(
        keys=(key,),
        doc=doc,
        check=partial(check, key),
        compile=partial(_compile_labels, key) if subject is None else partial(_compile, subject, key),
        miss=partial(_miss_labels, key) if subject is None else partial(_miss, subject, key),
    )


REQUEST_CONDITIONS: tuple[Condition, ...] = (
    *(
        _condition(prefix + key, subject, check, ("Not: " if prefix else "") + doc)
        for key, (subject, check, doc) in _CHECKS.items()
        for prefix in ("", NOT)
    ),
    _condition(MORE_THAN, PARAMETERS, _check_amount, "The query has more parameters than this."),
)


def count_patterns(match: PlainMatch) -> tuple[int, int]:
    """Return how many globs and networks a match has, valid or not."""
    globs = networks = 0
    for key in PREDICATE_KEYS:
        for value in (match.get(key), match.get(NOT + key)):
            lists = value.values() if isinstance(value, dict) else (value,)
            count = sum(len(each) for each in lists if isinstance(each, list))
            if key == "networks":
                networks += count
            elif key not in ("methods", "network_lists"):
                globs += count
    return globs, networks
