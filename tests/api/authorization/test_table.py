"""Every response to every caller matches the table, which is reviewed by hand. A route without a line fails."""

import difflib

import pytest

from tests.api.authorization.table import PATH, make_table
from tests.support.every_route import ADMIN_ROUTES, PUBLIC_ROUTES
from tests.support.service import RunningService


# Thousands of calls: on a machine that does something else as well they take minutes.
@pytest.mark.timeout(600)
@pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
def test_every_route_serves_every_caller_as_in_the_table(service: RunningService) -> None:
    written, found = PATH.read_text(encoding="utf-8"), make_table(service)

    changes = difflib.unified_diff(written.splitlines(), found.splitlines(), "table.md", "the service", lineterm="")
    assert list(changes) == []


def test_every_route_has_a_place_in_the_table() -> None:
    headings = [
        line.removeprefix("### ") for line in PATH.read_text(encoding="utf-8").splitlines() if line[:4] == "### "
    ]

    assert headings == [*PUBLIC_ROUTES, *ADMIN_ROUTES]


def test_no_one_gets_an_error_of_the_service_itself() -> None:
    # Rewriting the table must not record a defect as correct.
    assert [line for line in PATH.read_text(encoding="utf-8").splitlines() if line.startswith("- 5")] == []
