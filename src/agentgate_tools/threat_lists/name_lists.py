"""Published lists of names in other formats than that of `crawlers.py`, each turned into tokens.

Which list a file is follows from its shape: `read_names` knows them all.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from agentgate.decision.threat_data.user_agent_tokens import Boundary, Token
from agentgate_tools.threat_lists.crawlers import (
    LEAST_CHARACTERS,
    MOST_CHARACTERS,
    NOT_AGENTS,
    ReadTokens,
    guess_purpose,
    is_too_general,
    plain_texts,
    position_in,
    read_crawlers,
)

# Category of well-known-bots -> our kind; the first category of an entry that is listed here counts.
KIND_OF_CATEGORY = {
    "ai": "ai_agent",
    "monitor": "uptime",
    "preview": "preview",
    "social": "preview",
    "feedfetcher": "feed_reader",
    "webhook": "webhook",
    "search-engine": "search_engine",
    "academic": "academic",
    "advertising": "advertising",
    "archive": "archiver",
    "optimizer": "seo",
    "programmatic": "http_library",
}
# Words of ai.robots.txt for an agent's function -> our term for the purpose.
PURPOSES = (
    ("train", "training"),
    ("search", "search"),
    ("assistant", "fetch"),
    ("agent", "fetch"),
    ("scrap", "dataset"),
)
# Opawg's list contains not only podcast clients, but also browsers and libraries, which are not readers.
NOT_PODCASTS = re.compile(
    r"mozilla|chrome|safari|firefox|webkit|cfnetwork|dalvik|okhttp|curl|wget|python|java|lavf|vlc"
)
SINGLE_WORD = re.compile(r"[\w-]+")
# A list without examples is believed anywhere in a text only about names that tell themselves what they are.
TELLING = re.compile(r"bot|crawl|spider|scan|scrap|fetch|http|check|monitor|archiv|index|search|\W\w")


def read_names(content: Any) -> ReadTokens | None:
    """Read a published list by its shape; None when it is of no known shape."""
    if isinstance(content, list) and content and all(isinstance(entry, dict) for entry in content):
        first = content[0]
        if isinstance(first.get("pattern"), dict):
            return _joined(map(_well_known, content))
        if "user_agents" in first:
            return _joined(map(_podcast, content))
        return read_crawlers(content)
    if isinstance(content, list):
        return read_crawlers(content)
    if isinstance(content, dict) and content and all(isinstance(entry, dict) for entry in content.values()):
        entries = [(name, entry) for name, entry in content.items() if "operator" in entry and "function" in entry]
        return _joined(_robots(name, entry) for name, entry in entries) if len(entries) == len(content) else None
    return None


def read_lines(lines: Iterable[str], kind: str) -> ReadTokens:
    """Read one name or plain expression a line, all of one kind."""
    return _joined(_line(line.strip(), kind) for line in lines if line.strip() and not line.startswith("#"))


Made = tuple[list[Token], list[str]]


def _joined(parts: Iterable[Made]) -> ReadTokens:
    tokens: list[Token] = []
    dropped: list[str] = []
    for made, lost in parts:
        tokens += made
        dropped += lost
    return ReadTokens(tokens=tuple(tokens), dropped=tuple(dropped))


def _line(line: str, kind: str) -> Made:
    return _made(line, kind, [])


def _made(pattern: str, kind: str, instances: list[str]) -> Made:
    tokens = []
    for text, at_start in plain_texts(pattern):
        name = text.strip(" /;(,:$")
        if len(name) >= LEAST_CHARACTERS and len(text) <= MOST_CHARACTERS and not is_too_general(text):
            boundary = Boundary.START if at_start else _position(text.lower(), instances)
            purpose = guess_purpose(name) if kind == "ai_agent" else ""
            tokens.append(Token(text.lower(), kind, boundary, name, purpose))
    return tokens, [] if tokens else [pattern[:MOST_CHARACTERS]]


def _position(text: str, instances: list[str]) -> Boundary:
    if instances:
        return position_in(text, instances)
    return Boundary.WORD if len(text) > LEAST_CHARACTERS and TELLING.search(text) else Boundary.START


def _well_known(entry: Mapping[str, Any]) -> Made:
    categories = entry.get("categories", [])
    kind = next((KIND_OF_CATEGORY[each] for each in categories if each in KIND_OF_CATEGORY), "crawler")
    instances = entry.get("instances", {})
    seen = [text.lower() for text in instances.get("accepted", []) if isinstance(text, str)]
    tokens: list[Token] = []
    dropped: list[str] = []
    for pattern in entry["pattern"].get("accepted", []):
        made, lost = _made(str(pattern), kind, seen)
        tokens += made
        dropped += lost
    return tokens, dropped


def _podcast(entry: Mapping[str, Any]) -> Made:
    tokens: list[Token] = []
    dropped: list[str] = []
    for pattern in entry.get("user_agents", []):
        # `^Acast.+iOS`: the name before the first expression is enough.
        start = re.split(r"[.\[(](?:[+*]|\W)|\\[sdw/.]|\.\*|\$", str(pattern))[0]
        name = start.removeprefix("^").strip(" /")
        if not start.startswith("^") or not name or NOT_PODCASTS.search(name.lower()):
            dropped.append(str(pattern)[:MOST_CHARACTERS])
            continue
        made, lost = _made(start, "feed_reader", [])
        tokens += made
        dropped += lost
    return tokens, dropped


def _robots(name: str, entry: Mapping[str, Any]) -> Made:
    too_long = not LEAST_CHARACTERS <= len(name) <= MOST_CHARACTERS
    if too_long or is_too_general(name) or name.lower() in NOT_AGENTS:
        return [], [name]
    told = str(entry["function"]).lower()
    purpose = next((ours for word, ours in PURPOSES if word in told), "") or guess_purpose(name)
    boundary = Boundary.PRODUCT if SINGLE_WORD.fullmatch(name) else Boundary.WORD
    return [Token(name.lower(), "ai_agent", boundary, name, purpose)], []
