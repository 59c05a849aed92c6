"""The error tables against the specification, both ways, and the codes in the source against the tables."""

import ast
import re
from pathlib import Path

import pytest
from msgspec import ValidationError

from agentgate.lib import errors
from agentgate.lib.errors import CRAWLER_ERROR_STATUSES, TABLES, CrawlerError, Refused, read_tables
from tests.contract.additions import ADDED_CODES
from tests.contract.spec import crawler_errors, error_table, spec_text, status_table

SOURCE = Path(__file__).parents[2] / "src"
SECTIONS = {
    "browser": "Browser SDK routes",
    "siteverify": "Server-side validation",
    "gateway": "Gateway",
    "console": "Console, account and admin APIs",
}
NAMED = {table.name: table for table in TABLES}


def statuses(row):
    return tuple(answer.status for answer in row.answers) or (row.status,)


@pytest.mark.parametrize(("name", "section"), SECTIONS.items())
def test_a_table_has_the_rows_of_the_specification_in_its_order(name, section):
    named = [(code, statuses(row)) for code, row in NAMED[name].rows.items() if not row.added]

    assert named == list(error_table(spec_text(), section).items())


@pytest.mark.parametrize("name", NAMED)
def test_the_rows_a_table_adds_are_the_listed_ones(name):
    added = [code for code, row in NAMED[name].rows.items() if row.added]

    assert added == list(ADDED_CODES.get(name, {}))


def test_the_agent_table_has_the_statuses_of_the_specification_and_the_ones_of_handoff_polling():
    handoff = next(line for line in spec_text().splitlines() if line.startswith("Handoff polling"))
    of_handoff = {int(status) for status in re.findall(r"\b4\d\d\b", handoff)}

    found = {row.status for row in errors.AGENTS.rows.values()}

    assert found == {*status_table(spec_text(), "Agents"), *of_handoff}


def test_the_times_to_wait_are_those_the_specification_gives():
    waits = {(table.name, row.code): row.retry_after_s for table in TABLES for row in table.rows.values()}

    assert {key: wait for key, wait in waits.items() if wait is not None} == {
        ("browser", "rate_limited"): 60,
        ("browser", "unavailable"): 5,
        ("receipts", "unavailable"): 5,
        ("content", "unavailable"): 5,
        ("block_feed", "unavailable"): 5,
        ("console", "store_unavailable"): 5,
        ("agents", "rate_limited"): 60,
    }


@pytest.mark.parametrize(
    "row",
    [
        '{ status = 199, message = "No." }',
        '{ status = 600, message = "No." }',
        '{ message = "No." }',
        "{ status = 400 }",
        '{ status = 400, message = "no sentence" }',
        '{ status = 400, message = "No.", retry_after_s = 0 }',
        '{ status = 400, mesage = "No." }',
        '{ answers = [["alow", 204]] }',
        '{ answers = [["allow", 99]] }',
        "5",
    ],
)
def test_a_wrong_row_is_rejected(row):
    assert read_tables('[a]\ncode = { status = 400, message = "No." }')["a"].lookup("code").status == 400
    with pytest.raises(ValidationError):
        read_tables(f"[a]\ncode = {row}")


def test_the_crawler_errors_are_the_ones_of_the_specification():
    found = {error.value: CRAWLER_ERROR_STATUSES[error] for error in CrawlerError}

    assert found == crawler_errors(spec_text())


@pytest.mark.parametrize("name", sorted(NAMED.keys() - {"gateway"}))
def test_every_default_message_is_a_sentence_without_placeholders(name):
    for row in NAMED[name].rows.values():
        assert re.fullmatch(r"[A-Z/a-z].*\.", row.message), row
        assert not re.search(r"\{[a-z_]+\}", row.message), row


def test_every_gateway_response_pairs_its_decision_with_its_status():
    usual = {"allow": {204}, "challenge": {401}, "block": {403}}
    answers = {row.code: row.answers for row in errors.GATEWAY.rows.values() if row.code != "service_unavailable"}

    assert [code for code, ways in answers.items() if any(way.status not in usual[way.decision] for way in ways)] == []
    assert errors.GATEWAY.lookup("service_unavailable").status_for("block") == 503
    assert errors.GATEWAY.lookup("service_unavailable").status_for("allow") == 204


def test_a_decision_that_a_reason_never_has_is_a_bug():
    with pytest.raises(LookupError, match="allowed never comes with the decision block"):
        errors.GATEWAY.lookup("allowed").status_for("block")


def test_a_code_missing_from_a_table_is_a_bug():
    with pytest.raises(LookupError, match="browser table has no code not_found"):
        errors.BROWSER.lookup("not_found")


def test_a_rejection_cannot_be_changed():
    headers = {"retry-after": "1"}
    refused = Refused("rate_limited", headers=headers, handoff={"id": "ho_1"})
    headers["retry-after"] = "2"

    with pytest.raises(AttributeError):
        refused.code = "not_found"
    with pytest.raises(TypeError):
        refused.extra["handoff"] = None

    assert (refused.code, refused.message, dict(refused.headers)) == ("rate_limited", None, {"retry-after": "1"})


def test_a_further_field_may_not_hide_the_code():
    with pytest.raises(ValueError, match="holds the code"):
        Refused("rate_limited", error="other")


def refused_codes(source):
    """Return the literal error codes of a source."""
    for node in ast.walk(ast.parse(source)):
        name = getattr(node, "func", None)
        called = name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", None)
        if called == "Refused" and node.args and isinstance(node.args[0], ast.Constant):
            yield node.args[0].value


def unknown_codes(source):
    return [code for code in refused_codes(source) if not any(code in table for table in TABLES)]


def test_a_code_outside_every_table_is_found():
    assert unknown_codes('raise Refused("not_found")\nraise errors.Refused("no_such", "x")\n') == ["no_such"]


def test_every_code_rejected_with_is_in_a_table():
    found = {str(path.relative_to(SOURCE)): unknown_codes(path.read_text("utf-8")) for path in SOURCE.rglob("*.py")}

    assert found
    assert {path: codes for path, codes in found.items() if codes} == {}


def test_every_code_a_route_shows_it_rejects_with_is_in_its_surfaces_table():
    from agentgate.routes import SURFACES

    unknown = [
        (row.method, row.path, code)
        for surface in SURFACES
        for row in surface.rows
        for code in row.refuses
        if code not in surface.errors
    ]

    assert unknown == []
