"""All workers know the counts of each worker for a while, in memory of a fixed size."""

from agentgate.decision.rates.count_board import PART_BYTES, SETS, WAYS, CountBoard

SLOT = 29_000_000
VISITOR = 7 << 64 | 0xFEDC_BA98_7654_3210


def boards(workers):
    memory = memoryview(bytearray(workers * PART_BYTES))
    return [CountBoard(memory, own=own) for own in range(workers)]


def add(board, key, slot, count=1):
    board.add(board.find(key, slot), count)


def sums(board, key, slot):
    return board.sums(board.find(key, slot))


def test_every_worker_knows_the_counts_of_all():
    one, other, third = boards(3)

    add(one, VISITOR, SLOT)
    add(other, VISITOR, SLOT, 2)
    add(other, VISITOR, SLOT, 3)

    assert [sums(board, VISITOR, SLOT) for board in (one, other, third)] == [(6, 0)] * 3
    assert sums(third, VISITOR + 1, SLOT) == (0, 0)


def test_a_count_is_known_in_its_slot_and_the_next_one():
    one, other = boards(2)
    add(one, VISITOR, SLOT, 5)
    add(one, VISITOR, SLOT + 1, 7)

    assert [sums(other, VISITOR, SLOT + later) for later in range(4)] == [(5, 0), (7, 5), (0, 7), (0, 0)]


def test_anyone_who_takes_the_place_of_a_worker_that_died_adds_to_its_counts():
    memory = memoryview(bytearray(2 * PART_BYTES))
    add(CountBoard(memory, own=1), VISITOR, SLOT, 3)
    add(CountBoard(memory, own=1), VISITOR, SLOT)

    assert sums(CountBoard(memory, own=0), VISITOR, SLOT) == (4, 0)


def of_one_set(number):
    """Return keys whose remainders are the same."""
    return [5 + SETS * (each << 20) for each in range(1, number + 1)]


def test_a_full_set_gives_up_its_oldest_key_and_no_other():
    one, other = boards(2)
    first, *rest = of_one_set(WAYS + 1)
    add(one, first, SLOT, 1_000)
    for key in rest:
        add(one, key, SLOT + 1)

    assert sums(other, first, SLOT + 1) == (0, 0)
    assert [sums(other, key, SLOT + 1) for key in rest] == [(1, 0)] * WAYS


def test_among_keys_of_one_slot_the_smallest_count_is_given_up():
    one, other = boards(2)
    *many, last = of_one_set(WAYS + 1)
    for number, key in enumerate(many):
        add(one, key, SLOT, 100 if number != 3 else 99)
    add(one, last, SLOT, 4)

    assert [sums(other, key, SLOT)[0] for key in many] == [100, 100, 100, 0, 100, 100, 100, 100]
    assert sums(other, last, SLOT) == (4, 0)


def test_a_count_stays_within_its_bits():
    one, other = boards(2)
    add(one, VISITOR, SLOT, 65_000)
    add(one, VISITOR, SLOT, 65_000)

    assert sums(other, VISITOR, SLOT) == (65_535, 0)
