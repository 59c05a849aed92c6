"""The User-Agent: browser or program, which one, how old; and the crawler or AI agent that it claims to be.

All of it depends on the text alone, so it is worked out once per text.
"""

import re
from collections.abc import Iterator

from agentgate.protection.signals.signal_input import Labels, Look
from agentgate.protection.threat_data.intel import Intel
from agentgate.protection.threat_data.search_operators import SearchOperator
from agentgate.protection.threat_data.user_agent_tokens import Token, searchable
from agentgate.protection.threat_data.views import UserAgentView

# No browser's User-Agent is longer; what follows is not looked at.
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
    "scanner": ("ua.scanner",),
    "http_library": ("ua.http_library",),
    "headless": ("ua.automation", "ua.headless"),
    "automation": ("ua.automation",),
}
# Whoever has such a name is an agent or crawler that a site's policy may ask to identify itself.
CLAIMING_KINDS = ("ai_agent", "search_engine", "seo", "archiver", "academic", "advertising", "crawler")
PURPOSE_OF_KIND = {"search_engine": "search", "seo": "seo", "archiver": "archive", "advertising": "advertising"}

# A name that is in no list, but says itself what it is.
GENERIC_CRAWLER = re.compile(r"(?:bot|crawler|spider|scraper)(?![a-z])|\+https?://")

IOS_SYSTEMS = ("(iPhone", "(iPad", "(iPod")
EMBEDDED = ("; wv)", "FBAN/", "FBAV/", "Instagram ", " Line/", "Snapchat/", " GSA/", "musical_ly", "BytedanceWebview")
PLATFORMS = (
    ("Windows NT", "Windows"),
    ("Android", "Android"),
    ("CrOS", "Chrome OS"),
    ("iPhone", "iOS"),
    ("iPad", "iOS"),
    ("Macintosh", "macOS"),
    ("X11; Linux", "Linux"),
)
# Releases that are more than two years old; browsers update themselves.
OLD_BELOW = {"chromium": 120, "firefox": 115, "safari": 15}


def user_agent_labels(look: Look) -> Labels:
    """Return `ua.*`."""
    return look.user_agent.labels


def view_user_agent(text: str | None, intel: Intel) -> UserAgentView:
    """Understand a User-Agent; None when the header did not come."""
    found = intel.user_agents.get(text)
    return found if found is not None else _keep(text, intel)


def _keep(text: str | None, intel: Intel) -> UserAgentView:
    # Only a bounded text is remembered: a few thousand keys of 16 KB each would be a lot of memory.
    if text is None or len(text) <= LOOKED_AT_CHARACTERS:
        return intel.user_agents.put(text, _read(text, intel))
    return _read(text, intel)


def _read(text: str | None, intel: Intel) -> UserAgentView:
    if text is None or not text.strip():
        return UserAgentView(labels=("ua.missing",))
    shown = text[:LOOKED_AT_CHARACTERS]
    lowered = searchable(shown)
    tokens = intel.tokens.find(lowered)
    kinds = {token.kind for token in tokens}
    if not kinds and _says_crawler(lowered):
        kinds.add("crawler")
    engine, major = _engine(shown)
    labels = {label for kind in kinds for label in LABELS_OF_KIND.get(kind, ())}
    labels.update(_form(text, engine, major))
    if engine and not labels & {"ua.crawler", "ua.ai_agent", "ua.headless", "ua.http_library", "ua.preview"}:
        labels.add("ua.browser")
    if not engine and not kinds:
        labels.add("ua.unknown")
    claim = _claim(tokens) if tokens else None
    platform = _platform(shown) if engine else ""
    return UserAgentView(
        labels=tuple(sorted(labels)),
        claim_labels=() if claim is None else tuple(claim_labels(claim)),
        claimed_agent=None if claim is None else claim.name,
        engine=engine,
        major=major,
        platform=platform,
        mobile="Mobile" in shown,
        embedded=bool(engine) and _is_embedded(shown),
        hint=f'"Chromium";v="{major}"' if engine == "chromium" else "",
        platform_hint=f'"{platform}"' if platform else "",
        mobile_hint="?1" if "Mobile" in shown else "?0",
        length=len(text),
        search=_search(tokens, intel),
    )


def _search(tokens: list[Token], intel: Intel) -> tuple[SearchOperator, ...]:
    operators = intel.operators
    claimed = {token.text: operators[token.text] for token in tokens if token.text in operators}
    return tuple({operator.number: operator for operator in claimed.values()}.values())


def _says_crawler(lowered: str) -> bool:
    # Plain looks first: the expression costs more than all else here, and most texts have none of the words.
    words = "bot" in lowered or "crawl" in lowered or "spider" in lowered or "scrap" in lowered or "+http" in lowered
    return words and GENERIC_CRAWLER.search(lowered) is not None


def _engine(text: str) -> tuple[str, int]:
    if not text.startswith("Mozilla/5.0 ("):
        return "", 0
    # On iOS every browser is Safari underneath, whatever its own name.
    if text.startswith(IOS_SYSTEMS, len("Mozilla/5.0 ")):
        return "safari", _number_after(text, " Version/")
    for engine, product in (("chromium", "Chrome/"), ("chromium", " Chromium/"), ("firefox", " Firefox/")):
        major = _number_after(text, product)
        if major:
            return engine, major
    return ("safari", _number_after(text, " Version/")) if " Safari/" in text else ("", 0)


def _number_after(text: str, product: str) -> int:
    """Return the number that follows a product's name; 0 when there is none."""
    _, found, rest = text.partition(product)
    number = rest[:4].partition(".")[0] if found else ""
    return int(number) if number.isascii() and number.isdigit() else 0


def _platform(text: str) -> str:
    for part, platform in PLATFORMS:
        if part in text:
            return platform
    return ""


def _is_embedded(text: str) -> bool:
    for part in EMBEDDED:  # noqa: SIM110 - a third of the time of `any`, for each new text
        if part in text:
            return True
    return False


def _form(text: str, engine: str, major: int) -> Iterator[str]:
    """Yield what the form of the text says."""
    if len(text) > LONG_CHARACTERS:
        yield "ua.long"
    if len(text) < SHORT_CHARACTERS:
        yield "ua.short"
    if not text.isascii() or not text.isprintable() or (text.startswith("Mozilla/") and not _is_whole(text)):
        yield "ua.malformed"
    if engine and 0 < major < OLD_BELOW[engine]:
        yield "ua.old"


def _is_whole(text: str) -> bool:
    """Say whether every bracket that opens is closed, as in what a browser sends."""
    return text.count("(") == text.count(")") and "(" in text


def _claim(tokens: list[Token]) -> Token | None:
    """Return the token that tells best who it claims to be: by kind, a name before an address, the longest."""
    claiming = [token for token in tokens if token.kind in CLAIMING_KINDS]
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


def slug(name: str) -> str:
    """Write a name as one part of a label."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:64] or "unnamed"
