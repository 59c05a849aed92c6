"""A change waits for the other workers of the machine: those that live, and not for long."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentgate.server import worker_channel
from agentgate.server.worker_channel import FOLDER, WorkerChannel

pytestmark = pytest.mark.anyio


class Other:
    """Another worker, which serves the newest version when it is woken."""

    def __init__(self, folder: Path, *, answers: bool = True) -> None:
        self.woken = 0
        self.newest = 0
        self._answers = answers
        self.channel = WorkerChannel(folder, "worker-2", wake=self._wake)
        self.channel.open()

    def _wake(self) -> None:
        self.woken += 1
        if self._answers:
            self.channel.show(self.newest)


@pytest.fixture
async def own(tmp_path: Path) -> AsyncIterator[WorkerChannel]:
    channel = WorkerChannel(tmp_path, "worker-1", wake=lambda: None)
    channel.open()
    channel.show(7)
    yield channel
    channel.close()


async def test_alone_no_one_is_waited_for(own: WorkerChannel) -> None:
    began_s = time.monotonic()

    await own.wait_for_others()

    assert time.monotonic() - began_s < worker_channel.TIMEOUT_S / 2


async def test_a_worker_that_is_behind_is_woken_and_waited_for(own: WorkerChannel, tmp_path: Path) -> None:
    other = Other(tmp_path)
    other.newest = 7

    await asyncio.wait_for(own.wait_for_others(), 1.0)

    assert other.woken == 1
    other.channel.show(8)
    await own.wait_for_others()
    # A worker that is ahead is not woken.
    assert other.woken == 1


async def test_a_worker_that_hangs_is_waited_for_no_longer_than_the_bound(
    own: WorkerChannel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_channel, "TIMEOUT_S", 0.1)
    other = Other(tmp_path, answers=False)

    await asyncio.wait_for(own.wait_for_others(), 1.0)

    assert other.woken == 1


async def test_a_worker_that_ends_meanwhile_is_not_waited_for(own: WorkerChannel, tmp_path: Path) -> None:
    other = Other(tmp_path, answers=False)
    waiting = asyncio.create_task(own.wait_for_others())
    await asyncio.sleep(0.02)
    assert not waiting.done()

    other.channel.close()

    await asyncio.wait_for(waiting, 0.5)


async def test_what_a_killed_worker_left_is_removed(own: WorkerChannel, tmp_path: Path) -> None:
    left = tmp_path / FOLDER / "worker-9-1.wake"
    os.mkfifo(left)
    (tmp_path / FOLDER / "worker-9-1.version").write_text("3")

    await asyncio.wait_for(own.wait_for_others(), 0.5)

    assert {path.name.split("-")[1] for path in (tmp_path / FOLDER).iterdir()} == {"1"}
