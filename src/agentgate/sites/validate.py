"""The limits of a site's settings. Every error names the part and what would be right."""

import re
from ipaddress import IPv6Address, ip_address

import idna
from msgspec import UNSET, UnsetType

from agentgate.lib.enums import AiUseChoice
from agentgate.lib.errors import Refused
from agentgate.lib.records import ACTION_PATTERN
from agentgate.sites.agent_policy import asked
from agentgate.sites.open_paths import ROOT_FEEDS, find_open_path_problem
from agentgate.sites.private_tokens import find_issuer_problem
from agentgate.sites.records import Site, SiteRoute
from agentgate.sites.rules.labels import slug

ORIGINS = 100
ACTIONS = 100
ROUTES = 500
OPEN_PATHS = 200
FEEDS = 20
PATH_CHARACTERS = 1024
# A scheme, the longest host name, a port; names in other scripts are shorter than their ASCII form.
ORIGIN_CHARACTERS = 300

_ACTION = re.compile(ACTION_PATTERN, re.ASCII)
# A plain path, which all servers read alike, and a query.
_FEED = re.compile(
    r"(?=/)(?:/(?!\.{1,2}(?:[/?]|\Z))[A-Za-z0-9._~@:+=!*,-]+)*/?(?:\?[A-Za-z0-9._~@:+=!*,&%-]+)?\Z", re.ASCII
)
_METHOD = re.compile(r"(?:[A-Z]{1,20}|\*)\Z", re.ASCII)
_PATH = re.compile(r"/[!-~]*\Z", re.ASCII)
# Not urlsplit: it accepts tabs, newlines, an empty port, a trailing `?` and text around brackets.
_ORIGIN = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9a-f:.]+\]|[^\s\[\]/:?#@%*\\]+)(?::(?P<port>[0-9]{1,5}))?\Z",
    re.ASCII | re.IGNORECASE,
)
_DEFAULT_PORTS = {"http": "80", "https": "443"}


def check_site(site: Site, *, most_origins: int = ORIGINS) -> None:
    """Reject a site whose parts are wrong or do not fit each other. Origins are already canonical."""
    if len(site.allowed_origins) > most_origins:
        raise _invalid(f"allowedOrigins may have at most {most_origins} entries.")
    if len(site.actions) > ACTIONS:
        raise _invalid(f"actions may have at most {ACTIONS} entries.")
    for name in site.actions:
        if not _ACTION.match(name):
            raise _invalid(f"actions: {name!r} must be 1 to 64 of a-z, 0-9 and _.")
    if len(site.routes) > ROUTES:
        raise _invalid(f"routes may have at most {ROUTES} entries.")
    for index, route in enumerate(site.routes):
        _check_route(f"routes[{index}]", route, site)
    _check_issuers(site)
    _check_ai_use(site)
    if len(site.open_paths) > OPEN_PATHS:
        raise _invalid(f"openPaths may have at most {OPEN_PATHS} entries.")
    for index, entry in enumerate(site.open_paths):
        problem = find_open_path_problem(entry)
        if problem is not None:
            raise _invalid(f"openPaths[{index}].{problem}")


def can_be_feed(target: str) -> bool:
    """Return whether a site may declare this target as a feed: all servers read it alike."""
    return len(target) <= PATH_CHARACTERS and _FEED.match(target) is not None and target not in {"", "/"}


def feeds_to_declare(known: list[str], linked: list[str]) -> list[str]:
    """Return the feeds of a site with those that its front page links; empty if none can be added."""
    if set(linked) <= (set(known) or ROOT_FEEDS):
        return []
    # All of them: declared feeds replace the root feeds.
    feeds = list(dict.fromkeys([*known, *linked]))[:FEEDS]
    return feeds if feeds != known else []


def canonical_feeds(feeds: list[str]) -> list[str]:
    """Return the feeds, each once; reject targets that servers read differently."""
    if len(feeds) > FEEDS:
        raise _invalid(f"feeds may have at most {FEEDS} entries.")
    for feed in feeds:
        if not can_be_feed(feed):
            raise _invalid(
                f"feeds: {feed[:80]!r} must be a plain path such as /blog/feed, with its exact query if it has one, "
                "such as /?feed=rss2. / alone cannot be a feed."
            )
    return list(dict.fromkeys(feeds))


def _check_ai_use(site: Site) -> None:
    if isinstance(site.ai_use, UnsetType):
        return
    if isinstance(site.ai_use.price, str) and asked(site.ai_use.price) is None:
        raise _invalid("aiUse.price must be a currency, whole units and two decimals, such as USD 0.01.")
    if AiUseChoice.PRICE in site.ai_use.choices().values() and isinstance(site.ai_use.price, UnsetType):
        raise _invalid("aiUse.price is required where a use is price, such as USD 0.01.")


def _check_issuers(site: Site) -> None:
    problem = find_issuer_problem(site.private_token_issuers)
    if problem is not None:
        raise _invalid(problem)


def _check_route(place: str, route: SiteRoute, site: Site) -> None:
    if not _METHOD.match(route.method):
        raise _invalid(f"{place}.method must be an upper-case HTTP method such as POST, or * for all.")
    if (route.path is UNSET) == (route.path_prefix is UNSET):
        raise _invalid(f"{place} must have exactly one of path and pathPrefix.")
    path = route.path_prefix if isinstance(route.path_prefix, str) else route.path
    assert isinstance(path, str)
    if not _PATH.match(path) or len(path) > PATH_CHARACTERS or set("?#\\") & set(path):
        raise _invalid(
            f"{place}: a path starts with / and has no space, ?, # or backslash; at most {PATH_CHARACTERS} long."
        )
    if route.action not in site.actions:
        raise _invalid(f"{place}.action {route.action!r} is not one of the site's actions.")


def canonical_origins(origins: list[str]) -> list[str]:
    """Return the origins in the one spelling that browsers send, each once."""
    if len(origins) > ORIGINS:
        raise _invalid(f"allowedOrigins may have at most {ORIGINS} entries.")
    return list(dict.fromkeys(canonical_origin(origin) for origin in origins))


def canonical_origin(origin: str) -> str:
    """Return scheme, host and port as a browser would send them; reject an invalid origin."""
    # What cannot be seen, such as a soft hyphen, IDNA would drop without a word.
    match = _ORIGIN.match(origin) if len(origin) <= ORIGIN_CHARACTERS and origin.isprintable() else None
    host = _canonical_host(match["host"]) if match else None
    port = _port(match["port"]) if match else None
    if match is None or host is None or port is None:
        raise _invalid(
            f"allowedOrigins: {origin[:100]!r} must be scheme://host[:port], such as https://www.example.com."
        )
    scheme = match["scheme"].lower()
    return f"{scheme}://{host}" + ("" if port in {"", _DEFAULT_PORTS[scheme]} else f":{port}")


def _port(digits: str | None) -> str | None:
    """Return the port as a browser writes it, empty when there is none; None for one that cannot be."""
    if digits is None:
        return ""
    return str(int(digits)) if 1 <= int(digits) <= 65535 else None


def _canonical_host(host: str) -> str | None:
    if host.startswith("["):
        return _canonical_ipv6(host[1:-1])
    if re.fullmatch(r"[0-9.]+", host):
        return host if _is_ipv4(host) else None
    try:
        name = idna.encode(host, uts46=True).decode("ascii") if not host.isascii() else host.lower()
    except idna.IDNAError:
        return None
    labels = name.split(".")
    fits = all(re.fullmatch(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?", label) for label in labels)
    # Browsers read a name that ends in a number, also in 0x7f, as an IPv4 address.
    is_number = re.fullmatch(r"[0-9]+|0x[0-9a-f]*", labels[-1]) is not None
    return name if fits and len(name) <= 253 and not is_number else None


def _canonical_ipv6(host: str) -> str | None:
    try:
        address = IPv6Address(host)
    except ValueError:
        return None
    if (mapped := address.ipv4_mapped) is None:
        return f"[{address}]"
    # Python 3.13 and newer write the IPv4 address with dots at the end. Browsers write hexadecimal numbers.
    high, low = divmod(int(mapped), 1 << 16)
    return f"[::ffff:{high:x}:{low:x}]"


def _is_ipv4(host: str) -> bool:
    try:
        return str(ip_address(host)) == host
    except ValueError:
        return False


def _invalid(message: str) -> Refused:
    return Refused("invalid_site", message)


MOST_PROGRAMS = 50
MOST_CHARACTERS = 64
# What people call the classes -> the class.
CLASSES = {
    "feeds": "feed_reader",
    "podcasts": "feed_reader",
    "monitors": "uptime",
    "previews": "preview",
    "webhooks": "webhook",
}
# A site that wants all scanners or all driven browsers has misread the setting.
NEVER_WANTED = frozenset({"scanner", "headless", "automation"})


def canonical_programs(programs: list[str]) -> list[str]:
    """Return the words as signals compare them, each once; reject words that can be neither a class nor a name."""
    if len(programs) > MOST_PROGRAMS:
        raise _invalid(f"wantedPrograms may have at most {MOST_PROGRAMS} entries.")
    return list(dict.fromkeys(_canonical_program(program) for program in programs))


def _canonical_program(program: str) -> str:
    word = slug(program)
    if word == "unnamed" or len(program) > MOST_CHARACTERS:
        raise _invalid(
            f"wantedPrograms: {program[:80]!r} is not a valid name. Use one of {', '.join(CLASSES)}, or a"
            " client's name "
            f"such as UptimeRobot, of at most {MOST_CHARACTERS} characters."
        )
    word = CLASSES.get(word, word)
    if word in NEVER_WANTED:
        raise _invalid(f"wantedPrograms: {program!r} would allow every {word}. Name the one client that you want.")
    return word
