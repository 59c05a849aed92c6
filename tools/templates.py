# ruff: noqa: INP001 - outside of the package, for `generate.py`
"""Fills the templates of generated pages, `tools/pages/*.md.in`: `@name@` is replaced."""

import re
from pathlib import Path

PAGES = Path(__file__).parent / "pages"
_NAME = re.compile(r"@([a-z]+)@")


def filled(page: str, **texts: str) -> str:
    """Return a template with its names replaced; every name must be given, and used."""
    template = (PAGES / f"{page}.md.in").read_text(encoding="utf-8")
    if set(_NAME.findall(template)) != set(texts):
        raise ValueError(f"{page}.md.in and its texts differ in names")
    return _NAME.sub(lambda found: texts[found[1]], template)
