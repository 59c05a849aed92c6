"""A slow reference of the request conditions in docs/write-rules.md, and random conditions to compare with the service.

Paths here are plain and in lower case, and none is another's with a closing slash: what odd ones could be is tested
elsewhere.
"""

import re
from ipaddress import ip_address, ip_network
from random import Random
from typing import Any

NETWORKS = (
    "203.0.113.0/24",
    "203.0.113.7",
    "203.0.0.0/16",
    "2001:db8::/32",
    "2001:db8:7::/48",
    "198.51.100.0/24",
    "::/0",
)
ADDRESSES = ("203.0.113.7", "203.0.113.8", "203.0.9.1", "198.51.100.7", "2001:db8::1", "2001:db8:7::1", "192.0.2.1")
AGENTS = ("curl", "curl/8.*", "*bot*", "Mozilla/5.0 *", "GPTBot", "*")
SEEN_AGENTS = (None, "curl/8.5.0", "Curl/7", "Mozilla/5.0 (X11) Firefox/130.0", "GPTBot/1.2", "x")
GLOBS = ("*", "text/*", "a*b*c", "abc", "*b*", "A?")
VALUES = ("", "text/html", "abc", "aXXbc", "xbx", "a?")
HEADERS = ("accept", "x-probe", "X-Probe")
METHODS = ("GET", "POST", "DELETE", "PURGE")
PATHS = ("/login", "/api/*", "/api/v2/*", "*.php", "/a*c/x", "*", "/blog/*/edit")
SEEN_PATHS = ("/login", "/api/x", "/api/v2/x", "/x.php", "/abc/x", "/ac/x", "/blog/1/edit", "/blog/1/2/edit", "/other")
HOSTS = ("shop.example", "*.shop.example", "*", "*.org")
SEEN_HOSTS = ("shop.example", "www.shop.example", "other.example")
QUERIES = ("", "action=view", "action=history", "action=history&diff=1", "diff=1&oldid=2&a=3")
PARAMETERS = ("action", "diff", "oldid")
VALUES_OF_PARAMETERS = ("history", "*", "hist*", "1", "view")
COUNTRIES = ("de", "DE", "fr")
ASNS = (64500, "AS6450", 1)


def request_matches(match: dict[str, Any], request: dict[str, Any]) -> bool:
    """Say whether every condition on the request itself holds."""
    return all(_holds(key, match[key], request) is not is_not for key, is_not in _keys(match))


def _keys(match: dict[str, Any]) -> list[tuple[str, bool]]:
    return [(key, key.startswith("not_")) for key in match if key.removeprefix("not_") in _LISTS]


def _holds(key: str, wanted: Any, request: dict[str, Any]) -> bool:  # noqa: PLR0911 - one for each condition
    name, headers = key.removeprefix("not_"), request["headers"]
    pairs = dict(pair.split("=") for pair in request["query"].split("&") if pair)
    if name == "more_parameters_than":
        return len(pairs) > wanted
    if name == "query":
        each_parameter = [
            each in pairs and any(fits(glob, pairs[each]) for glob in globs) for each, globs in wanted.items()
        ]
        return any(each_parameter) if key.startswith("not_") else all(each_parameter)
    if name == "networks":
        address = ip_address(request["address"])
        return any(address in ip_network(each) for each in wanted)
    if name == "countries":
        return any(f"net.country.{each.lower()}" in request["labels"] for each in wanted)
    if name == "asns":
        return any(f"net.asn.{str(each).removeprefix('AS')}" in request["labels"] for each in wanted)
    if name == "methods":
        return request["method"] in wanted
    if name == "paths":
        return any(fits(each, request["path"]) for each in wanted)
    if name == "hosts":
        return any(fits(each, request["host"]) for each in wanted)
    if name == "user_agents":
        globs = [each if "*" in each else f"*{each}*" for each in wanted]
        return "user-agent" in headers and any(fits(each.lower(), headers["user-agent"].lower()) for each in globs)
    each_header = [
        name.lower() in headers and any(fits(each.lower(), headers[name.lower()].lower()) for each in globs)
        for name, globs in wanted.items()
    ]
    # `not_headers`: none of them.
    return any(each_header) if key.startswith("not_") else all(each_header)


def fits(glob: str, text: str) -> bool:
    """Say whether a text fits a glob, by a regular expression."""
    return re.fullmatch(".*".join(map(re.escape, glob.split("*"))), text, re.DOTALL) is not None


def new_conditions(chance: Random) -> dict[str, Any]:
    """Return one or two valid conditions on the request itself."""
    match: dict[str, Any] = {}
    for name in chance.sample(sorted(_LISTS), chance.choice((1, 1, 2))):
        key = chance.choice(("", "", "not_")) + name
        if name == "more_parameters_than":
            match[name] = chance.randint(0, 3)
        elif name == "query":
            match[key] = {each: [chance.choice(VALUES_OF_PARAMETERS)] for each in chance.sample(PARAMETERS, 1)}
        elif name == "headers":
            match[key] = {
                each: chance.choices(GLOBS, k=chance.randint(1, 2))
                for each in chance.sample(HEADERS[:2], chance.randint(1, 2))
            }
        else:
            match[key] = chance.choices(_LISTS[name], k=chance.randint(1, 3))
    return match


def new_parts(chance: Random) -> dict[str, Any]:
    """Return the parts of a request that these conditions look at."""
    headers = {name: chance.choice(VALUES) for name in ("accept", "x-probe") if chance.random() < 0.7}
    agent = chance.choice(SEEN_AGENTS)
    return {
        "address": chance.choice(ADDRESSES),
        "method": chance.choice(METHODS),
        "host": chance.choice(SEEN_HOSTS),
        "path": chance.choice(SEEN_PATHS),
        "query": chance.choice(QUERIES),
        "headers": headers if agent is None else {**headers, "user-agent": agent},
    }


_LISTS: dict[str, tuple[Any, ...]] = {
    "networks": NETWORKS,
    "countries": COUNTRIES,
    "asns": ASNS,
    "user_agents": AGENTS,
    "headers": HEADERS,
    "methods": METHODS,
    "paths": PATHS,
    "hosts": HOSTS,
    "query": PARAMETERS,
    "more_parameters_than": (),
}
