"""Totals of decisions without events: added up, bounded, and put back when they could not be written."""

from agentgate.events.count_buffer import LONGEST_VALUE, MOST_KEYS, VALUES_PER_HOUR, CountBuffer
from agentgate.events.records import Count, CounterName

REFUSED, CHECK = CounterName.ORIGIN_REFUSED, CounterName.SERVER_CHECK


def test_what_is_alike_is_added_up_and_the_rest_is_not():
    buffer = CountBuffer()
    for key in ((1, 5, CHECK, ""), (1, 5, CHECK, ""), (2, 5, CHECK, ""), (1, 6, CHECK, "")):
        buffer.add(key, 2)

    assert buffer.take() == [Count(1, 5, CHECK, "", 4), Count(2, 5, CHECK, "", 2), Count(1, 6, CHECK, "", 2)]
    assert not buffer
    assert buffer.take() == []


def test_past_a_hundred_origins_an_hour_they_are_other():
    buffer = CountBuffer()
    for number in range(VALUES_PER_HOUR + 20):
        buffer.add((1, 5, REFUSED, f"https://{number}.example"), 1)
    # Another site has a separate limit of a hundred, and so has the next hour.
    buffer.add((2, 5, REFUSED, "https://a.example"), 1)
    buffer.add((1, 6, REFUSED, "https://b.example"), 1)

    counts = {(count.site, count.hour, count.value): count.counted for count in buffer.take()}
    assert len(counts) == VALUES_PER_HOUR + 3
    assert counts[1, 5, "other"] == 20
    assert counts[2, 5, "https://a.example"] == counts[1, 6, "https://b.example"] == 1


def test_a_known_origin_is_kept_apart_after_a_hundred_others():
    buffer = CountBuffer()
    for number in range(VALUES_PER_HOUR):
        buffer.add((1, 5, REFUSED, f"https://{number}.example"), 1)
    buffer.take()
    buffer.add((1, 5, REFUSED, "https://7.example"), 1)

    assert buffer.take() == [Count(1, 5, REFUSED, "https://7.example", 1)]


def test_a_value_is_cut_and_made_storable():
    buffer = CountBuffer()
    buffer.add((1, 5, REFUSED, "x" * 500), 1)
    buffer.add((1, 5, REFUSED, "a\0b\ud800"), 1)

    assert [count.value for count in buffer.take()] == ["x" * LONGEST_VALUE, "ab?"]


def test_what_is_put_back_is_added_to_what_came_meanwhile():
    buffer = CountBuffer()
    buffer.add((1, 5, CHECK, ""), 3)
    taken = buffer.take()
    buffer.add((1, 5, CHECK, ""), 4)

    buffer.put_back(taken)

    assert buffer.take() == [Count(1, 5, CHECK, "", 7)]


def test_there_are_only_so_many_statistics_and_the_rest_is_lost():
    buffer = CountBuffer()
    for site in range(MOST_KEYS + 3):
        buffer.add((site, 5, CHECK, ""), 2)
    buffer.add((0, 5, CHECK, ""), 1)

    assert buffer.lost == 6
    assert len(buffer.take()) == MOST_KEYS


def test_a_sum_can_be_added_to_until_it_is_taken():
    buffer, key = CountBuffer(), (1, 5, CHECK, "")
    waiting = buffer.add(key, 1)
    waiting.counted += 2

    assert buffer.take() == [Count(*key, 3)]
    assert waiting.counted == 0
    assert buffer.add(key, 1) is not waiting
