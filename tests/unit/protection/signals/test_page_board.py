"""Pages that one worker allowed are known to all, for a while, in memory of a fixed size."""

from agentgate.protection.signals.page_board import PART_BYTES, SETS, SLOT_MS, WAYS, PageBoard

NOW_MS = 1_700_000_000_000
VISITOR = 7 << 64 | 0xFEDC_BA98_7654_3210


def boards(workers):
    memory = memoryview(bytearray(workers * PART_BYTES))
    return [PageBoard(memory, own=own) for own in range(workers)]


def test_every_worker_counts_the_pages_of_all():
    one, other, third = boards(3)

    one.add(VISITOR, NOW_MS)
    other.add(VISITOR, NOW_MS)
    other.add(VISITOR, NOW_MS)

    assert [board.count(VISITOR, NOW_MS) for board in (one, other, third)] == [3, 3, 3]
    assert third.count(VISITOR + 1, NOW_MS) == 0


def test_a_page_is_known_for_one_slot_at_least_and_two_at_most():
    one, other = boards(2)
    one.add(VISITOR, NOW_MS)

    assert other.count(VISITOR, NOW_MS + SLOT_MS) == 1
    assert other.count(VISITOR, NOW_MS + 2 * SLOT_MS) == 0

    one.add(VISITOR, NOW_MS + 2 * SLOT_MS)
    assert other.count(VISITOR, NOW_MS + 2 * SLOT_MS) == 1


def test_whoever_takes_the_place_of_a_worker_that_died_knows_its_pages():
    memory = memoryview(bytearray(2 * PART_BYTES))
    PageBoard(memory, own=1).add(VISITOR, NOW_MS)

    assert PageBoard(memory, own=1).count(VISITOR, NOW_MS) == 1


def test_a_full_set_gives_up_its_oldest_visitor_and_no_other():
    one, other = boards(2)
    # All of one set: their remainders are the same.
    visitors = [5 + SETS * (number << 20) for number in range(1, WAYS + 2)]
    for number, visitor in enumerate(visitors):
        one.add(visitor, NOW_MS + (number > 0) * SLOT_MS)

    assert [other.count(visitor, NOW_MS + SLOT_MS) for visitor in visitors] == [0] + [1] * WAYS


def test_a_count_stays_within_its_bits():
    one, other = boards(2)
    for _ in range(70_000):
        one.add(VISITOR, NOW_MS)

    assert other.count(VISITOR, NOW_MS) == 65_535
