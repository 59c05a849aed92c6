"""Nonces in mapped files: remembered by every worker and after a restart, never evicted, handed to the store when a set
is full."""

import gc
from hashlib import sha256
from pathlib import Path

from agentgate.agents.signing.nonce_board import PART_BYTES, SETS, WAYS, NonceBoard, memory_board, open_board

NOW_MS = 1_800_000_000_000
HOUR_MS = 3_600_000


def add(board: NonceBoard, number: int, *, now_ms: int = NOW_MS, kept_ms: int = HOUR_MS) -> bool | None:
    return board.add(sha256(b"%d" % number).digest(), kept_until_ms=now_ms + kept_ms, now_ms=now_ms)


def test_a_nonce_is_new_once_for_all_workers(tmp_path: Path) -> None:
    one, two = (open_board(tmp_path / "nonces", 2) for _ in range(2))

    assert (add(one, 1), add(two, 2)) == (True, True)
    assert [add(board, number) for board in (one, two) for number in (1, 2)] == [False] * 4


def test_a_nonce_is_known_after_a_restart_and_to_a_successor_of_any_size(tmp_path: Path) -> None:
    before = [open_board(tmp_path, 2) for _ in range(2)]
    assert [add(board, number) for number, board in enumerate(before)] == [True, True]

    # While the predecessor drains, both accept reads.
    after = [open_board(tmp_path, workers) for workers in (2, 2, 3)]
    assert [add(board, number) for number in (0, 1) for board in after] == [False] * 6
    assert add(after[0], 10)
    assert [add(board, 10) for board in (*before, *after)] == [False] * 5

    del before, after
    gc.collect()
    last = open_board(tmp_path, 1)
    assert [add(last, number) for number in (0, 1, 10, 11)] == [False, False, False, True]


def test_a_restart_does_not_add_files(tmp_path: Path) -> None:
    for number in range(5):
        board = open_board(tmp_path, 2)
        assert add(board, number)
        del board
        gc.collect()

    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["0", "1", "2", "3", "secret"]
    assert all(path.stat().st_mode & 0o77 == 0 for path in tmp_path.iterdir())
    assert (tmp_path / "0").stat().st_size == PART_BYTES


def test_without_usable_files_the_store_remembers_every_nonce(tmp_path: Path) -> None:
    (tmp_path / "nonces").write_text("in the way")

    board = open_board(tmp_path / "nonces", 2)

    assert [add(board, 1), add(board, 1)] == [None, None]


def test_a_nonce_expires_after_its_time_and_not_before() -> None:
    board = memory_board()

    assert add(board, 1)
    assert add(board, 1, now_ms=NOW_MS + HOUR_MS) is False
    assert add(board, 1, now_ms=NOW_MS + HOUR_MS + 120_000) is True


def test_a_full_set_leaves_its_nonces_and_hands_new_ones_to_the_store() -> None:
    board = memory_board()
    answers = [add(board, number) for number in range(SETS * (WAYS - 1))]

    taken = [number for number, answer in enumerate(answers) if answer is True]
    handed = [number for number, answer in enumerate(answers) if answer is None]
    assert handed
    assert all(add(board, number) is False for number in taken[:1_000])
    assert all(add(board, number) is None for number in handed[:1_000])


def test_a_set_that_was_full_asks_the_store_while_the_store_may_have_its_nonces() -> None:
    board = memory_board()
    number = 0
    while add(board, number, kept_ms=60_000) is not None:
        number += 1
    assert add(board, number, kept_ms=10 * HOUR_MS) is None

    # The others have expired, so there is room.
    assert add(board, number, now_ms=NOW_MS + HOUR_MS) is None
    assert add(board, number + 1, now_ms=NOW_MS + HOUR_MS) is True
