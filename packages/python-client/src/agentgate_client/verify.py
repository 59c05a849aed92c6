"""Verifying tokens with the service: retries under one request ID, and the fallback if the service is unavailable."""

import logging
import random
import time
from collections.abc import Callable

from agentgate_client.connections import Connections, Unreachable
from agentgate_client.offline import OfflineVerifier
from agentgate_client.question import Question, new_request_id, read_answer
from agentgate_client.results import Unavailable, Verified

FIRST_PAUSE_S = 0.05

log = logging.getLogger("agentgate_client")


class Client:
    """Redeems tokens. One is enough for a program: it is thread-safe and keeps its connections open.

    One attempt takes at most `timeout_s`, and all of them with their pauses `timeout_s * (retries + 1)`.
    """

    def __init__(
        self,
        base_url: str,
        secret: str,
        *,
        timeout_s: float = 1.0,
        retries: int = 2,
        fail_open: bool = False,
        offline: OfflineVerifier | None = None,
    ) -> None:
        if not secret.isascii() or not secret.isprintable() or not secret.strip():
            raise ValueError("the secret is empty or contains invalid characters; read it from the environment")
        self._connections = Connections(base_url)
        self._headers = {"Authorization": f"Bearer {secret}"}
        self._timeout_s = timeout_s
        self._retries = retries
        self._fail_open = fail_open
        self._offline = offline
        self._listeners: list[Callable[[Question], None]] = []

    def verify(
        self,
        token: str,
        *,
        expected_action: str,
        expected_origin: str | None = None,
        request_id: str | None = None,
        remote_address: str | None = None,
        content_digest: str | None = None,
    ) -> Verified:
        """Redeem a token; raise `VerificationFailed` if it is rejected, `Unavailable` if it cannot be verified."""
        question = Question(
            token=token,
            expected_action=expected_action,
            request_id=request_id or new_request_id(),
            expected_origin=expected_origin,
            remote_address=remote_address,
            content_digest=content_digest,
        )
        return self.ask(question, deadline_s=self.new_deadline_s())

    def new_deadline_s(self) -> float:
        """Return until when a call that starts now may take, on the monotonic clock."""
        return time.monotonic() + self._timeout_s * (self._retries + 1)

    def ask(self, question: Question, *, deadline_s: float) -> Verified:
        """Verify with the service, or without it as far as the options of this client allow."""
        if self._offline is not None and (earlier := self._offline.recall(question)) is not None:
            return earlier
        try:
            verified = self.redeem(question, deadline_s=deadline_s)
        except Unavailable as problem:
            return self._go_without(question, problem)
        if self._offline is not None:
            self._offline.note(question, verified)
        return verified

    def redeem(self, question: Question, *, deadline_s: float) -> Verified:
        """Verify only with the service, as often as time and retries allow."""
        pause_s = FIRST_PAUSE_S
        for attempt in range(self._retries + 1):
            try:
                return self._attempt(question, deadline_s=min(deadline_s, time.monotonic() + self._timeout_s))
            except Unavailable as problem:
                # Many callers that failed together must not come back together.
                wait_s = pause_s * random.uniform(0.5, 1.5)  # noqa: S311 - spreads load, guards nothing
                if attempt == self._retries or time.monotonic() + wait_s >= deadline_s:
                    raise
                log.info("siteverify failed: retrying", extra={"reason": problem.message})
                time.sleep(wait_s)
                pause_s *= 2
        raise AssertionError("the last attempt returns or raises")

    def add_listener(self, listener: Callable[[Question], None]) -> None:
        """Call this with each token that is accepted offline; it may raise `Unavailable` to prevent that."""
        self._listeners.append(listener)

    def close(self) -> None:
        """Close the kept connections."""
        self._connections.close()

    def _attempt(self, question: Question, *, deadline_s: float) -> Verified:
        try:
            answer = self._connections.request(
                "POST", "/v1/siteverify", body=question.body(), headers=self._headers, deadline_s=deadline_s
            )
        except Unreachable as problem:
            raise Unavailable(f"no response: {problem}", request_id=question.request_id) from None
        return read_answer(question, answer.status, answer.body)

    def _go_without(self, question: Question, problem: Unavailable) -> Verified:
        if self._offline is not None:
            try:
                verified = self._offline.judge(question)
                for listener in self._listeners:
                    listener(question)
            except Unavailable as worse:
                problem = worse
            else:
                return verified
        if not self._fail_open:
            raise problem
        log.warning("a request passes unchecked: AgentGate is unavailable", extra={"reason": problem.message})
        return Verified(action=question.expected_action, request_id=question.request_id, source="unchecked")
