"""The parser of the specification finds everything there is to find; a gap here would make the other tests vacuous."""

from collections import Counter

import pytest

from tests.contract.spec import (
    crawler_errors,
    endpoints,
    enumerations,
    error_table,
    limits,
    spec_text,
    status_table,
    tables,
)
from tests.contract.spec_records import fields_of, records


def test_every_endpoint_is_found():
    prefixes = Counter(endpoint.path.split("/")[2] for endpoint in endpoints(spec_text()) if "/v1/" in endpoint.path)

    assert len(endpoints(spec_text())) == 130
    assert (prefixes["admin"], prefixes["console"], prefixes["account"]) == (61, 34, 19)


def test_a_row_with_two_methods_or_two_paths_is_several_endpoints():
    text = "### X\n\n| Method | Path |\n| --- | --- |\n| GET, PUT | `/a` |\n| GET | `/b`, `/c` |\n"

    assert [(found.method, found.path) for found in endpoints(text)] == [
        ("GET", "/a"),
        ("PUT", "/a"),
        ("GET", "/b"),
        ("GET", "/c"),
    ]


@pytest.mark.parametrize(
    ("section", "count"), [("Browser SDK", 14), ("Server-side", 8), ("Gateway", 20), ("Console", 49)]
)
def test_every_error_row_is_found(section, count):
    assert len(error_table(spec_text(), section)) == count


def test_several_codes_in_one_cell_are_several_errors():
    table = error_table(spec_text(), "Console")

    assert table["mfa_not_pending"] == (409,)
    assert table["invalid_cursor"] == (400,)


def test_a_reason_with_two_statuses_keeps_both_in_order():
    assert error_table(spec_text(), "Gateway")["service_unavailable"] == (503, 204)


def test_the_agent_statuses_and_crawler_errors_are_found():
    assert status_table(spec_text(), "Agents") == (400, 401, 402, 403, 409, 429, 503)
    assert crawler_errors(spec_text())["StrongAuthRequired"] == (400, 402)
    assert len(crawler_errors(spec_text())) == 6


def test_every_limit_and_enumeration_is_found():
    assert len(limits(spec_text())) == 34
    assert len(enumerations(spec_text())) == 12


def test_what_is_in_parentheses_is_not_a_value():
    assert enumerations(spec_text())["Rule action"] == ("allow", "challenge", "block", "drop", "count")


def test_a_table_row_with_too_few_cells_is_an_error():
    with pytest.raises(AssertionError, match="has 1 cells"):
        list(tables("| A | B |\n| --- | --- |\n| x |\n"))


def test_every_record_is_found():
    assert sorted(records(spec_text())) == [
        "ConfigChange",
        "Credential",
        "CredentialInput",
        "CredentialSecret",
        "DailyPoint",
        "Decision",
        "DecisionDetail",
        "DecisionPage",
        "Error body",
        "LoginRequest",
        "ManagedGroup",
        "ManagedGroupMember",
        "ManagedGroupRef",
        "Metrics",
        "OutcomeCounts",
        "RotateInput",
        "Rule",
        "RuleMatch",
        "RuleProblem",
        "RuleResponse",
        "RuleSet",
        "RulesRequest",
        "RulesView",
        "SeriesPoint",
        "SessionInfo",
        "Site",
        "SiteAction",
        "SiteDetail",
        "SiteInput",
        "SiteRoute",
        "SiteSummary",
        "ValidateResult",
        "VisitorDetail",
        "VisitorPage",
        "VisitorSummary",
    ]


@pytest.mark.parametrize(
    ("sentence", "fields"),
    [
        ("`a` (string, required: why), `b` (string)", {"a": True, "b": False}),
        ("`a` (string), `b` (string)", {"a": None, "b": None}),
        ("`a` (T[]), `b`, `c` required, `d` optional", {"a": True, "b": True, "c": True, "d": False}),
        ("`a` (x), `b` (y) both required; `c` (z) optional", {"a": True, "b": True, "c": False}),
        ("`a`, `b`, `c`; all but `b` required", {"a": True, "b": False, "c": True}),
        ("required `a`, `b`. Optional: `c`, `d`", {"a": True, "b": True, "c": False, "d": False}),
        ("`a`, `b`. Required: `a`.", {"a": True, "b": False}),
        ("`a` {`x` integer, `y`: `p` or `q`; `z` optional}. All four added fields are required.", {"a": True}),
    ],
)
def test_a_sentence_shows_which_fields_are_required(sentence, fields):
    assert fields_of(sentence) == fields


def test_a_record_that_extends_another_has_its_fields_too():
    summary, site = records(spec_text())["SiteSummary"], records(spec_text())["Site"]

    assert summary.keys() - site.keys() == {"customerName", "credentials", "today", "health"}
    assert all(summary[name] == required for name, required in site.items())
