"""Log lines: one event a line, nothing in it that a reader or a terminal could be misled by."""

import io
import json
import logging

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from agentgate.lib.telemetry.logs import LEVELS, configure

NASTY = "a\r\nforged\x1b[2J\x1b]0;t\x07\u2028b\u2029c\u202ed\x85e\x7ff\x00g\ud800h\u200bi"
DANGEROUS = "\r\n\x1b\x07\u2028\u2029\u202e\x85\x7f\x00\ud800\u200b"


@pytest.fixture(autouse=True)
def restored_logging():
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield
    root.handlers = handlers
    root.setLevel(level)
    logging.getLogger("uvicorn.access").disabled = False
    structlog.reset_defaults()


def lines_of(log_format: str, write, level: str = "info") -> list[str]:
    stream = io.StringIO()
    configure(log_format, level, stream)
    write(structlog.get_logger())
    # Not splitlines(): only a newline ends a line, and whether another character does is what is tested.
    return stream.getvalue().removesuffix("\n").split("\n") if stream.getvalue() else []


def test_a_json_line_has_event_level_time_and_values():
    (line,) = lines_of("json", lambda log: log.info("request", status=200, site_key="site_abcd", ratio=0.5))

    event = json.loads(line)
    assert event.pop("timestamp").endswith("Z")
    assert event == {"event": "request", "level": "info", "status": 200, "site_key": "site_abcd", "ratio": 0.5}


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_a_nasty_text_stays_on_one_line_and_is_harmless(log_format):
    lines = lines_of(log_format, lambda log: log.info(NASTY, agent=NASTY, nested={NASTY: [NASTY]}))

    assert len(lines) == 1
    assert not set(lines[0]) & set(DANGEROUS)


def test_a_nasty_text_is_kept_whole_in_json():
    (line,) = lines_of("json", lambda log: log.info("request", agent=NASTY))

    assert json.loads(line)["agent"] == NASTY


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=60))
def test_no_text_at_all_breaks_a_line(text):
    for log_format in ("json", "console"):
        (line,) = lines_of(log_format, lambda log: log.info(text, value=text))

        assert not any(character < " " or "\x7f" <= character <= "\x9f" for character in line)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), b"\xff\x00", object, {1, 2}, (1, "x"), None, 2**80])
def test_any_value_makes_readable_json(value):
    (line,) = lines_of("json", lambda log: log.info("request", value=value))

    assert "value" in json.loads(line, parse_constant=pytest.fail)


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_a_traceback_hides_secrets_and_cannot_forge_a_line(log_format):
    def fail():
        raise ValueError("postgresql://gate:hunter2@db/x\n2030-01-01 [info] forged ags_" + "a" * 43)

    def write(log):
        try:
            fail()
        except ValueError:
            log.exception("failed")

    lines = lines_of(log_format, write)

    assert "hunter2" not in "".join(lines)
    assert "a" * 43 not in "".join(lines)
    assert "Traceback" in "".join(lines)
    assert all(line.startswith("  | ") for line in lines[1:])


@pytest.mark.parametrize("name", ["uvicorn.error", "asyncpg", "some.library"])
def test_standard_logging_comes_out_the_same_way(name):
    (line,) = lines_of("json", lambda _: logging.getLogger(name).warning("told %s", "agt_" + "b" * 43))

    event = json.loads(line)
    assert (event["event"], event["level"], event["logger"]) == ("told agt_(hidden)", "warning", name)


def test_access_lines_of_the_server_are_not_written():
    assert lines_of("json", lambda _: logging.getLogger("uvicorn.access").error("GET /v1/account/invite/x")) == []


@pytest.mark.parametrize(("level", "expected"), [("debug", 4), ("info", 3), ("warning", 2), ("error", 1)])
def test_only_what_is_severe_enough_is_written(level, expected):
    def write(log):
        for name in LEVELS:
            getattr(log, name)("event")
            getattr(logging.getLogger("library"), name)("event")

    assert len(lines_of("json", write, level)) == 2 * expected


def test_bound_context_is_in_the_line_and_is_scrubbed():
    with structlog.contextvars.bound_contextvars(request_id="r1", session_token="x"):
        (line,) = lines_of("json", lambda log: log.info("request"))

    event = json.loads(line)
    assert (event["request_id"], event["session_token"]) == ("r1", "(hidden)")
