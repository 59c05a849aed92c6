"""Spool: batches of events on disk while ClickHouse is unavailable. All workers of a machine share one directory.

A file is a compressed batch, named by its token. A worker writes it under another name, flushes it to the disk and then
renames it, so a file with its final name is complete. Each delivery sends the same token, so that ClickHouse counts a
repeated batch once.
"""

import contextlib
import fcntl
import gzip
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SUFFIX, REFUSED, UNFINISHED = ".events.gz", ".refused", ".new"
# How long the sum of sizes is believed: other workers write and deliver too.
LOOK_AGAIN_S = 5.0
# Of a process that was killed while it wrote.
UNFINISHED_S = 3600.0


class Spooled(NamedTuple):
    """One batch on disk."""

    path: Path
    token: str
    events: int


class Spool:
    """Blocking: to be called on a thread."""

    def __init__(self, folder: Path, *, most_bytes: int) -> None:
        self._folder = folder
        self._most_bytes = most_bytes
        self._events = self._bytes = 0
        self._looked_s = float("-inf")

    def put(self, token: str, events: int, rows: bytes) -> bool:
        """Keep a batch; False when there is no more room. Raises OSError when the disk does not take it."""
        data = gzip.compress(rows, 1)
        if self.count()[1] + len(data) > self._most_bytes:
            return False
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder / f"{token}.{events}{SUFFIX}"
        unfinished = path.with_name(f"{path.name}.{os.getpid()}{UNFINISHED}")
        with contextlib.ExitStack() as undo:
            undo.callback(unfinished.unlink, missing_ok=True)
            with unfinished.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(path)
        self._sync_folder()
        self._events += events
        self._bytes += len(data)
        return True

    def batches(self) -> list[Spooled]:
        """Return the batches, oldest first."""
        with contextlib.suppress(FileNotFoundError):
            found = [(entry.stat().st_mtime_ns, Path(entry.path)) for entry in self._entries()]
            return [_spooled(path) for _, path in sorted(found)]
        return []

    def remove(self, batch: Spooled, *, refused: bool = False) -> None:
        """Delete a delivered batch, or set a batch aside that ClickHouse cannot read."""
        if refused:
            batch.path.replace(batch.path.with_name(batch.path.name + REFUSED))
        else:
            batch.path.unlink(missing_ok=True)
        self._looked_s = float("-inf")

    def count(self) -> tuple[int, int]:
        """Return the number of spooled events, and the bytes of all files, including files set aside."""
        now_s = time.monotonic()
        if now_s - self._looked_s >= LOOK_AGAIN_S:
            self._looked_s = now_s
            self._events = self._bytes = 0
            with contextlib.suppress(FileNotFoundError):
                for entry in os.scandir(self._folder):
                    self._bytes += entry.stat().st_size
                    if entry.name.endswith(SUFFIX):
                        self._events += _spooled(Path(entry.path)).events
        return self._events, self._bytes

    @contextlib.contextmanager
    def alone(self) -> Iterator[bool]:
        """Yield whether no other worker is delivering, and keep other workers from delivering until the block ends."""
        if not self._folder.is_dir():
            yield True
            return
        with (self._folder / "lock").open("wb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                os.utime(lock.fileno())
                self._remove_unfinished(os.fstat(lock.fileno()).st_mtime)
                yield True

    def _entries(self) -> Iterator[os.DirEntry[str]]:
        return (entry for entry in os.scandir(self._folder) if entry.name.endswith(SUFFIX))

    def _remove_unfinished(self, now_s: float) -> None:
        for path in self._folder.glob(f"*{UNFINISHED}"):
            with contextlib.suppress(FileNotFoundError):
                if now_s - path.stat().st_mtime > UNFINISHED_S:
                    path.unlink()

    def _sync_folder(self) -> None:
        descriptor = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _spooled(path: Path) -> Spooled:
    token, events = path.name.removesuffix(SUFFIX).rsplit(".", 1)
    return Spooled(path, token, int(events))
