"""Each checker finds the defect that it is for, and nothing if there is none."""

from dataclasses import replace

import pytest

from tests.faults import checkers
from tests.faults.checkers import Check, EventCounts, Spend, Told

OPEN = Check(case="open page", must_refuse=False, status=204, reason="allowed")
SHUT = Check(case="spent token", must_refuse=True, status=401, reason="token_used")
WON = Spend(token="t", caller="one", won=True, body=b"yes")
REFUSED = Spend(token="t", caller="other", won=False)
COUNTS = EventCounts(sent=9, stored=6, failures=1, waiting=2)


def test_where_all_is_well_no_checker_complains() -> None:
    assert checkers.failed_open([OPEN, SHUT, replace(OPEN, status=503)]) == []
    assert checkers.is_back([OPEN, SHUT]) == []
    assert checkers.double_spends([WON, WON, REFUSED, replace(REFUSED, won=None)]) == []
    assert checkers.lost_spends([WON, REFUSED], [WON, replace(REFUSED, caller="late")]) == []
    assert checkers.ledger_problems({"a", "b"}, {"c"}, 2) == checkers.ledger_problems({"a", "b"}, {"c"}, 3) == []
    assert checkers.event_problems([Told(event_id=1, asked_ms=4, told_ms=5)], [1, 2], [], shown=2) == []
    assert checkers.count_problems({"node": COUNTS}) == []


@pytest.mark.parametrize("status", [200, 204])
def test_a_check_that_is_allowed_is_found(status: int) -> None:
    assert checkers.failed_open([OPEN, replace(SHUT, status=status)]) == [
        f"let through: spent token ({status} token_used)"
    ]


def test_what_stays_shut_after_the_fault_is_found() -> None:
    assert len(checkers.is_back([replace(OPEN, status=401, reason="challenge")])) == 1
    assert len(checkers.is_back([replace(SHUT, status=503, reason="service_unavailable")])) == 1


def test_a_token_with_two_winners_is_found() -> None:
    assert checkers.double_spends([WON, replace(REFUSED, won=True)]) == ["spent by ['one', 'other']: t"]


def test_a_repeated_call_with_another_response_is_found() -> None:
    assert checkers.double_spends([WON, replace(WON, body=b"other")]) == ["answered differently to one: t"]


def test_an_acknowledged_spend_that_is_gone_is_found() -> None:
    assert checkers.lost_spends([WON], [replace(WON, won=False)]) == ["spent by one, and now refused to it: t"]
    late = replace(WON, caller="late")
    assert checkers.lost_spends([WON], [late]) == ["spent, and now open to somebody else: t"]


def test_a_token_that_was_rejected_to_everyone_is_found() -> None:
    assert checkers.lost_spends([REFUSED, replace(REFUSED, caller="one")], []) == ["refused to everybody: t"]
    # A caller without a response may have redeemed it.
    assert checkers.lost_spends([REFUSED, replace(WON, won=None)], []) == []


@pytest.mark.parametrize("charged", [1, 4])
def test_a_ledger_with_a_charge_too_few_or_too_many_is_found(charged: int) -> None:
    assert len(checkers.ledger_problems({"a", "b"}, {"c"}, charged)) == 1


def test_an_event_that_is_missing_is_found_unless_a_kill_came_right_after_it() -> None:
    told = [Told(event_id=1, asked_ms=9_999, told_ms=10_000)]
    most_ms = 10_000 + checkers.EVENT_LOST_MS + checkers.EVENT_SLACK_MS

    assert len(checkers.event_problems(told, [], [], shown=0)) == 1
    assert checkers.event_problems(told, [], [most_ms], shown=0) == []
    assert len(checkers.event_problems(told, [], [most_ms + 1], shown=0)) == 1
    assert len(checkers.event_problems(told, [], [9_998], shown=0)) == 1


def test_an_event_stored_or_counted_twice_is_found() -> None:
    assert len(checkers.event_problems([], [1, 1], [], shown=1)) == 1
    assert len(checkers.event_problems([], [1, 2], [], shown=3)) == 1


def test_an_event_that_no_count_has_is_found() -> None:
    assert len(checkers.count_problems({"node": replace(COUNTS, sent=10)})) == 1
