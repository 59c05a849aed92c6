"""Decisions as lines of JSON and as CSV: what each column holds, and that no cell is ever a formula."""

import csv
import io
import json
from typing import Any

import pytest

from agentgate.events.queries.export import COLUMNS, WRITINGS, ExportFormat, write_csv, write_ndjson
from agentgate.events.queries.records import Decision
from agentgate.lib.enums import DecisionKind, Outcome
from agentgate.lib.moment import Moment


def decision(**changes: Any) -> Decision:
    usual: dict[str, Any] = {
        "id": "dec_0001",
        "site_id": "st_1",
        "time": Moment(1_794_744_000_000),
        "kind": DecisionKind.REQUEST,
        "route": "/login",
        "method": "POST",
        "outcome": Outcome.BLOCK,
        "mode": "enforce",
        "reasons": ["rule", "score"],
        "labels": ["net.tor", "ua.curl"],
        "status": 403,
        "duration_us": 12,
    }
    return Decision(**usual | changes)


def rows(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode(), newline=""), strict=True))


def test_every_field_of_a_decision_has_a_column() -> None:
    assert sorted(COLUMNS) == sorted(Decision.__struct_encode_fields__)


def test_each_line_is_a_decision() -> None:
    lines = write_ndjson([decision(), decision(id="dec_0002", agent="a\nb")]).decode().split("\n")

    assert [json.loads(line)["id"] for line in lines[:2]] == ["dec_0001", "dec_0002"]
    assert lines[2:] == [""]
    assert json.loads(lines[0])["labels"] == ["net.tor", "ua.curl"]


def test_a_row_has_a_cell_for_each_column() -> None:
    writing = WRITINGS[ExportFormat.CSV]
    made = decision(scores={"bot": 0.25, "agent": 1.0}, model_versions={"bot": "3"}, would_decision=Outcome.DROP)

    [head, row] = rows(writing.head + writing.write([made]))

    assert tuple(head) == COLUMNS
    cells = dict(zip(head, row, strict=True))
    assert cells["time"] == "2026-11-15T12:00:00.000Z"
    assert (cells["outcome"], cells["wouldDecision"], cells["status"]) == ("block", "drop", "403")
    assert (cells["reasons"], cells["labels"]) == ("rule score", "net.tor ua.curl")
    assert (cells["scores"], cells["modelVersions"]) == ("bot=0.25 agent=1.0", "bot=3")
    assert (cells["agent"], cells["operatorLabel"]) == ("", "")


@pytest.mark.parametrize("text", ['a,"b"', "two\r\nlines", "a\nb", "', ,", "  spaces ", "ünï\u2028"])
def test_a_cell_is_read_back_as_it_was(text: str) -> None:
    [row] = rows(write_csv([decision(agent=text)]))

    assert row[COLUMNS.index("agent")] == text


def test_lines_end_as_the_standard_has_it() -> None:
    assert write_csv([decision(), decision()]).count(b"\r\n") == 2


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\r=1", '=HYPERLINK("http://x.example","y")', "=cmd|' /C calc'!A0"]
)
@pytest.mark.parametrize("field", ["agent", "route", "request_id", "matched_rule"])
def test_no_cell_is_a_formula(field: str, text: str) -> None:
    [row] = rows(write_csv([decision(**{field: text})]))

    assert f"'{text}" in row
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in row)


@pytest.mark.parametrize("name", ["labels", "reasons"])
def test_a_list_that_begins_like_a_formula_is_none(name: str) -> None:
    [row] = rows(write_csv([decision(**{name: ["=1", "x"]})]))

    assert row[COLUMNS.index(name)] == "'=1 x"
