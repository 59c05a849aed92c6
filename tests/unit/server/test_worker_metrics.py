"""The metrics of all workers in one scrape: the same totals from any worker, and no counter that falls."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from agentgate.lib.telemetry.metrics import MetricRegistry
from agentgate.server import worker_channel
from agentgate.server.worker_channel import FOLDER, WorkerChannel, clear_channels
from agentgate.server.worker_metrics import ENDED, METRICS

pytestmark = pytest.mark.anyio


class Worker:
    """A worker with metrics and a channel."""

    def __init__(self, folder: Path, name: str) -> None:
        self.metrics = MetricRegistry(version="1", worker=name)
        self.channel = WorkerChannel(folder, name, wake=lambda: None, metrics=self.metrics)
        self.channel.open()
        self.metrics.gather = self.channel.gather_metrics

    def answer(self, count: int, duration_s: float = 0.001) -> None:
        for _ in range(count):
            self.metrics.counting("public", "/a", status=200)(duration_s)

    async def scrape(self) -> dict[str, float]:
        body, _ = await self.metrics.exposition_of_all()
        return {
            sample.name + "".join(f" {name}={value}" for name, value in sorted(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(body.decode())
            for sample in family.samples
        }


REQUESTS = "agentgate_http_requests_total route=/a status=200 surface=public"
COUNT = "agentgate_http_request_duration_seconds_count route=/a surface=public"


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[tuple[Worker, Worker]]:
    one, two = Worker(tmp_path, "worker-1"), Worker(tmp_path, "worker-2")
    yield one, two
    one.channel.close()
    two.channel.close()


async def test_either_worker_gives_the_statistics_of_both(pair: tuple[Worker, Worker]) -> None:
    one, two = pair
    one.answer(3)
    two.answer(4, duration_s=1.0)
    one.metrics.store_answers("hot", up=True)
    two.metrics.store_answers("hot", up=False)

    for found in (await one.scrape(), await two.scrape()):
        assert found[REQUESTS] == found[COUNT] == 7
        assert found["agentgate_http_request_duration_seconds_bucket le=0.001 route=/a surface=public"] == 3
        assert found["agentgate_store_up store=hot"] == 0
        assert found["agentgate_build_info version=1"] == 1
        assert found["agentgate_workers"] == 2
        assert found["process_open_fds worker=worker-1"] > 0
        assert found["process_open_fds worker=worker-2"] > 0


async def test_a_worker_that_ended_counts_on(pair: tuple[Worker, Worker], tmp_path: Path) -> None:
    one, two = pair
    two.answer(5)
    two.metrics.event_write_failed(2)
    two.metrics.request_started()
    two.channel.close()

    for _ in range(2):
        found = await one.scrape()
        assert found[REQUESTS] == 5
        assert found["agentgate_event_write_failures_total"] == 2
        assert found["agentgate_http_in_flight"] == 0
        assert found["agentgate_workers"] == 1
    third = Worker(tmp_path, "worker-2")
    third.answer(1)
    assert (await third.scrape())[REQUESTS] == 6
    third.channel.close()


async def test_a_killed_worker_counts_on_with_what_was_last_shown(pair: tuple[Worker, Worker], tmp_path: Path) -> None:
    one, two = pair
    two.answer(5)
    shown = (await two.scrape())[REQUESTS]
    two.answer(1)
    reader = two.channel._reader
    assert reader is not None
    # As the kernel does for a process that was killed.
    asyncio.get_running_loop().remove_reader(reader)
    os.close(reader)
    two.channel._reader = None

    assert (await one.scrape())[REQUESTS] == shown == 5
    assert [path.name for path in (tmp_path / FOLDER).glob(f"*{METRICS}")] == [f"{one.channel._own}{METRICS}"]


async def test_one_that_was_added_and_not_removed_is_not_added_again(
    pair: tuple[Worker, Worker], tmp_path: Path
) -> None:
    one, two = pair
    two.answer(5)
    two.channel.close()
    left = tmp_path / FOLDER / f"{two.channel._own}{METRICS}"
    data = left.read_bytes()
    await one.scrape()
    left.write_bytes(data)

    assert (await one.scrape())[REQUESTS] == 5


async def test_a_worker_that_hangs_is_shown_as_it_was(
    pair: tuple[Worker, Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_channel, "TIMEOUT_S", 0.1)
    one, two = pair
    two.answer(5)
    await one.scrape()
    reader = two.channel._reader
    assert reader is not None
    asyncio.get_running_loop().remove_reader(reader)
    two.answer(1)

    found = await asyncio.wait_for(one.scrape(), 1.0)

    assert (found[REQUESTS], found["agentgate_workers"]) == (5, 2)


async def test_a_start_begins_again(pair: tuple[Worker, Worker], tmp_path: Path) -> None:
    one, two = pair
    two.answer(5)
    two.channel.close()
    await one.scrape()
    assert (tmp_path / FOLDER / ENDED).exists()
    one.channel.close()

    clear_channels(tmp_path)

    assert list((tmp_path / FOLDER).iterdir()) == []
