"""The configuration version that each worker of this machine serves: a change returns once all workers have it.

Each worker has files in the data directory: a FIFO through which the others wake it, the version that it serves, and
its metrics as of the last scrape (`worker_metrics.py`). A FIFO without a living reader cannot be opened for writing, so
workers do not wait for a dead worker. They wait for a hung worker until the timeout; the supervisor replaces it.
"""

import asyncio
import contextlib
import multiprocessing
import os
import time
from collections.abc import Callable
from pathlib import Path

import structlog

from agentgate.decision.snapshot_refresher import SnapshotRefresher
from agentgate.lib.telemetry.merging import WorkerMetrics
from agentgate.lib.telemetry.metrics import Gathered, MetricRegistry
from agentgate.server.stores.unit_of_work import SqlStore
from agentgate.server.worker_metrics import MetricsFolder

FOLDER = "workers"
WAKE, VERSION, OPENING = ".wake", ".version", ".opening"
# How long a change waits for the other workers at most, and how often it checks.
TIMEOUT_S = 2.0
POLL_S = 0.005
# The version of a worker that serves nothing yet.
NO_VERSION = -1
_WIDTH = 20
# Messages through a FIFO: read the configuration; write your metrics.
_CONFIGURATION, _METRICS = b".", b"f"


def open_channel(
    folder: Path, refresher: SnapshotRefresher, store: SqlStore, metrics: MetricRegistry
) -> "WorkerChannel | None":
    """Make configuration changes return only when every worker of this machine has them.

    Return None if the data directory cannot hold such files: the other workers then get a change at their next poll.
    """
    channel = WorkerChannel(folder, multiprocessing.current_process().name, wake=refresher.poll, metrics=metrics)
    try:
        channel.open()
    except OSError as failure:
        structlog.get_logger().warning("workers cannot wait for each other", why=str(failure))
        return None
    refresher.sites.on_version = channel.show

    async def until_in_force() -> None:
        await refresher.sites.until_active()
        await channel.wait_for_others()

    store.until_in_force = until_in_force
    metrics.gather = channel.gather_metrics
    return channel


def clear_channels(folder: Path) -> None:
    """Remove the files of an earlier start, whose metrics would be counted. Called before the first worker starts."""
    for path in (folder / FOLDER).glob("*"):
        path.unlink(missing_ok=True)


class WorkerChannel:
    """One worker's files, and its view of the other workers."""

    def __init__(
        self, folder: Path, name: str, *, wake: Callable[[], None], metrics: MetricRegistry | None = None
    ) -> None:
        self._folder = folder / FOLDER
        self._own = f"{name}-{os.getpid()}"
        self._wake = wake
        self._registry = metrics
        self._metrics = MetricsFolder(self._folder)
        self._reader: int | None = None
        self._version = NO_VERSION
        self._is_slow = False

    def open(self) -> None:
        """Create this worker's files: from now on other workers wait for it. Called in the event loop that serves."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._remove(self._own)
        self._write(self._version)
        # Under another name until it is open: a FIFO without a reader would look like a dead worker's.
        opening = self._path(self._own, OPENING)
        os.mkfifo(opening, 0o600)
        # For writing too, so that it does not end when the last other worker closes it.
        self._reader = os.open(opening, os.O_RDWR | os.O_NONBLOCK)
        opening.rename(self._path(self._own, WAKE))
        asyncio.get_running_loop().add_reader(self._reader, self._on_message)

    def close(self) -> None:
        """Remove this worker's files."""
        if self._reader is not None:
            asyncio.get_running_loop().remove_reader(self._reader)
            os.close(self._reader)
            self._reader = None
            # The metrics of a worker that has ended still count.
            self._write_metrics()
            self._remove(self._own)

    def show(self, version: int) -> None:
        """Publish the version that this worker serves now."""
        if version != self._version and self._reader is not None:
            self._write(version)
        self._version = version

    async def wait_for_others(self) -> None:
        """Return when every other worker of this machine serves what this one does, or hangs, or has ended."""
        wanted, deadline_s = self._version, time.monotonic() + TIMEOUT_S
        behind = [name for name in self._others() if self._read(name) < wanted and self._wake_worker(name)]
        while behind and time.monotonic() < deadline_s:
            await asyncio.sleep(POLL_S)
            behind = [name for name in behind if self._read(name) < wanted and self._is_alive(name)]
        if behind and not self._is_slow:
            structlog.get_logger().warning("a change was confirmed before every worker has it", behind=behind)
        self._is_slow = bool(behind)

    async def gather_metrics(self) -> Gathered:
        """Return the current metrics of all workers; for a hung worker, the metrics that it wrote last."""
        # Written before they are shown: no sum may be less in the next scrape, even if this worker dies.
        own = self._write_metrics()
        before = {name: self._metrics.stamp(name) for name in self._others()}
        waiting = [name for name in before if self._wake_worker(name, _METRICS)]
        living, deadline_s = list(waiting), time.monotonic() + TIMEOUT_S / 2
        while waiting and time.monotonic() < deadline_s:
            await asyncio.sleep(POLL_S)
            waiting = [name for name in waiting if self._metrics.stamp(name) == before[name] and self._is_alive(name)]
        self._metrics.keep_ended({*living, self._own})
        return [*own, *self._metrics.read_living(living)], self._metrics.read_ended()

    def _write_metrics(self) -> list[WorkerMetrics]:
        """Write the metrics of this worker and return them; return an empty list if metrics are disabled."""
        if self._registry is None:
            return []
        metrics = self._registry.own_metrics()
        try:
            self._metrics.write(self._own, metrics)
        except OSError as failure:
            structlog.get_logger().warning("metrics of a worker not written", why=str(failure))
        return [metrics]

    def _others(self) -> list[str]:
        names = (path.name.removesuffix(WAKE) for path in self._folder.glob(f"*{WAKE}"))
        return [name for name in names if name != self._own]

    def _wake_worker(self, name: str, message: bytes = _CONFIGURATION) -> bool:
        """Wake a worker; False for one that has ended, whose files are removed."""
        try:
            writer = os.open(self._path(name, WAKE), os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            # It has no reader, or is gone.
            self._remove(name)
            return False
        try:
            with contextlib.suppress(BlockingIOError):
                os.write(writer, message)
        finally:
            os.close(writer)
        return True

    def _is_alive(self, name: str) -> bool:
        try:
            os.close(os.open(self._path(name, WAKE), os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            return False
        return True

    def _on_message(self) -> None:
        assert self._reader is not None
        received = b""
        with contextlib.suppress(BlockingIOError):
            received = os.read(self._reader, 4096)
        if _METRICS in received:
            self._write_metrics()
        if received.strip(_METRICS) or not received:
            self._wake()

    def _read(self, name: str) -> int:
        try:
            return int(self._path(name, VERSION).read_bytes())
        except (OSError, ValueError):
            return NO_VERSION

    def _write(self, version: int) -> None:
        # The text has a fixed length and one write replaces the previous version, so readers never get half a version.
        file = os.open(self._path(self._own, VERSION), os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.pwrite(file, b"%*d" % (_WIDTH, version), 0)
        finally:
            os.close(file)

    def _remove(self, name: str) -> None:
        for suffix in (WAKE, VERSION, OPENING):
            self._path(name, suffix).unlink(missing_ok=True)

    def _path(self, name: str, suffix: str) -> Path:
        return self._folder / f"{name}{suffix}"
