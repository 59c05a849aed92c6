"""Nonces in shared memory: remembered by every worker, never evicted, and handed to the store when a set is full."""

from hashlib import sha256

from agentgate.agents.signing.nonce_board import SETS, WAYS, NonceBoard, nonce_bytes

NOW_MS = 1_800_000_000_000
HOUR_MS = 3_600_000


def add(board: NonceBoard, number: int, *, now_ms: int = NOW_MS, kept_ms: int = HOUR_MS) -> bool | None:
    return board.add(sha256(b"%d" % number).digest(), kept_until_ms=now_ms + kept_ms, now_ms=now_ms)


def test_a_nonce_is_new_once_for_all_workers() -> None:
    memory = memoryview(bytearray(nonce_bytes(2)))
    one, two = (NonceBoard(memory, own=own, secret=b"s" * 32) for own in (0, 1))

    assert (add(one, 1), add(two, 2)) == (True, True)
    assert [add(board, number) for board in (one, two) for number in (1, 2)] == [False] * 4


def test_a_nonce_expires_after_its_time_and_not_before() -> None:
    board = NonceBoard()

    assert add(board, 1)
    assert add(board, 1, now_ms=NOW_MS + HOUR_MS) is False
    assert add(board, 1, now_ms=NOW_MS + HOUR_MS + 120_000) is True


def test_a_full_set_leaves_its_nonces_and_hands_new_ones_to_the_store() -> None:
    board = NonceBoard()
    answers = [add(board, number) for number in range(SETS * (WAYS - 1))]

    taken = [number for number, answer in enumerate(answers) if answer is True]
    handed = [number for number, answer in enumerate(answers) if answer is None]
    assert handed
    assert all(add(board, number) is False for number in taken[:1_000])
    assert all(add(board, number) is None for number in handed[:1_000])


def test_a_set_that_was_full_asks_the_store_while_the_store_may_have_its_nonces() -> None:
    board = NonceBoard()
    number = 0
    while add(board, number, kept_ms=60_000) is not None:
        number += 1
    assert add(board, number, kept_ms=10 * HOUR_MS) is None

    # The others have expired, so there is room.
    assert add(board, number, now_ms=NOW_MS + HOUR_MS) is None
    assert add(board, number + 1, now_ms=NOW_MS + HOUR_MS) is True
