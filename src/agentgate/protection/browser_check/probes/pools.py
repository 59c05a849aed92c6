"""Pools: those that are live. An installation's own are preferred to the shipped one, whose answers everybody can read.

Of its own the two newest are live, and the older of them until a day after the newer came.
"""

from collections.abc import Sequence
from pathlib import Path

import structlog

from agentgate.lib.clock import DAY_MS, MINUTE_MS
from agentgate.protection.browser_check.probes.pool import FILE_SUFFIX, Pool, PoolRefused, read_pool

SHIPPED = Path(__file__).parent / "shipped" / f"shipped{FILE_SUFFIX}"
FOLDER = "probes"
LOOK_MS = MINUTE_MS
LIVE = 2

# Path, moment of the last change in ms, size.
Found = tuple[Path, int, int]


class Pools:
    """Reads the pools of a folder, and again when its files change."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._looked_ms: int | None = None
        self._found: list[Found] = []
        self._read: dict[Found, Pool | None] = {}
        self._shipped: Pool | None = None

    def live(self, now_ms: int) -> Sequence[Pool]:
        """Return the pools to draw from, the newest first. Files are looked at once a minute."""
        if self._looked_ms is None or not 0 <= now_ms - self._looked_ms < LOOK_MS:
            self._looked_ms = now_ms
            self._found = list_files(self._folder)
            self._read = {found: pool for found, pool in self._read.items() if found in self._found}
        own: list[Pool] = []
        newer_ms = None
        for found in self._found:
            if len(own) == LIVE or (newer_ms is not None and now_ms - newer_ms >= DAY_MS):
                break
            pool = self._pool(found)
            if pool is not None:
                own.append(pool)
                newer_ms = found[1]
        return own or [self.shipped]

    @property
    def shipped(self) -> Pool:
        """The pool that comes with the service."""
        if self._shipped is None:
            self._shipped = read_pool(SHIPPED, shipped=True)
        return self._shipped

    def _pool(self, found: Found) -> Pool | None:
        if found not in self._read:
            try:
                self._read[found] = read_pool(found[0])
            except PoolRefused as error:
                # The other pools still serve; a broken file must not stop the check.
                structlog.get_logger().error("a pool of probes is not used", path=str(found[0]), reason=str(error))
                self._read[found] = None
        return self._read[found]


def list_files(folder: Path | None) -> list[Found]:
    """Return the files of pools in a folder, the newest first."""
    if folder is None or not folder.is_dir():
        return []
    found = []
    for path in folder.glob(f"*{FILE_SUFFIX}"):
        status = path.stat()
        found.append((path, status.st_mtime_ns // 1_000_000, status.st_size))
    return sorted(found, key=lambda one: (-one[1], one[0].name))
