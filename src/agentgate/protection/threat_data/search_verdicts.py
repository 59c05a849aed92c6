"""The file in which answers about search crawlers outlive a restart, so that nobody who was verified is asked anew.

Every worker of a machine writes it, each with what the others wrote before. A lost entry costs one look-up.
"""

from pathlib import Path

import msgspec
import structlog

from agentgate.protection.threat_data.search_verification import MOST_KNOWN, CrawlerStatuses, Saved

FILE_NAME = "search-verdicts.json"


class SearchVerdicts:
    """Reads and writes the file. One that cannot be read or written is reported, and the service goes on."""

    def __init__(self, folder: Path, crawler_statuses: CrawlerStatuses) -> None:
        self._path = folder / FILE_NAME
        self._crawler_statuses = crawler_statuses
        self._written: list[Saved] = []

    def load(self) -> None:
        """Take over what was kept."""
        self._crawler_statuses.restore(self._read())

    def save(self) -> None:
        """Write what is known, where that is something new."""
        known = self._crawler_statuses.export()
        if known == self._written:
            return
        entries = {(address, number): (address, number, *rest) for address, number, *rest in (*self._read(), *known)}
        content = msgspec.json.encode(list(entries.values())[-MOST_KNOWN:])
        unfinished = self._path.with_name(f"{self._path.name}.{id(self)}.unfinished")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            unfinished.write_bytes(content)
            unfinished.replace(self._path)
        except OSError as problem:
            structlog.get_logger().warning("answers about crawlers could not be kept", reason=str(problem))
            return
        self._written = known

    def _read(self) -> list[Saved]:
        try:
            found = msgspec.json.decode(self._path.read_bytes(), type=list[Saved])
        except FileNotFoundError:
            return []
        except (OSError, msgspec.DecodeError) as problem:
            structlog.get_logger().warning("kept answers about crawlers cannot be read", reason=str(problem))
            return []
        return [entry for entry in found if entry[2] in {"verified", "forged"}]
