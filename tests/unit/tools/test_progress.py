"""Progress of commands: nothing for quick ones, one line on a terminal, plain lines elsewhere."""

import io

import pytest

from agentgate_tools.commands import progress
from agentgate_tools.commands.progress import Progress


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The monotonic time in seconds, which a test moves."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_quick_command_shows_nothing(clock: list[float]) -> None:
    stream = io.StringIO()
    with Progress(stream) as shown:
        shown.show("1 of 2")
        clock[0] += 1.9
        shown.show("2 of 2")

    assert stream.getvalue() == ""


def test_a_pipe_gets_plain_lines_every_few_seconds(clock: list[float]) -> None:
    stream = io.StringIO()
    with Progress(stream) as shown:
        for number in range(12):
            shown.show(f"{number} rows")
            clock[0] += 1

    assert stream.getvalue() == "2 rows\n7 rows\n"


def test_a_terminal_gets_one_line_that_is_cleared(clock: list[float]) -> None:
    stream = Terminal()
    with Progress(stream) as shown:
        clock[0] += 3
        shown.show("1 of 2")
        clock[0] += 1
        shown.show("2 of 2")

    assert stream.getvalue() == "\r\x1b[K1 of 2\r\x1b[K2 of 2\r\x1b[K"


def test_a_stage_is_shown_at_its_begin(clock: list[float]) -> None:
    del clock
    stream = io.StringIO()
    with Progress(stream) as shown:
        shown.begin("fitting")
        shown.show("fold 1")

    assert stream.getvalue() == "fitting\n"
