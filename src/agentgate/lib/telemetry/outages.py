"""Answers that failed because a store is away: one log line a second with a count, however many there are."""

import asyncio

import structlog

INTERVAL_S = 1.0


class OutageLog:
    """Counts such answers of one worker. The first is told at once, with the error behind it; the others together."""

    def __init__(self) -> None:
        self._logger = structlog.get_logger("agentgate.store").bind()
        self._count = 0
        self._last: dict[str, object] = {}
        self._timer: asyncio.TimerHandle | None = None

    def note(self, failure: BaseException, *, request_id: str, route: str, status: int) -> None:
        """Count an answer. Called from the event loop."""
        cause = failure.__cause__
        self._count += 1
        self._last = {
            "why": str(failure),
            "cause": None if cause is None else type(cause).__name__,
            "last_request_id": request_id,
            "last_route": route,
            "status": status,
        }
        if self._timer is None:
            self._tell()

    def _tell(self) -> None:
        if not self._count:
            self._timer = None
            return
        told, self._count = self._count, 0
        line = {name: value for name, value in self._last.items() if value is not None}
        self._logger.error("requests failed, a store is away", requests=told, **line)
        self._timer = asyncio.get_running_loop().call_later(INTERVAL_S, self._tell)
