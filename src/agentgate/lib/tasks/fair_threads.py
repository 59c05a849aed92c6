"""FairThreads: threads that accounts take turns in, so that one account's work does not delay that of others."""

import threading
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from itertools import chain
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

# The account for which the present task works; empty: the service itself, which may use all threads.
working_for: ContextVar[str] = ContextVar("working_for", default="")

_Call = Callable[[], Any]


class FairThreads(ThreadPoolExecutor):
    """Runs few calls of an account at a time, and calls of different accounts in turn.

    Calls that need the interpreter delay the event loop by one switch for each of their threads. One thread always
    remains for the service itself, unless there is only one.
    """

    def __init__(self, threads: int, name: str, *, most_of_account: int = 1) -> None:
        super().__init__(threads, thread_name_prefix=name)
        self._most_of_account = most_of_account
        self._most_of_accounts = max(1, threads - 1)
        self._guard = threading.Lock()
        # In the order of the next turn.
        self._waiting: dict[str, deque[tuple[Future[Any], _Call]]] = {}
        # Calls of accounts.
        self._running: Counter[str] = Counter()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a call when it is the turn of the account for which the present task works."""
        future: Future[T] = Future()
        with self._guard:
            queue = self._waiting.setdefault(working_for.get(), deque())
            queue.append((future, lambda: fn(*args, **kwargs)))
        super().submit(self._work)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 - as inherited
        """End the threads; with `cancel_futures`, calls that wait do not run."""
        if cancel_futures:
            with self._guard:
                waiting, self._waiting = self._waiting, {}
            for future, _ in chain.from_iterable(waiting.values()):
                future.cancel()
        super().shutdown(wait, cancel_futures=cancel_futures)

    def _work(self) -> None:
        """Run calls as long as there are some whose account may have a thread."""
        while (taken := self._take()) is not None:
            account, future, call = taken
            try:
                _run(future, call)
            finally:
                with self._guard:
                    self._running -= Counter((account,))
            # A traceback would keep the call's values alive until the next one.
            del future, call, taken

    def _take(self) -> tuple[str, Future[Any], _Call] | None:
        with self._guard:
            for account, queue in self._waiting.items():
                if account and not self._may_run(account):
                    continue
                future, call = queue.popleft()
                # To the end of the line.
                del self._waiting[account]
                if queue:
                    self._waiting[account] = queue
                if account:
                    self._running[account] += 1
                return account, future, call
        return None

    def _may_run(self, account: str) -> bool:
        return self._running[account] < self._most_of_account and self._running.total() < self._most_of_accounts


def _run(future: Future[Any], call: _Call) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - whoever waits for it decides
        future.set_exception(error)
    else:
        future.set_result(result)
