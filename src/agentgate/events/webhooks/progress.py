"""The progress of a webhook after a success, a failure, a change of its settings or of health. Nothing is sent here.

A failed delivery is tried again after 5 seconds, then longer and longer up to an hour; after a day it is given up.
"""

from msgspec.structs import replace

from agentgate.events.decision_ids import first_id
from agentgate.events.webhooks.records import Progress
from agentgate.lib.clock import DAY_MS, HOUR_MS, SECOND_MS

FIRST_PAUSE_MS = 5 * SECOND_MS
LONGEST_PAUSE_MS = HOUR_MS
PAUSE_GROWTH = 3
GIVEN_UP_MS = DAY_MS
# A response that takes so long is slow: then the pause is this many times as long.
SLOW_MS, SLOW_PAUSES, LONGEST_SLOW_PAUSE_MS = 2 * SECOND_MS, 4, 30 * SECOND_MS
# By then the pause has long reached its maximum, so larger powers have no effect.
MOST_GROWTH = 10


def new_progress(now_ms: int) -> Progress:
    """Return the progress of a new webhook: decisions from now on are delivered."""
    return Progress(position=last_id_before(now_ms), next_attempt_ms=now_ms)


def last_id_before(now_ms: int) -> int:
    """Return the greatest ID that a decision before this moment can have."""
    return first_id(now_ms) - 1


def with_batch(progress: Progress, batch_id: str, *, until: int) -> Progress:
    """Fix which decisions the next delivery carries."""
    return replace(progress, batch_id=batch_id, batch_until=until)


def with_decisions_told(progress: Progress, until: int) -> Progress:
    """Advance past decisions that were delivered, or skipped because the filter excludes them."""
    return replace(progress, position=max(progress.position, until), batch_id=None, batch_until=None)


def with_health(progress: Progress, status: str, *, delivery_id: str, body: bytes) -> Progress:
    """Store a health change to deliver. It replaces an earlier change that has not been delivered yet."""
    return replace(progress, health_id=delivery_id, health_next=status, health_body=body)


def with_health_seen(progress: Progress, status: str) -> Progress:
    """Mark a health as known: the first one, or the last delivered one if the site has returned to it."""
    return replace(progress, health_told=status, health_id=None, health_next=None, health_body=None)


def after_success(progress: Progress, now_ms: int, *, took_ms: int) -> Progress:
    """Forget the failures. An endpoint that is slow gets its next delivery later."""
    pause_ms = 0 if took_ms < SLOW_MS else min(took_ms * SLOW_PAUSES, LONGEST_SLOW_PAUSE_MS)
    return replace(
        progress,
        attempts=0,
        failing_since_ms=None,
        next_attempt_ms=now_ms + pause_ms,
        last_delivery_ms=now_ms,
        last_error=None,
    )


def after_failure(progress: Progress, now_ms: int, *, error: str, jitter: float) -> Progress:
    """Put the next attempt off."""
    since_ms = now_ms if progress.failing_since_ms is None else progress.failing_since_ms
    attempts = progress.attempts + 1
    return replace(
        progress,
        attempts=attempts,
        failing_since_ms=since_ms,
        next_attempt_ms=now_ms + pause_ms(attempts, jitter),
        last_error=error,
    )


def is_given_up(progress: Progress, now_ms: int) -> bool:
    """Return whether deliveries have failed for so long that AgentGate gives up on the endpoint."""
    return progress.failing_since_ms is not None and now_ms - progress.failing_since_ms >= GIVEN_UP_MS


def resumed(progress: Progress, now_ms: int) -> Progress:
    """Try again at once, from where it stopped."""
    return replace(progress, attempts=0, failing_since_ms=None, next_attempt_ms=now_ms, last_error=None)


def rewritten(progress: Progress) -> Progress:
    """Discard the batch that was made for other settings; its decisions are delivered under another ID."""
    return replace(progress, batch_id=None, batch_until=None)


def pause_ms(attempts: int, jitter: float) -> int:
    """Return how long to wait after so many failures: longer each time, and never in step with others."""
    pause: float = FIRST_PAUSE_MS * PAUSE_GROWTH ** min(attempts - 1, MOST_GROWTH) * jitter
    return round(min(LONGEST_PAUSE_MS, max(FIRST_PAUSE_MS, pause)))
