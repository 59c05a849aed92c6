"""Memory that processes share: each is handed it at its start and sees what the others write."""

import multiprocessing

from agentgate.server.shared_memory import SharedMemory, share_memory


def _write(memory: SharedMemory) -> None:
    memory.open()[memory.own] = 40 + memory.own


def test_what_one_process_writes_the_others_read():
    memory = share_memory(8)
    assert memory is not None
    context = multiprocessing.get_context("forkserver")

    for own in (1, 2):
        process = context.Process(target=_write, args=(memory.of(own),))
        process.start()
        process.join(60)
        assert process.exitcode == 0

    assert bytes(memory.open()) == bytes([0, 41, 42, 0, 0, 0, 0, 0])
