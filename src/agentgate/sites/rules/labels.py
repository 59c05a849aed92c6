"""LABELS: every label that a decision may have, with its source and its meaning, as labels.toml lists them."""

import re
from pathlib import Path
from typing import Annotated

from msgspec import Meta, toml

from agentgate.lib.records import Record

FAMILY = ".*"
FAMILY_MEMBER = re.compile(r"[a-z0-9_]{1,64}")

_Source = Annotated[str, Meta(pattern=r"^[a-z_]+\Z")]
_Name = Annotated[str, Meta(pattern=r"^[a-z0-9_]+(\.[a-z0-9_]+)*(\.\*)?\Z")]
_Meaning = Annotated[str, Meta(pattern=r"^\S.*\S\Z")]


class SignalLabel(Record, frozen=True, kw_only=True):
    """A label, or a family of labels."""

    name: str
    source: str
    meaning: str


def read_labels(text: str) -> tuple[SignalLabel, ...]:
    """Return the labels of a catalog: a table for each source, with names and meanings."""
    sources = toml.decode(text, type=dict[_Source, dict[_Name, _Meaning]])
    return tuple(
        SignalLabel(name=f"{source}.{name}", source=source, meaning=meaning)
        for source, labels in sources.items()
        for name, meaning in labels.items()
    )


LABELS = read_labels(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
EXACT_NAMES = frozenset(label.name for label in LABELS if not label.name.endswith(FAMILY))
FAMILY_NAMES = frozenset(label.name.removesuffix(FAMILY) for label in LABELS if label.name.endswith(FAMILY))


def is_label(text: str) -> bool:
    """Return whether a decision may ever have this label."""
    if text in EXACT_NAMES:
        return True
    family, _, member = text.rpartition(".")
    return family in FAMILY_NAMES and FAMILY_MEMBER.fullmatch(member) is not None


def slug(name: str) -> str:
    """Write a name as one part of a label."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:64] or "unnamed"
