"""The text that an agent submits: traits of spam and of text made to deceive. It is inspected and never stored.

Every detector is linear in the text, and the text is cut to a bound.
"""

import re
from collections import Counter
from collections.abc import Iterator

from agentgate.decision.signals.signal_input import Labels, SignalInput
from agentgate.decision.threat_data.user_agent_tokens import searchable

LOOKED_AT_CHARACTERS = 16_384
# Enough to judge the style of writing.
CAPITALS_LOOKED_AT_CHARACTERS = 2_048
LONG_CHARACTERS = 10_000

MANY_LINKS = 5
LINK_SHARE = 0.5
REPEATED_WORDS = 20
REPEATED_SHARE = 0.3
DISTINCT_SHARE = 0.25
CAPITAL_LETTERS = 30
CAPITAL_SHARE = 0.7

LINK_STARTS = ("http://", "https://", "www.", "[url")
# Two matches of one link.
COUNTED_TWICE = ("://www.", "[url=http", "[url]http")
MARKUP = ("<a ", "<script", "<iframe", "[url=", "[link=")
# Characters that show nothing or turn the direction of writing. The joiners that emoji and Persian need, and the marks
# that Arabic and Hebrew keyboards type, are not here.
HIDDEN = re.compile("[\u200b\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]")
# At either end it is a byte order mark: editors and pages add it without the writer.
BYTE_ORDER_MARK = "\ufeff"
_EDGES = f"{BYTE_ORDER_MARK} \t\r\n"
# A Latin letter directly next to a Cyrillic or Greek one: no word of any language has both.
MIXED = re.compile("[A-Za-z][\u0370-\u03ff\u0400-\u04ff]|[\u0370-\u03ff\u0400-\u04ff][A-Za-z]")


def content_labels(request: SignalInput) -> Labels:
    """Return `content.*`; nothing where no content was submitted."""
    if request.facts.content is None:
        return ()
    text = request.facts.content[:LOOKED_AT_CHARACTERS]
    if not text.strip():
        return ("content.empty",)
    lowered = searchable(text)
    labels = [*_characters(text), *_links(lowered), *_words(lowered)]
    if request.intel.phrases.find_matches_as_indexes(lowered):
        labels.append("content.spam_phrase")
    return labels


def count_links(content: str) -> int:
    """Return how many links a text has."""
    return _count_links(content[:LOOKED_AT_CHARACTERS].lower())


def _count_links(lowered: str) -> int:
    starts = sum(lowered.count(start) for start in LINK_STARTS)
    return starts - sum(lowered.count(both) for both in COUNTED_TWICE) if starts else 0


def _characters(text: str) -> Iterator[str]:
    if len(text) > LONG_CHARACTERS:
        yield "content.long"
    if not text.isascii():
        if HIDDEN.search(text.strip(_EDGES)):
            yield "content.hidden_characters"
        if MIXED.search(text):
            yield "content.mixed_scripts"
    shown = text[:CAPITALS_LOOKED_AT_CHARACTERS]
    capitals = sum(map(str.isupper, shown))
    if capitals >= CAPITAL_LETTERS * CAPITAL_SHARE:
        letters = sum(map(str.isalpha, shown))
        if letters >= CAPITAL_LETTERS and capitals > letters * CAPITAL_SHARE:
            yield "content.all_caps"


def _links(lowered: str) -> Iterator[str]:
    links = _count_links(lowered)
    if links >= MANY_LINKS:
        yield "content.many_links"
    if links and links >= len(lowered.split()) * LINK_SHARE:
        yield "content.links_only"
    if any(markup in lowered for markup in MARKUP):
        yield "content.markup"


def _words(lowered: str) -> Iterator[str]:
    words = lowered.split()
    if len(words) < REPEATED_WORDS:
        return
    counts = Counter(words)
    most = max(counts.values())
    if most > len(words) * REPEATED_SHARE or len(counts) < len(words) * DISTINCT_SHARE:
        yield "content.repetition"
