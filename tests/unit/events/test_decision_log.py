"""A log line for one of every N decisions."""

from structlog.testing import CapturingLogger

from agentgate.events.decision_ids import write_id
from agentgate.events.decision_log import DecisionLog
from agentgate.events.records import Pattern, Repeated
from tests.support.events import new_event

PATTERN = Pattern(new_event(reasons=("allowed",)))


def _lines(every: int, *sizes: int) -> list[dict[str, object]]:
    log, captured, number = DecisionLog(every, lambda _: "site_a"), CapturingLogger(), 0
    # Independent of the level that another test has set.
    log._logger = captured
    for size in sizes:
        batch = [Repeated(number + each, 7, 12, PATTERN, (f"r{number + each}", None)) for each in range(size)]
        log.add(batch)
        number += size
    return [{"event": call.args[0], **call.kwargs} for call in captured.calls]


def test_none_are_logged_unless_asked_for() -> None:
    assert _lines(0, 100) == []


def test_every_nth_is_logged_however_they_are_batched() -> None:
    whole = [line["request_id"] for line in _lines(10, 100)]

    assert whole == [f"r{number}" for number in range(9, 100, 10)]
    for sizes in ((7,) * 14 + (2,), (1,) * 100, (33, 67), (10,) * 10):
        assert [line["request_id"] for line in _lines(10, *sizes)] == whole


def test_a_line_names_the_decision_and_no_visitor() -> None:
    [line] = _lines(1, 1)

    assert line["decision"] == write_id(0)
    assert (line["event"], line["site"], line["outcome"], line["reason"]) == ("decision", "site_a", "allow", "allowed")
    assert "visitor" not in line
