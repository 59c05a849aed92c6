"""HTML from plain values. Text is escaped unless it is already markup, so forgetting to escape is not possible."""

import re
from collections.abc import Iterable
from html import escape

_VOID = frozenset({"input", "link", "meta", "wbr"})
_CODE = re.compile(r"`([^`]+)`")
_BLANK_LINE = re.compile(r"\n\s*\n")
_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9_-]+")


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(name: str, /, *children: str | None, **attributes: str | None) -> Markup:
    """Make one element. `class_` and `aria_label` become `class` and `aria-label`; None leaves something out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{joined(children)}</{name}>")


def joined(parts: Iterable[str | None], between: str = "") -> Markup:
    """Put parts one after the other."""
    return Markup(escape(between).join(_safe(part) for part in parts if part is not None))


def prose(text: str) -> Markup:
    """Turn one paragraph's text into markup; text between backticks is code."""
    pieces = _CODE.split(text)
    return joined(element("code", piece) if index % 2 else piece for index, piece in enumerate(pieces))


def paragraphs(text: str) -> Markup:
    """Turn text with blank lines into paragraphs."""
    return joined(element("p", prose(part)) for part in _BLANK_LINE.split(text.strip()) if part)


def anchor(kind: str, name: str) -> str:
    return f"{kind}-{_NOT_IN_IDS.sub('-', name)}"


def _safe(part: str) -> str:
    return part if isinstance(part, Markup) else escape(part)
