"""Reads the records of docs/spec.md: their fields, and which of them the text marks as required.

A record is given as a table, as a row of a table of records, or as a sentence such as ``Name: `field` (type), ...``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.contract.spec import Table, code_words, tables

# None: the specification does not specify whether the field is required.
Fields = dict[str, bool | None]

_NAME = r"(?!Optional|Required)(?P<name>[A-Z]\w+)(?P<note> \([^)]*\))?"
_STATEMENT = re.compile(rf"(?:^|(?<=\. )){_NAME}(?:: | = (?P<parent>[A-Z]\w+) plus(?P<all> \([^)]*\))?:? )")
_FIELD = re.compile(r"`([a-z]\w*)`")
_RUN = re.compile(r"`[a-z]\w*`|\b(?:all but [^;.]*|all |both )?required\b|\boptional\b|\bRequired:|\bOptional:")


@dataclass(frozen=True)
class Statement:
    """The text about one record, and the record that it extends."""

    name: str
    body: str
    parent: str | None = None
    own: Fields | None = None


def records(text: str) -> dict[str, Fields]:
    """Return every record whose fields the specification shows."""
    chapter = text.partition("\n## Resources and their fields\n")[2].partition("\n## ")[0]
    assert chapter, "the chapter on resources is gone"
    found: dict[str, Fields] = {}
    for statement in [*_sentences(chapter), *_tables(text)]:
        assert statement.name not in found, f"{statement.name} is given twice"
        found[statement.name] = fields_of(statement.body) if statement.own is None else statement.own
    parents = {statement.name: statement.parent for statement in _sentences(chapter) if statement.parent}
    return {name: _whole(name, found, parents) for name in found}


def _whole(name: str, found: dict[str, Fields], parents: dict[str, str | None]) -> Fields:
    parent = parents.get(name)
    return found[name] if parent is None else {**_whole(parent, found, parents), **found[name]}


def _sentences(chapter: str) -> Iterator[Statement]:
    heading = ""
    for line in chapter.splitlines():
        if line.startswith("### "):
            heading = line[4:].split(" ")[0]
        elif line.startswith("`"):
            yield Statement(heading, line)
        elif not line.startswith(("|", "-", "#")):
            yield from _statements(line)


def _statements(line: str) -> Iterator[Statement]:
    starts = list(_STATEMENT.finditer(line))
    ends = [*(start.start() for start in starts[1:]), len(line)]
    for start, end in zip(starts, ends, strict=False):
        note = "all required; " if "required" in f"{start['note']}{start['all']}" else ""
        yield Statement(start["name"], note + line[start.end() : end], start["parent"])


def _tables(text: str) -> Iterator[Statement]:
    for table in tables(text):
        if table.chapter != "Resources and their fields":
            continue
        if table.header[0] == "Field":
            yield Statement(table.lead.split(" ")[0] or table.section, "", own=_field_table(table))
        elif table.header == ("Record", "Fields"):
            for name, body in table.rows:
                yield Statement(name.split(" ")[0], body)


def _field_table(table: Table) -> Fields:
    every = "(all required)" in table.lead
    found: Fields = {}
    for row in table.rows:
        required = every or row[-1].startswith(("required", "yes"))
        found.update(dict.fromkeys(code_words(row[0]), required))
    return found


def fields_of(body: str) -> Fields:
    """Return the fields that a sentence names, without nested objects, and whether it marks them as required."""
    flat = _without_nested(body)
    found: Fields = dict.fromkeys(_FIELD.findall(flat))
    found.update(_marked_runs(flat))
    found.update(_marked_fields(body, found))
    # If a sentence marks some fields as required, the other fields are optional.
    if any(found.values()):
        found = {name: bool(required) for name, required in found.items()}
    return found


def _without_nested(body: str) -> str:
    """Cut out text in parentheses and braces, at any depth."""
    kept, depth = [], 0
    for character in body:
        depth += character in "({"
        if not depth:
            kept.append(character)
        depth -= character in ")}"
    return "".join(kept)


def _marked_runs(flat: str) -> Fields:
    """Apply each `required` or `optional` that follows, or with a colon precedes, a run of fields."""
    found: Fields = {}
    run: list[str] = []
    ahead: bool | None = None
    if re.search(r"^all required; |\bAll \w+ added fields are required\b", flat):
        return dict.fromkeys(_FIELD.findall(flat), True)
    for mark in _RUN.findall(flat):
        if mark.startswith("`"):
            run.append(mark.strip("`"))
            if ahead is not None:
                found[run[-1]] = ahead
        elif mark in {"Required:", "Optional:"} or (mark == "required" and not run):
            ahead, run = mark.lower().startswith("required"), []
        else:
            except_for = _FIELD.findall(mark)
            found.update({name: mark != "optional" and name not in except_for for name in run})
            run = []
    return found


def _marked_fields(body: str, found: Fields) -> Fields:
    """Apply the text in the parentheses right behind a field."""
    marks = re.finditer(r"`([a-z]\w*)` \(([^()]*)\)", body)
    said = {mark[1]: re.search(r"\b(required|optional)\b", mark[2]) for mark in marks if mark[1] in found}
    return {name: word[1] == "required" for name, word in said.items() if word}
