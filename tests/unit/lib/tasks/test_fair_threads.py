"""Threads that accounts take turns in."""

import threading
from concurrent.futures import Future

import pytest

from agentgate.lib.tasks.fair_threads import FairThreads, working_for

WAIT_S = 20


def submit_for(threads: FairThreads, account: str, call: object, *values: object) -> Future[object]:
    token = working_for.set(account)
    try:
        return threads.submit(call, *values)  # type: ignore[arg-type]
    finally:
        working_for.reset(token)


def test_one_account_runs_one_call_at_a_time() -> None:
    threads, gate = FairThreads(4, "test"), threading.Event()
    running, most = set[int](), list[int]()

    def work(number: int) -> None:
        running.add(number)
        most.append(len(running))
        gate.wait(WAIT_S)
        running.discard(number)

    calls = [submit_for(threads, "acct_busy", work, number) for number in range(5)]
    other = submit_for(threads, "acct_other", lambda: "done")

    assert other.result(WAIT_S) == "done"
    gate.set()
    for call in calls:
        call.result(WAIT_S)
    assert most == [1] * 5
    threads.shutdown()


def test_accounts_take_turns() -> None:
    threads, gate, order = FairThreads(2, "test"), threading.Event(), list[str]()
    first = submit_for(threads, "acct_busy", gate.wait, WAIT_S)
    calls = [submit_for(threads, "acct_busy", order.append, "busy") for _ in range(20)]
    calls += [submit_for(threads, "acct_other", order.append, "other") for _ in range(2)]

    gate.set()
    for call in (first, *calls):
        call.result(WAIT_S)
    assert order.index("other") <= 1
    assert order[:4].count("other") == 2
    threads.shutdown()


def test_accounts_leave_a_thread_to_the_service() -> None:
    threads, gate = FairThreads(3, "test"), threading.Event()
    calls = [submit_for(threads, f"acct_{number}", gate.wait, WAIT_S) for number in range(10)]

    assert threads.submit(lambda: "done").result(WAIT_S) == "done"
    gate.set()
    for call in calls:
        call.result(WAIT_S)
    threads.shutdown()


def test_an_account_has_the_only_thread() -> None:
    threads = FairThreads(1, "test")

    assert submit_for(threads, "acct", lambda: 1).result(WAIT_S) == 1
    threads.shutdown()


def test_a_failed_call_gives_its_turn_back() -> None:
    threads = FairThreads(2, "test")

    with pytest.raises(ZeroDivisionError):
        submit_for(threads, "acct", lambda: 1 / 0).result(WAIT_S)
    assert submit_for(threads, "acct", lambda: 1).result(WAIT_S) == 1
    threads.shutdown()


def test_a_canceled_call_does_not_run() -> None:
    threads, gate, ran = FairThreads(2, "test"), threading.Event(), list[str]()
    first = submit_for(threads, "acct", gate.wait, WAIT_S)
    second = submit_for(threads, "acct", ran.append, "second")

    assert second.cancel()
    gate.set()
    first.result(WAIT_S)
    submit_for(threads, "acct", ran.append, "third").result(WAIT_S)
    assert ran == ["third"]
    threads.shutdown()


def test_calls_that_wait_are_canceled_with_the_threads() -> None:
    threads, gate = FairThreads(2, "test"), threading.Event()
    first = submit_for(threads, "acct", gate.wait, WAIT_S)
    second = submit_for(threads, "acct", gate.wait, WAIT_S)

    threads.shutdown(wait=False, cancel_futures=True)
    gate.set()
    assert first.result(WAIT_S)
    assert second.cancelled()
