"""Reads docs/spec.md: endpoint, error and limit tables, enumerations. Records are read in `spec_records`.

The document is the authority, so nothing here repeats its content; a missing table is an error.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SPEC_PATH = Path(__file__).parents[2] / "docs" / "spec.md"

_CODE = re.compile(r"`([^`]+)`")
_PARENTHESES = re.compile(r"\([^()]*\)")
_STATUS = re.compile(r"\b[2-5]\d\d\b")


@dataclass(frozen=True)
class Table:
    """A table, the headings above it, and the line before it."""

    chapter: str
    section: str
    lead: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def column(self, name: str) -> tuple[str, ...]:
        """Return the cells of one column."""
        return tuple(row[self.header.index(name)] for row in self.rows)


@dataclass(frozen=True)
class SpecEndpoint:
    """One method on one path."""

    section: str
    method: str
    path: str


def spec_text() -> str:
    """Return the whole specification."""
    return SPEC_PATH.read_text(encoding="utf-8")


def code_words(text: str) -> tuple[str, ...]:
    """Return what is written in code style."""
    return tuple(_CODE.findall(text))


def tables(text: str) -> Iterator[Table]:
    """Walk over all tables of a document."""
    chapter = section = lead = ""
    block: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            block.append(line)
            continue
        if block:
            yield _table(chapter, section, lead, block)
            block, lead = [], ""
        if line.startswith("## "):
            chapter, section, lead = line[3:], "", ""
        elif line.startswith("### "):
            section, lead = line[4:], ""
        elif line:
            lead = line


def _table(chapter: str, section: str, lead: str, block: list[str]) -> Table:
    cells = [tuple(cell.strip() for cell in line.strip().strip("|").split("|")) for line in block]
    header, _, *rows = cells
    for row in rows:
        assert len(row) == len(header), f"{section}: {row} has {len(row)} cells, the header has {len(header)}"
    return Table(chapter, section, lead, header, tuple(rows))


def endpoints(text: str) -> tuple[SpecEndpoint, ...]:
    """Return every method and path; a cell may hold several of either."""
    return tuple(
        SpecEndpoint(table.section, method.strip(), path)
        for table in tables(text)
        if table.header[:2] == ("Method", "Path")
        for row in table.rows
        for path in code_words(row[1])
        for method in row[0].split(",")
    )


def error_table(text: str, section_start: str) -> dict[str, tuple[int, ...]]:
    """Return code -> statuses of the error table whose heading starts so; a cell may hold several codes."""
    table = _section_table(text, section_start)
    assert table.header[0] in {"Code", "Reason"}, table.header
    return {
        code: tuple(int(status) for status in _STATUS.findall(row[1]))
        for row in table.rows
        for code in code_words(row[0])
    }


def status_table(text: str, section_start: str) -> tuple[int, ...]:
    """Return the statuses of an error table that names no codes."""
    return tuple(int(status) for status in _section_table(text, section_start).column("Status"))


def _section_table(text: str, section_start: str) -> Table:
    found = [table for table in tables(text) if table.chapter == "Errors" and table.section.startswith(section_start)]
    assert len(found) == 1, f"{len(found)} error tables under {section_start}"
    return found[0]


def crawler_errors(text: str) -> dict[str, tuple[int, ...]]:
    """Return the `crawler-error` values with the statuses they come with."""
    line = next(line for line in text.splitlines() if line.startswith("`crawler-error` header values:"))
    pairs = re.findall(r"`(\w+)` \(([^,]+),", line)
    return {name: tuple(int(status) for status in _STATUS.findall(when)) for name, when in pairs}


def limits(text: str) -> dict[str, str]:
    """Return the Limits table: what is limited -> the value's text."""
    found = [table for table in tables(text) if table.header == ("Limit", "Value")]
    assert len(found) == 1
    return dict(found[0].rows)


def enumerations(text: str) -> dict[str, tuple[str, ...]]:
    """Return the shared enumerations. Text in parentheses explains a value and is not a value itself."""
    table = next(table for table in tables(text) if table.section == "Shared enumerations")
    return {name: code_words(_PARENTHESES.sub("", values)) for name, values in table.rows}


def health_checks(text: str) -> tuple[str, ...]:
    """Return the names of the site health checks."""
    table = next(table for table in tables(text) if table.header == ("Check", "Condition"))
    return tuple(name for cell in table.column("Check") for name in code_words(cell))
