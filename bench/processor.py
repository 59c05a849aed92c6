"""CPU time per request of `/healthz`, alternating with an nginx that returns 204 on the same machine."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from bench.nginx import nginx_program, running_nginx
from bench.wire import Wire
from tests.support.ports import free_port
from tests.support.processes import ServeProcess

CONNECTIONS = 8
REQUEST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
# A process that uses less of a processor than this share for so long is idle.
STILL_S, STILL_SHARE = 0.2, 0.08
LONGEST_WORK_S = 60.0
SERVER = "server {{ listen 127.0.0.1:{port}; location / {{ return 204; }} }}\n"


def measure_processor(process: ServeProcess, *, rounds: int, requests: int) -> dict[str, float] | None:
    """Return microseconds per request of both, in interleaved rounds; None without nginx."""
    if nginx_program() is None:
        return None
    port = free_port()
    with running_nginx(SERVER.format(port=port), port) as nginx_id:
        nginx_url = f"http://127.0.0.1:{port}"
        servers = {"agentgate": (process.process_id, process.public_url), "nginx": (nginx_id, nginx_url)}
        used_s = dict.fromkeys(servers, 0.0)
        for number in range(rounds + 1):
            for name, (process_id, url) in servers.items():
                round_s = _round(process_id, url, requests)
                # The first round only warms up.
                used_s[name] += round_s if number else 0.0
    return {name: seconds * 1e6 / (rounds * requests) for name, seconds in used_s.items()}


def _round(process_id: int, url: str, requests: int) -> float:
    wires = [Wire(url) for _ in range(CONNECTIONS)]
    try:
        before_s = processor_s(process_id)
        for _ in range(requests // CONNECTIONS):
            for wire in wires:
                wire.send(REQUEST)
            for wire in wires:
                wire.receive()
        return processor_s(process_id) - before_s
    finally:
        for wire in wires:
            wire.close()


def processor_s(process_id: int) -> float:
    """Return the CPU time that all threads of a process have used, in user and in kernel mode."""
    # Its clock, by the number that clock_getcpuclockid(3) gives: to the nanosecond, where /proc counts hundredths.
    return time.clock_gettime(~process_id << 3 | 2)


def settled_s(process_id: int) -> float:
    """Wait until a process has nothing left to do, such as events to write, and return the time that it used."""
    deadline_s = time.monotonic() + LONGEST_WORK_S
    before_s = processor_s(process_id)
    while time.monotonic() < deadline_s:
        time.sleep(STILL_S)
        now_s = processor_s(process_id)
        if now_s - before_s < STILL_S * STILL_SHARE:
            return now_s
        before_s = now_s
    raise AssertionError(f"process {process_id} was still busy after {LONGEST_WORK_S:.0f} s")


def keep_on(process_id: int, processors: set[int]) -> None:
    """Let all threads of a process run on these processors only; those it starts later as well."""
    for thread in Path(f"/proc/{process_id}/task").iterdir():
        # A thread may have ended since it was listed.
        with suppress(ProcessLookupError):
            os.sched_setaffinity(int(thread.name), processors)


@contextmanager
def kept_on(processes: Sequence[tuple[int, set[int]]]) -> Iterator[None]:
    """Let each process run on its CPU cores for a while, and on all of them again afterwards."""
    everything = os.sched_getaffinity(0)
    for process_id, processors in processes:
        keep_on(process_id, processors)
    try:
        yield
    finally:
        for process_id, _ in processes:
            keep_on(process_id, everything)


def one_and_others() -> tuple[set[int], set[int]]:
    """Return a processor for what is measured, and those for the rest, which are all when there is but one."""
    first, *others = sorted(os.sched_getaffinity(0))
    return {first}, set(others) or {first}


def processor_ticks() -> tuple[int, int]:
    """Return how many ticks others on the same host have taken from this machine's processors, and all ticks."""
    ticks = [int(field) for field in Path("/proc/stat").read_text().partition("\n")[0].split()[1:9]]
    return ticks[7], sum(ticks)


def stolen_share(before: tuple[int, int]) -> float:
    """Return what share others have had since."""
    stolen, ticks = processor_ticks()
    return (stolen - before[0]) / max(ticks - before[1], 1)
