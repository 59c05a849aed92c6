"""Memory that processes share: each is handed it at its start and sees what the others write."""

import multiprocessing
import os

import pytest

from agentgate.server.shared_memory import SharedMemory, share_memory


def _write(memory: SharedMemory) -> None:
    memory.open()[memory.own] = memory.secret[0] ^ memory.own


@pytest.mark.parametrize("has_memfd", [True, False])
def test_what_one_process_writes_the_others_read(monkeypatch, has_memfd):
    if not has_memfd:
        monkeypatch.delattr(os, "memfd_create", raising=False)
    memory = share_memory(8)
    context = multiprocessing.get_context("forkserver")

    for own in (1, 2):
        process = context.Process(target=_write, args=(memory.of(own),))
        process.start()
        process.join(60)
        assert process.exitcode == 0

    first = memory.secret[0]
    assert bytes(memory.open()) == bytes([0, first ^ 1, first ^ 2, 0, 0, 0, 0, 0])
