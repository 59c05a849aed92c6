"""The metrics of the workers of one machine, as files: each worker writes its own on request.

The counts of a worker that has ended are added to the totals of all ended workers. A killed worker leaves its metrics
of the last scrape, which Prometheus knows, so that no total ever falls.
"""

import contextlib
import fcntl
import os
from collections.abc import Collection, Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from agentgate.lib.telemetry.merging import WorkerMetrics, add_up_ended

METRICS, ENDED, LOCK = ".metrics", "ended.sums", "ended.lock"
# Names of workers whose metrics are already in the totals although their file may still exist. One for each death.
MOST_NAMES = 1_000

_encode = msgspec.msgpack.encode
_decode_worker = msgspec.msgpack.Decoder(WorkerMetrics).decode


class _Ended(Struct, frozen=True):
    names: list[str]
    metrics: WorkerMetrics


_decode_ended = msgspec.msgpack.Decoder(_Ended).decode
_NOBODY = _Ended([], WorkerMetrics(worker="", samples=[]))


class MetricsFolder:
    """The files of all workers of a machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, name: str, metrics: WorkerMetrics) -> None:
        """Write the metrics of a worker in one step, so that readers never get half of them."""
        _replace(self._folder / f"{name}{METRICS}", _encode(metrics))

    def stamp(self, name: str) -> tuple[int, int]:
        """Return a stamp that differs once the file has been written again."""
        try:
            found = (self._folder / f"{name}{METRICS}").stat()
        except OSError:
            return 0, 0
        return found.st_ino, found.st_mtime_ns

    def read_living(self, names: Iterable[str]) -> list[WorkerMetrics]:
        """Return the metrics of these workers; skip workers that have written none."""
        found = (_read(self._folder / f"{name}{METRICS}") for name in names)
        return [_decode_worker(data) for data in found if data is not None]

    def read_ended(self) -> WorkerMetrics | None:
        data = _read(self._folder / ENDED)
        return None if data is None else _decode_ended(data).metrics

    def keep_ended(self, living: Collection[str]) -> None:
        """Add the metrics of all other workers to the totals of ended workers, unless another process is doing so."""
        gone = [path for path in self._folder.glob(f"*{METRICS}") if path.name.removesuffix(METRICS) not in living]
        if not gone:
            return
        with contextlib.suppress(BlockingIOError), (self._folder / LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            data = _read(self._folder / ENDED)
            known = _NOBODY if data is None else _decode_ended(data)
            # A worker's file can remain after its metrics were added to the totals: the process that added them ended
            # before removing it.
            added = {path: _read(path) for path in gone if path.name not in known.names}
            metrics = [_decode_worker(data) for data in added.values() if data is not None]
            if metrics:
                names = [*known.names, *(path.name for path in added)][-MOST_NAMES:]
                _replace(self._folder / ENDED, _encode(_Ended(names, add_up_ended([known.metrics, *metrics]))))
            for path in gone:
                path.unlink(missing_ok=True)


def _replace(path: Path, data: bytes) -> None:
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.touch(mode=0o600)
    part.write_bytes(data)
    part.replace(path)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
