"""Published lists of crawlers -> tokens: crawler-user-agents.json and the merged list of AI agents.

Their patterns are regular expressions. Plain text becomes a token; other patterns are dropped and counted.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from agentgate.decision.threat_data.user_agent_tokens import Boundary, Token, TokenMatcher
from agentgate_tools.threat_lists.name_evidence import is_build_or_model

# Tag of crawler-user-agents.json -> our kind. The first tag of an entry that is listed here counts.
KIND_OF_TAG = {
    "ai-crawler": "ai_agent",
    "search-engine": "search_engine",
    "seo": "seo",
    "advertising": "advertising",
    "archiver": "archiver",
    "academic": "academic",
    "social-preview": "preview",
    "feed-reader": "feed_reader",
    "monitoring": "uptime",
    "scanner": "scanner",
    "http-library": "http_library",
    "browser-automation": "automation",
}
PURPOSE_OF_CATEGORY = {"ai-training": "training", "ai-search": "search", "user-fetch": "fetch", "dataset": "dataset"}
# The list marks all other names as too general for a browser's own User-Agent, or as never sent.
MATCHED_BY_DEFAULT = "product-token"
# Known to the list of AI agents, but what they do is show a link's preview or read a feed for people.
NOT_AGENTS = {"facebookexternalhit", "awariorssbot"}
# Names that also occur in the User-Agents of ordinary browsers and apps, or are everyday words.
TOO_GENERAL = {
    *("silk/", "code/1.", "fluid", "current", "chirp", "fever", "trove", "ning/", "convera", "mail/", "sonic"),
    # Tools that people work with, in which an agent may work too.
    *(
        "code",
        "cursor",
        "devin",
        "operator",
        "openai",
        "spider",
        "trae",
        "trae/",
        "yak",
        "newsai",
        "lcc",
        "comet",
        "manus",
    ),
    # Programs of people: mail, documents, players; and hosts whose names occur in many texts.
    *(
        "microsoft office",
        "microsoft outlook",
        "outlook-express",
        "outlook-ios",
        "microsoft data access",
        "ms frontpage",
    ),
    *("microsoft windows network diagnostics", "lavf", "libvlc", "github.com", "dalvik", "mozacfetch", "googleapp"),
    # Browsers and apps of people that are named after a search engine or a school's platform.
    *("coccoc", "freespoke/", "freespoke", "speedy", "blackboard", "butterfly", "mqqbrowser", "sogou", "tornado"),
}

LEAST_CHARACTERS, MOST_CHARACTERS = 3, 100
SAME_LETTER = re.compile(r"\[([a-zA-Z])([a-zA-Z])\]")
GROUP = re.compile(r"^([^()]*)\(([^()]*)\)([^()]*)$")
PLAIN = re.compile(r"(?:\\[^A-Za-z0-9]|[^\\^$.|?*+()\[\]{}])+")


class ReadTokens(Struct, frozen=True):
    """Tokens of a list, and the patterns that could not become any."""

    tokens: tuple[Token, ...]
    dropped: tuple[str, ...]


def read_crawlers(entries: Iterable[Any]) -> ReadTokens:
    """Read the entries of crawler-user-agents.json; an entry of another shape counts as dropped."""
    tokens: list[Token] = []
    dropped: list[str] = []
    for entry in entries:
        made = list(_tokens_of_entry(entry)) if isinstance(entry, dict) else []
        tokens += made
        if not made:
            dropped.append(str(entry.get("pattern") if isinstance(entry, dict) else entry)[:MOST_CHARACTERS])
    return ReadTokens(tokens=tuple(tokens), dropped=tuple(dropped))


def read_agents(entries: Iterable[Any]) -> ReadTokens:
    """Read the entries of the merged list of AI agents."""
    tokens: list[Token] = []
    dropped: list[str] = []
    for entry in entries:
        text = str(entry["token"])
        if entry.get("match") != MATCHED_BY_DEFAULT or text.lower() in NOT_AGENTS:
            dropped.append(text)
            continue
        purpose = PURPOSE_OF_CATEGORY.get(entry.get("category", ""), "") or guess_purpose(text)
        tokens.append(Token(text.lower(), "ai_agent", Boundary.PRODUCT, text, purpose))
    return ReadTokens(tokens=tuple(tokens), dropped=tuple(dropped))


def guess_purpose(name: str) -> str:
    """Return the purpose that a name shows by the operators' naming habits; else an empty string."""
    lowered = name.lower()
    if lowered.endswith("-user") or "fetcher" in lowered:
        return "fetch"
    return "search" if "search" in lowered else ""


def _tokens_of_entry(entry: dict[str, Any]) -> Iterator[Token]:
    pattern, tags, instances = entry.get("pattern"), entry.get("tags", []), entry.get("instances", [])
    if not isinstance(pattern, str) or not isinstance(tags, list) or not isinstance(instances, list):
        return
    kind = next((KIND_OF_TAG[tag] for tag in tags if isinstance(tag, str) and tag in KIND_OF_TAG), "crawler")
    seen = [text.lower() for text in instances if isinstance(text, str)]
    for text, at_start in plain_texts(pattern):
        if not LEAST_CHARACTERS <= len(text) <= MOST_CHARACTERS or is_too_general(text):
            continue
        boundary = Boundary.START if at_start else position_in(text.lower(), seen)
        name = text.strip(" /;(,:")
        purpose = guess_purpose(name) if kind == "ai_agent" else ""
        yield Token(text.lower(), kind, boundary, name, purpose)


def is_too_general(text: str) -> bool:
    """Say whether a text names no program: an everyday word, a build, a model."""
    return text.lower() in TOO_GENERAL or is_build_or_model(text)


def plain_texts(pattern: str) -> list[tuple[str, bool]]:
    """Return the plain texts that a pattern stands for, each with whether it is tied to the start."""
    at_start = pattern.startswith("^")
    rest = pattern.removeprefix("^").removeprefix("(^| )")
    rest = SAME_LETTER.sub(lambda match: match[1] if match[1].lower() == match[2].lower() else match[0], rest)
    group = GROUP.match(rest)
    written = [group[1] + middle + group[3] for middle in group[2].split("|")] if group else rest.split("|")
    if not all(PLAIN.fullmatch(text) for text in written):
        return []
    unescaped = [re.sub(r"\\(.)", r"\1", text) for text in written]
    # The same name in two spellings is one token.
    return [(text, at_start) for text in {text.lower(): text for text in unescaped}.values()]


def position_in(text: str, instances: list[str]) -> Boundary:
    """Return the strictest boundary with which the list's own examples are still found."""
    tried = (Boundary.PRODUCT, Boundary.WORD, Boundary.LEFT) if instances else (Boundary.WORD, Boundary.LEFT)
    holding = [instance for instance in instances if text in instance]
    for boundary in tried:
        matcher = TokenMatcher([Token(text, "", boundary, "")])
        if all(matcher.find(instance) for instance in holding):
            return boundary
    return Boundary.ANYWHERE
