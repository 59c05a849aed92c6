"""Redeeming afterwards what was accepted offline, to find out what was used twice.

The queue is in memory, or in a file of one process so that a restart loses nothing. It is bounded.
"""

import contextlib
import json
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from agentgate_client.question import Question
from agentgate_client.results import Unavailable, VerificationFailed, Verified
from agentgate_client.verify import Client, log

CAPACITY = 10_000
EVERY_S = 5.0


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What became of tokens that were accepted offline; each is named by the request ID it was accepted under."""

    # Redeemed now: accepted once, as it should be.
    redeemed: tuple[Verified, ...] = ()
    # Never redeemed anywhere, and too old to be redeemed now: accepted once as well.
    expired: tuple[str, ...] = ()
    # Redeemed elsewhere: used twice. The application can undo the actions that it allowed for it.
    double_spent: tuple[str, ...] = ()
    # Rejected for another reason, with the code.
    refused: tuple[tuple[str, str], ...] = ()
    # Still queued, because the service is unavailable.
    waiting: int = 0


@dataclass(slots=True)
class _Tally:
    redeemed: list[Verified] = field(default_factory=list)
    expired: list[str] = field(default_factory=list)
    double_spent: list[str] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)

    def close(self, waiting: int) -> Reconciled:
        return Reconciled(
            tuple(self.redeemed), tuple(self.expired), tuple(self.double_spent), tuple(self.refused), waiting
        )


class Reconciler:
    """Queues what the client accepts offline, and redeems it when the service is back."""

    def __init__(self, client: Client, *, path: str | Path | None = None, capacity: int = CAPACITY) -> None:
        self._client = client
        self._path = Path(path) if path is not None else None
        self._capacity = capacity
        self._lock = threading.Lock()
        self._working = threading.Lock()
        self._queue: deque[Question] = deque(_load(self._path) if self._path is not None else ())
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        client.add_listener(self.add)

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, question: Question) -> None:
        """Queue a token that is being accepted offline; raise `Unavailable` when there is no room for it."""
        with self._lock:
            if len(self._queue) >= self._capacity:
                raise Unavailable("too many tokens wait to be reconciled", request_id=question.request_id)
            if self._path is not None:
                _write(self._path, [question])
            self._queue.append(question)

    def reconcile(self) -> Reconciled:
        """Redeem queued tokens until the queue is empty or the service is unavailable, and return the results."""
        tally = _Tally()
        with self._working:
            try:
                while self._queue:
                    self._redeem(self._queue[0], tally)
                    with self._lock:
                        self._queue.popleft()
            except Unavailable:
                # It waits for the next time, under its own request ID.
                pass
            if self._path is not None and (tally.redeemed or tally.expired or tally.double_spent or tally.refused):
                with self._lock:
                    _replace(self._path, self._queue)
        return tally.close(len(self._queue))

    def start(self, on_result: Callable[[Reconciled], None], *, every_s: float = EVERY_S) -> None:
        """Reconcile in the background, and tell each result that is not empty."""
        self._thread = threading.Thread(
            target=self._run, args=(on_result, every_s), name="agentgate-reconcile", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop the background work."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    def _redeem(self, question: Question, tally: _Tally) -> None:
        try:
            tally.redeemed.append(self._client.redeem(question, deadline_s=self._client.new_deadline_s()))
        except VerificationFailed as refusal:
            if refusal.is_misconfiguration:
                # A secret that was just replaced has no meaning for the token; the token is verified again later.
                raise Unavailable(refusal.message, request_id=question.request_id) from None
            if refusal.code == "token_used":
                tally.double_spent.append(question.request_id)
            elif refusal.code == "expired_token":
                tally.expired.append(question.request_id)
            else:
                tally.refused.append((question.request_id, refusal.code))

    def _run(self, on_result: Callable[[Reconciled], None], every_s: float) -> None:
        while not self._stopped.wait(every_s):
            if not self._queue:
                continue
            started_s = time.monotonic()
            try:
                result = self.reconcile()
                if result != Reconciled(waiting=result.waiting):
                    on_result(result)
            except Exception:  # noqa: BLE001 - told in the log
                # A fault in the site's own function must not end the work.
                log.exception("reconciling failed", extra={"after_s": time.monotonic() - started_s})


def _write(path: Path, questions: Iterable[Question]) -> None:
    """Append to a file, and return when it is on the disk."""
    # Readable by the owner alone: an unredeemed token is worth something.
    with open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a", encoding="utf-8") as file:  # noqa: PTH123 - a mode is needed
        file.writelines(json.dumps(asdict(question)) + "\n" for question in questions)
        file.flush()
        os.fsync(file.fileno())


def _replace(path: Path, queue: deque[Question]) -> None:
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    _write(new, queue)
    new.replace(path)


def _load(path: Path) -> list[Question]:
    found = []
    with contextlib.suppress(FileNotFoundError):
        for line in path.read_text(encoding="utf-8").splitlines():
            # The last line may be half written, by a machine that lost power.
            with contextlib.suppress(ValueError, TypeError, VerificationFailed):
                found.append(Question(**json.loads(line)))
    return found
