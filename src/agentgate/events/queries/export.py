"""Decisions as files: a JSON object on each line, or CSV for spreadsheets. Other modules select the decisions."""

import csv
import io
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct, UnsetType

from agentgate.events.labels.records import DecisionLabel
from agentgate.events.queries.records import Decision
from agentgate.lib.records import to_builtins, to_json

NDJSON = "application/x-ndjson"

# In the order of the columns; names as on the wire.
COLUMNS = (
    "id",
    "siteId",
    "time",
    "kind",
    "outcome",
    "wouldDecision",
    "mode",
    "method",
    "route",
    "action",
    "status",
    "durationUs",
    "reasons",
    "labels",
    "matchedRule",
    "ruleSetVersion",
    "scores",
    "modelVersions",
    "agent",
    "visitorId",
    "requestId",
    "traceId",
    "solveType",
    "operatorLabel",
)
# First characters that make a cell a formula in a spreadsheet. Agents and site owners choose some of these texts.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

_FIELD_OF = dict(zip(Decision.__struct_encode_fields__, Decision.__struct_fields__, strict=True))


class ExportFormat(StrEnum):
    """What the file is."""

    NDJSON = "ndjson"
    CSV = "csv"


class Writing(Struct, frozen=True):
    """How to write a format: the media type, the beginning of the file, and a function that writes decisions."""

    media_type: str
    head: bytes
    write: Callable[[Sequence[Decision]], bytes]


def write_ndjson(decisions: Sequence[Decision]) -> bytes:
    """Return a line of JSON for each decision."""
    return b"".join(to_json(decision) + b"\n" for decision in decisions)


def write_csv(decisions: Sequence[Decision]) -> bytes:
    """Return a row for each decision, as RFC 4180 has it."""
    return _rows([[_cell(getattr(decision, _FIELD_OF[name])) for name in COLUMNS] for decision in decisions])


def _cell(value: Any) -> str:
    if isinstance(value, UnsetType):
        return ""
    if isinstance(value, DecisionLabel):
        text = str(value.label)
    elif isinstance(value, dict):
        text = " ".join(f"{name}={each}" for name, each in value.items())
    elif isinstance(value, list):
        text = " ".join(map(str, value))
    else:
        text = str(to_builtins(value))
    return f"'{text}" if text.startswith(_FORMULA) else text


def _rows(rows: Sequence[Sequence[str]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue().encode()


WRITINGS = {
    ExportFormat.NDJSON: Writing(NDJSON, b"", write_ndjson),
    ExportFormat.CSV: Writing("text/csv; charset=utf-8; header=present", _rows([COLUMNS]), write_csv),
}
# Descriptions of the files in the OpenAPI documents.
TEXTS = {
    NDJSON: "One `Decision` per line, as JSON",
    "text/csv": f"A header row, then one row per decision: {', '.join(COLUMNS)}",
}
