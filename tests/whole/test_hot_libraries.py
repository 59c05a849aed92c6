"""The libraries that handle a check are adjacent in each worker's memory, near the C library."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgate.server.hot_libraries import LIBRARIES, library_paths
from tests.support.processes import ServeProcess, members, serving

# They take 2 MB, and a fork server has loaded some others before. If each is loaded only when it is imported, they are
# over 60 MB apart.
NEAR_BYTES, NEAR_LIBC_BYTES = 4 << 20, 16 << 20


@pytest.fixture(params=["1", "2"], ids=["one worker", "two workers"])
def process(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ServeProcess]:
    with serving(tmp_path, AGENTGATE_WORKERS=request.param, AGENTGATE_DRAIN_SECONDS="0") as service:
        yield service


def mapped(process_id: int) -> dict[str, int]:
    """Return where each file with code is mapped in a process: the least address."""
    found: dict[str, int] = {}
    for line in Path(f"/proc/{process_id}/maps").read_text().splitlines():
        span, rights, _, _, _, *names = line.split(maxsplit=5)
        if "x" in rights and names:
            found.setdefault(names[0], int(span.partition("-")[0], 16))
    return found


def test_hot_libraries_are_near_each_other(process: ServeProcess) -> None:
    expected = {str(path.resolve()) for path in library_paths()}
    assert len(expected) >= len(LIBRARIES) - 1
    workers = [
        number for number in (process.process_id, *members(process.process_id)) if expected <= set(mapped(number))
    ]
    assert workers

    for worker in workers:
        files = mapped(worker)
        places = [files[name] for name in expected]
        libc = next(at for name, at in files.items() if name.endswith("/libc.so.6"))
        assert max(places) - min(places) < NEAR_BYTES
        assert libc - min(places) < NEAR_LIBC_BYTES
