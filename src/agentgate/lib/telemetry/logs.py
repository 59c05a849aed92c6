"""Log lines: one event a line on standard error, as JSON or for people, for structlog and for `logging` alike.

`scrub.py` decides what a line may contain. Modules log with `structlog.get_logger()`.
"""

import json
import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any, TextIO

import structlog
from structlog.typing import EventDict, Processor

from agentgate.lib.telemetry.scrub import scrub

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}

# Control characters, line and paragraph separators, direction overrides and lone surrogates: whatever could end a
# line, move the cursor, recolour a terminal or make text read differently from what it is.
UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


_encode = json.JSONEncoder(default=str, separators=(",", ":")).encode


def configure(log_format: str, level: str, stream: TextIO | None = None) -> None:
    """Set how this process logs. `log_format` is `json` or `console`, `level` one of `LEVELS`."""
    out = stream or sys.stderr
    renderer: list[Processor] = [render_json] if log_format == "json" else [make_visible, _console(out)]
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        # The traceback becomes text before the scrubbing, because messages of exceptions may hold secrets.
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*shared, scrub, *renderer],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(out),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, scrub, *renderer],
        )
    )
    _route_standard_logging(handler, LEVELS[level])


def render_json(_logger: object, _method: str, event: EventDict) -> str:
    """Write the event as one line of ASCII, so that no reader of the log can be misled by a character."""
    # json leaves DEL as it is.
    return _encode(event).replace("\x7f", "\\u007f")


def make_visible(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Escape what a terminal would act on: a structlog processor for the console format."""
    # A traceback keeps its lines. Each gets a mark, so that none of them can imitate a log line.
    trace = event.pop("exception", None)
    shown: MutableMapping[str, Any] = {_visible(name): _visible_value(value) for name, value in event.items()}
    if trace is not None:
        shown["exception"] = "\n".join(f"  | {_visible(line)}" for line in str(trace).split("\n"))
    return shown


def _console(out: TextIO) -> Processor:
    return structlog.dev.ConsoleRenderer(colors=out.isatty(), exception_formatter=structlog.dev.plain_traceback)


def _visible_value(value: Any) -> Any:
    if isinstance(value, str):
        return _visible(value)
    # The renderer would write other values with repr(), which leaves separators and direction overrides in place.
    return value if value is None or isinstance(value, bool | int | float) else json.dumps(value, default=str)


def _visible(text: str) -> str:
    return UNSAFE.sub(lambda match: ascii(match.group())[1:-1], text)


def _route_standard_logging(handler: logging.Handler, level: int) -> None:
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    for name in ("uvicorn", "uvicorn.error", "asyncpg", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers = []
        logger.propagate = True
        logger.setLevel(logging.NOTSET)
    # Its lines contain addresses and whole paths, which may include one-time links. The kernel writes a separate line.
    access = logging.getLogger("uvicorn.access")
    access.handlers = []
    access.propagate = False
    access.disabled = True
