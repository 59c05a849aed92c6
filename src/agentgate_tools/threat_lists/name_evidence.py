"""Evidence about names: people's own browsers and devices share some of them, so these names prove nothing.

A name that occurs in people's User-Agents is tied to the start of the text if that helps, and rejected otherwise. Build
numbers and models are always rejected, whatever list they come from.
"""

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from agentgate.decision.threat_data.user_agent_tokens import Boundary, Token, TokenMatcher, searchable

# Android builds (`AP3A.240617.008`, `KOT49H`), Apple's (`15E148`), and plain versions.
BUILD_NUMBERS = (
    re.compile(r"[a-z]{2,3}\d[a-z]\.\d{6}(?:\.[a-z0-9.]+)?"),
    re.compile(r"[a-z]{3}\d{2}[a-z]{0,2}"),
    re.compile(r"\d{2}[a-z]\d{2,5}[a-z]?"),
    re.compile(r"v?[\d._-]+"),
)
# Models as their makers number them: `SM-G991B`, `RMX3231`, `CPH2451`, `M2101K6G`.
MODELS = (re.compile(r"[a-z]{1,4}-?[a-z]?\d{3,5}[a-z]{0,3}\d?"), re.compile(r"[a-z]\d{4,}[a-z0-9]{2,4}"))
# Of a name that people have, only this place is tried: no browser's text begins with the name of a program.
STRICTEST = Boundary.START


class Judged(Struct, frozen=True):
    """Tokens that may be used, and those that may not, each with the reason."""

    tokens: tuple[Token, ...]
    refused: tuple[tuple[str, str], ...]


def judge_names(tokens: Iterable[Token], people: Sequence[str]) -> Judged:
    """Hold names against people's User-Agents."""
    kept: list[Token] = []
    refused: list[tuple[str, str]] = []
    for token in tokens:
        if is_build_or_model(token.text):
            refused.append((token.text, "a build number or a model"))
        else:
            kept.append(token)
    hit = names_of_people(kept, people)
    tied = [replace(token, boundary=STRICTEST) for token in kept if token in hit]
    still = names_of_people(tied, people)
    allowed = {token.text: token for token in tied if token not in still}
    refused += [
        (token.text, f"people have it: {hit[token]}") for token in kept if token in hit and token.text not in allowed
    ]
    return Judged(
        tokens=tuple(
            allowed[token.text] if token in hit else token
            for token in kept
            if token not in hit or token.text in allowed
        ),
        refused=tuple(refused),
    )


def is_build_or_model(text: str) -> bool:
    """Say whether a text is the number of a build or a device and not the name of a program."""
    word = text.strip(" /;(,:").lower()
    return any(pattern.fullmatch(word) for pattern in (*BUILD_NUMBERS, *MODELS))


def names_of_people(tokens: Sequence[Token], people: Iterable[str]) -> dict[Token, str]:
    """Return the tokens that are found in people's User-Agents, each with one of these."""
    matcher = TokenMatcher(tokens)
    found: dict[Token, str] = {}
    for text in people:
        for token in matcher.find(searchable(text)):
            found.setdefault(token, text)
    return found
