"""What a person is shown of a submission's content: a few short lines of plain text, whatever the content is."""

import json
import unicodedata
from typing import Any

MOST_ENTRIES = 12
NAME_CHARACTERS = 60
VALUE_CHARACTERS = 300

Lines = list[tuple[str, str]]


def summarise(content: Any) -> str:
    """Return the lines as JSON, as they are kept until the person has decided."""
    members = list(content.items()) if isinstance(content, dict) else [("", content)]
    lines = [
        (_plain(str(name), NAME_CHARACTERS), _plain(_text(value), VALUE_CHARACTERS))
        for name, value in members[:MOST_ENTRIES]
    ]
    if len(members) > MOST_ENTRIES:
        lines.append(("", f"… +{len(members) - MOST_ENTRIES}"))
    return json.dumps(lines, ensure_ascii=False)


def read_summary(summary: str | None) -> Lines:
    """Return the lines again: name and value each."""
    return [(name, value) for name, value in json.loads(summary)] if summary else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _plain(text: str, most: int) -> str:
    # Control and format characters could turn what follows around, or hide it: a space stands for each.
    kept = text[: most + 1]
    clean = "".join(" " if unicodedata.category(character)[0] == "C" else character for character in kept)
    short = " ".join(clean.split())
    return short if len(text) <= most else short[: most - 1] + "…"
