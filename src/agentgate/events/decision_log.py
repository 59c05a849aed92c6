"""DecisionLog: a log line for every nth decision, with its request ID in the proxy and its trace ID.

The recorder writes it when it takes a batch of events to store, so that logging does not slow down checks.
"""

from collections.abc import Callable, Sequence

import structlog

from agentgate.events.decision_ids import write_id
from agentgate.events.records import Recorded, Repeated


class DecisionLog:
    """Logs every so many-th decision of this process; with 0, none."""

    def __init__(self, every: int, key_of: Callable[[int], str | None]) -> None:
        self._every = every
        self._key_of = key_of
        self._left = every
        # Bind once: choosing the log method for each line takes as long as the line itself.
        self._logger = structlog.get_logger("agentgate.decision").bind()

    def add(self, batch: Sequence[Recorded]) -> None:
        """Log every so many-th decision of a batch."""
        if not self._every:
            return
        for place in range(self._left - 1, len(batch), self._every):
            self._log(batch[place])
        # How many come before the next line.
        self._left = (self._left - 1 - len(batch)) % self._every + 1

    def _log(self, recorded: Recorded) -> None:
        event = recorded.whole() if isinstance(recorded, Repeated) else recorded
        line = {
            "decision": write_id(event.id),
            "request_id": event.request_id,
            "trace_id": event.trace_id,
            "site": self._key_of(event.site),
            "kind": event.kind.value,
            "method": event.method,
            "route": event.route,
            "status": event.status,
            "outcome": event.outcome.value,
            "would": event.would.value if event.would else None,
            "reason": event.reasons[0] if event.reasons else None,
            "rule": event.rule,
            "agent": event.agent,
            "duration_us": event.duration_us,
        }
        self._logger.info("decision", **{name: value for name, value in line.items() if value is not None})
