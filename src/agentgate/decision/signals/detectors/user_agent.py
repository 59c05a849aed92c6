"""The User-Agent: browser or program, which one, how old; and the crawler or AI agent that it claims to be.

All of it depends on the text alone, so it is worked out once per text.
"""

import re
from collections.abc import Iterator

from agentgate.decision.signals.browsers import engine_of
from agentgate.decision.signals.detectors.browser_class import (
    BrowserClass,
    browser_class,
    device_labels,
    names_part,
)
from agentgate.decision.signals.detectors.tools import is_mail_program, tool_classes
from agentgate.decision.signals.signal_input import Labels, SignalInput
from agentgate.decision.signals.words import WORDS
from agentgate.decision.threat_data.intel import Intel
from agentgate.decision.threat_data.search_operators import SearchOperator
from agentgate.decision.threat_data.user_agent_tokens import Token, WordSearch, searchable
from agentgate.decision.threat_data.views import UserAgentView
from agentgate.lib.enums import AiPurpose
from agentgate.sites.rules.labels import slug

# No browser's User-Agent is longer; the rest is not inspected.
LOOKED_AT_CHARACTERS = 1_024
LONG_CHARACTERS = 512
SHORT_CHARACTERS = 10

# Kind of a token -> its labels, most telling kind first: of several names the first kind gives the claimed one.
LABELS_OF_KIND = {
    "ai_agent": ("ua.ai_agent",),
    "search_engine": ("ua.crawler", "ua.search_engine"),
    "seo": ("ua.crawler", "ua.seo"),
    "archiver": ("ua.archiver", "ua.crawler"),
    "academic": ("ua.academic", "ua.crawler"),
    "advertising": ("ua.advertising", "ua.crawler"),
    "crawler": ("ua.crawler",),
    "preview": ("ua.preview",),
    "feed_reader": ("ua.feed_reader",),
    "uptime": ("ua.uptime",),
    "git": ("ua.git",),
    "webhook": ("ua.webhook",),
    "text_browser": ("ua.text_browser",),
    "scanner": ("ua.scanner",),
    "http_library": ("ua.http_library",),
    "headless": ("ua.automation", "ua.headless"),
    "automation": ("ua.automation",),
}
# Kinds of agents and crawlers, which a site's policy may ask to identify themselves.
CLAIMING_KINDS = ("ai_agent", "search_engine", "seo", "archiver", "academic", "advertising", "crawler")
# Kinds that say what a program is good for.
PROGRAM_KINDS = frozenset({"preview", "feed_reader", "uptime", "git", "webhook"})
PURPOSE_OF_KIND = {"search_engine": "search", "seo": "seo", "archiver": "archive", "advertising": "advertising"}

# Words with which a program describes itself, and an address or mail address of its operator. Followed by a
# letter they are parts of other words; `bot` is part of brands that phones have.
GENERIC_CRAWLER = re.compile(
    r"(?<!cu)bots?(?![a-z])|crawl|spider|scrap(?:er|ing|y)|slurp|harvest|archiver|fetcher|indexer|(?<!cam)scanner"
    r"|https?://|\bwww\.|[\w.-]@[a-z][\w-]*\.[a-z]|\bapi client|validator|link ?check|sitemap|web ?check|headless"
)
GENERIC_PARTS = WordSearch(WORDS.generic_parts)
ADDRESSES = ("http", "www")
# Old browsers say that they are compatible too, and name the system that they run on.
SYSTEMS = ("windows", "trident", "amiga", "beos", "linux", "mac os", "ms-office")
APPS = frozenset({"webview", "legacy"})
# If a User-Agent claims a browser's engine, a single word proves nothing unless the word itself describes a program.
TELLING = re.compile(
    r"bot|crawl|spider|scan|scrap|fetch|preview|agent|archiv|monitor|headless|driver|http|audit|user$|test"
)
# Kinds that one word may give to a browser: they lead to no block, or the program that controls the browser identifies
# itself.
HARMLESS_KINDS = frozenset(
    {"preview", "feed_reader", "uptime", "webhook", "git", "headless", "automation", "text_browser"}
)
# Kinds of which a site may want one or the other.
WANTABLE_KINDS = frozenset(LABELS_OF_KIND) - {"scanner", "headless", "automation", "http_library", "text_browser"}
# Kinds that leave a browser a browser: those that a person's program or phone may be named after.
PEOPLES_KINDS = frozenset({"feed_reader", "uptime", "git", "webhook", "text_browser"})
# Only a program's name and perhaps its version.
BARE = re.compile(r"[\w.+-]{2,40}(?: [\w.+-]{1,20}){0,2}(?:[/ ]v?[\d.]+[\w.-]*)?")
# The product at the start of the text, or the product after `compatible;`.
PRODUCT = re.compile(r"(?:^mozilla/\d\.\d \((?:compatible; ?)|^)([a-z][\w .!+-]{1,38}?)(?:[/;:,()]| v?\d|$)")

PERSONAL_DEVICES = WordSearch(WORDS.personal_devices)

# How a User-Agent of Chrome, Edge and Opera ends.
PLAIN_END = re.compile(r"\) Chrome/[\d.]+ Safari/537\.36(?: (?:Edg|OPR)/[\d.]+)?\Z")

# The first two parts of a version, and those after them.
_BUILD = re.compile(r"([0-9]+\.[0-9]+)((?:\.[0-9]+)+)")
_ZEROS = str.maketrans("123456789", "0" * 9)


def user_agent_labels(request: SignalInput) -> Labels:
    """Return `ua.*`."""
    return request.user_agent.labels


def view_user_agent(text: str | None, intel: Intel) -> UserAgentView:
    """Understand a User-Agent; None when the header did not come."""
    without_build = None if text is None else mask_builds(text)
    found = intel.user_agents.get(without_build)
    return found if found is not None else _keep(without_build, intel)


def _keep(text: str | None, intel: Intel) -> UserAgentView:
    # Only a bounded text is remembered: a few thousand keys of 16 KB each would be a lot of memory.
    if text is None or len(text) <= LOOKED_AT_CHARACTERS:
        return intel.user_agents.put(text, _read(text, intel))
    return _read(text, intel)


def mask_builds(text: str) -> str:
    """Return a User-Agent with zeros from the third part of each version on, as many as there are digits.

    Nothing is read there, and apps and embedded browsers come in thousands of builds.
    """
    return _BUILD.sub(_mask, text)


def _mask(version: re.Match[str]) -> str:
    return version[1] + version[2].translate(_ZEROS)


def _read(text: str | None, intel: Intel) -> UserAgentView:
    if text is None or not text.strip():
        return UserAgentView(labels=("ua.missing",))
    shown = text[:LOOKED_AT_CHARACTERS]
    lowered = searchable(shown)
    named = names_part(lowered)
    browser = browser_class(shown)
    tokens = _believed(intel.tokens.find(named), named, browser)
    kinds = {token.kind for token in tokens}
    if not kinds and _says_crawler(named, browser):
        kinds.add("crawler")
    labels = {label for kind in kinds for label in LABELS_OF_KIND.get(kind, ())}
    labels.update(_form(text, browser))
    labels.update(_what(shown, browser, kinds))
    tools = tool_classes(lowered)
    labels.update(tools)
    is_unnamed = not (browser.engine or labels.isdisjoint(("ua.unknown", "ua.feed_reader")))
    if is_unnamed and PERSONAL_DEVICES.has_any(lowered):
        labels.add("ua.app")
    claim = _claim(tokens, is_classed=not kinds.isdisjoint(PROGRAM_KINDS) or bool(tools)) if tokens else None
    return UserAgentView(
        labels=tuple(sorted(labels)),
        claim_labels=() if claim is None else tuple(claim_labels(claim)),
        claimed_agent=None if claim is None else claim.name,
        engine=browser.engine,
        major=browser.major,
        platform=browser.platform,
        mobile=browser.mobile,
        device=browser.device,
        is_mail_program=is_mail_program(lowered),
        is_plain=PLAIN_END.search(shown) is not None,
        programs=() if "ua.browser" in labels else tuple(_programs(tokens, kinds, named)),
        program=_program(tokens),
        search=_search(tokens, intel),
        ai=_ai(tokens, intel),
    )


def _believed(tokens: list[Token], named: str, browser: BrowserClass) -> list[Token]:
    """Return the names that count: all of a program, of a browser the first word and those that describe themselves."""
    if not tokens or not browser.engine or _says_crawler(named, browser):
        return tokens
    # No visitor's text begins with the name of a program.
    return [
        token
        for token in tokens
        if token.kind in HARMLESS_KINDS or TELLING.search(token.text) or named.startswith(token.text.lower())
    ]


def _what(text: str, browser: BrowserClass, kinds: set[str]) -> Iterator[str]:
    """Yield whether it is a browser or a program, and of which class."""
    if browser.engine:
        yield from device_labels(browser)
        # A name next to a browser's engine may still belong to a person's browser.
        yield "ua.claims_browser" if kinds - PEOPLES_KINDS else "ua.browser"
    elif not kinds:
        yield "ua.unknown"
        if BARE.fullmatch(text):
            yield "ua.bare"


def _programs(tokens: list[Token], kinds: set[str], named: str) -> Iterator[str]:
    """Yield the words by which a site may name this program as wanted: its names and its classes."""
    words = {slug(token.name) for token in tokens} | kinds
    found = PRODUCT.match(named)
    if found:
        words.add(slug(found[1]))
    yield from sorted(words)


def _program(tokens: list[Token]) -> str | None:
    # Only names of the lists: freely chosen labels could fill the tables of events.
    named = [token for token in tokens if token.kind in WANTABLE_KINDS]
    return slug(named[0].name) if named else None


def _search(tokens: list[Token], intel: Intel) -> tuple[SearchOperator, ...]:
    operators = intel.operators
    claimed = (operators[token.text] for token in tokens if token.text in operators)
    return tuple({operator.number: operator for operator in claimed if not operator.is_ai}.values())


def _ai(tokens: list[Token], intel: Intel) -> tuple[tuple[SearchOperator, AiPurpose], ...]:
    operators = intel.operators
    claimed = ((operators[token.text], token.text) for token in tokens if token.text in operators)
    found = ((operator, dict(operator.purposes)[name]) for operator, name in claimed if operator.is_ai)
    return tuple({(operator.number, purpose): (operator, purpose) for operator, purpose in found}.values())


def _says_crawler(named: str, browser: BrowserClass) -> bool:
    if not browser.engine and named.startswith("mozilla/") and "compatible;" in named:
        return not any(system in named for system in SYSTEMS) or GENERIC_CRAWLER.search(named) is not None
    # The words first: the expression costs more than all else here, and most texts have none of them.
    found = GENERIC_CRAWLER.search(named) if GENERIC_PARTS.has_any(named) else None
    # Some apps for people name their maker's site. Their browsers are not crawlers for that reason.
    return found is not None and not (browser.device in APPS and found[0].startswith(ADDRESSES))


def _form(text: str, browser: BrowserClass) -> Iterator[str]:
    """Yield labels for the form of the text."""
    if len(text) > LONG_CHARACTERS:
        yield "ua.long"
    if len(text) < SHORT_CHARACTERS:
        yield "ua.short"
    if not text.isascii() or not text.isprintable() or (text.startswith("Mozilla/") and not _is_whole(text)):
        yield "ua.malformed"
    if 0 < browser.major < engine_of(browser.engine).old_below:
        yield "ua.old"


def _is_whole(text: str) -> bool:
    """Return whether every bracket that opens is closed, as in what a browser sends."""
    return text.count("(") == text.count(")") and "(" in text


def _claim(tokens: list[Token], *, is_classed: bool) -> Token | None:
    """Return the token that best identifies the claimed program: by kind, a name before an address, the longest.

    Lists of crawlers have package managers, calendars and previews too. If a program's class is known, such a list adds
    nothing, and the program is not expected to sign.
    """
    claiming = [
        token for token in tokens if token.kind in CLAIMING_KINDS and not (is_classed and token.kind == "crawler")
    ]
    return min(claiming, key=_telling, default=None)


def _telling(token: Token) -> tuple[int, bool, int]:
    return CLAIMING_KINDS.index(token.kind), "/" in token.name, -len(token.text)


def claim_labels(claim: Token) -> Iterator[str]:
    """Yield the labels of a claim: its name and its purpose."""
    yield "agent.claimed"
    yield f"agent.name.{slug(claim.name)}"
    purpose = claim.purpose or PURPOSE_OF_KIND.get(claim.kind, "")
    if purpose:
        yield f"agent.purpose.{purpose}"
