"""How long threads waited for a processor while the machine ran other programs, as Linux counts it.

A stall is reported without this time: on a shared machine it would be most of the stall.
"""

import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self


class RunQueue:
    """The time that a thread of a process was ready to run and had no processor."""

    def __init__(self, process_id: int, thread_id: int | None = None) -> None:
        """Prepare; by default for the process's first thread."""
        self._path = Path(f"/proc/{process_id}/task/{thread_id or process_id}/schedstat")

    def open(self) -> Self:
        self._file = self._path.open()
        return self

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._file.close()

    def waited_s(self) -> float:
        """Return the seconds since the thread started."""
        self._file.seek(0)
        return int(self._file.read().split()[1]) / 1e9


class ProcessQueue:
    """The same for all threads of a process: the event loop also waits while a thread with the interpreter's lock does.

    A process that uses more than the machine has shows too little.
    """

    LIST_S = 1.0

    def __init__(self, process_id: int) -> None:
        self._process_id = process_id
        self._threads: dict[str, RunQueue] = {}
        self._listed_s = 0.0

    def waits(self) -> dict[str, float]:
        """Return the seconds of each thread since it started."""
        if time.monotonic() - self._listed_s > self.LIST_S:
            self._list()
        found = {}
        for thread, queue in list(self._threads.items()):
            # A thread may have ended.
            with suppress(OSError, IndexError):
                found[thread] = queue.waited_s()
        return found

    def longest_s(self, before: dict[str, float]) -> float:
        """Return the longest wait of one thread since `before`."""
        return max((after - before[thread] for thread, after in self.waits().items() if thread in before), default=0.0)

    def _list(self) -> None:
        self._listed_s = time.monotonic()
        for thread in Path(f"/proc/{self._process_id}/task").iterdir():
            if thread.name not in self._threads:
                with suppress(OSError):
                    self._threads[thread.name] = RunQueue(self._process_id, int(thread.name)).open()
