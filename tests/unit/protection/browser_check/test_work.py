"""The puzzles: what counts as a solution, and that no two challenges have the same."""

import hashlib
import secrets

import pytest

from agentgate.lib.limits import WORK_MOST_S
from agentgate.lib.records import to_builtins
from agentgate.protection.browser_check.records import MOST_SOLUTIONS
from agentgate.protection.browser_check.work import (
    AMOUNTS,
    STEP_UP_AMOUNT,
    Level,
    challenge_work,
    is_solved,
    step_up_work,
)
from tests.browser_client import solve

SEED = bytes(range(16))
# What a phone of ten years ago does in plain JavaScript.
SLOW_PHONE_HASHES_PER_S = 250_000


@pytest.fixture(scope="module")
def solved():
    work = challenge_work(SEED, Level.USUAL)
    return work, solve(to_builtins(work))


def test_a_solution_of_every_puzzle_is_accepted(solved):
    assert is_solved(*solved)


@pytest.mark.parametrize("place", [0, 7, 15])
def test_one_wrong_number_is_enough_to_fail(solved, place):
    work, numbers = solved
    wrong = next(n for n in range(100) if hashlib.sha256(f"{work.salt}:{place}:{n}".encode()).digest()[0] > 127)

    assert not is_solved(work, [*numbers[:place], wrong, *numbers[place + 1 :]])


def test_the_first_solution_does_not_do_for_all_puzzles(solved):
    work, numbers = solved

    assert not is_solved(work, [numbers[0]] * work.count)


@pytest.mark.parametrize("change", [lambda n: n[:-1], lambda n: [*n, 0], lambda _: []])
def test_a_wrong_number_of_solutions_fails(solved, change):
    work, numbers = solved

    assert not is_solved(work, change(numbers))


def test_a_solution_of_another_challenge_fails(solved):
    other = challenge_work(secrets.token_bytes(16), Level.USUAL)

    assert not is_solved(other, solved[1])


def test_the_bits_are_counted_to_the_last_one():
    work = challenge_work(SEED, Level.RAISED)
    zero_bits = {}
    for number in range(200_000):
        digest = int.from_bytes(hashlib.sha256(f"{work.salt}:0:{number}".encode()).digest(), "big")
        zero_bits.setdefault(256 - digest.bit_length(), number)
        if {work.bits - 1, work.bits} <= zero_bits.keys():
            break
    rest = solve(to_builtins(work))[1:]

    assert is_solved(work, [zero_bits[work.bits], *rest])
    assert not is_solved(work, [zero_bits[work.bits - 1], *rest])


def test_more_is_asked_at_each_level():
    amounts = [AMOUNTS[level].count << AMOUNTS[level].bits for level in Level]

    assert amounts == sorted(set(amounts))


def test_a_slow_phone_does_the_most_there_is_in_five_seconds():
    most = AMOUNTS[Level.HIGH]
    hashes = (most.count << most.bits) + (STEP_UP_AMOUNT.count << STEP_UP_AMOUNT.bits)

    assert hashes / SLOW_PHONE_HASHES_PER_S <= WORK_MOST_S


def test_a_body_has_room_for_every_level():
    assert max(amount.count for amount in (*AMOUNTS.values(), STEP_UP_AMOUNT)) <= MOST_SOLUTIONS


def test_the_salt_is_32_hex_characters_and_the_step_up_has_another():
    salts = {challenge_work(SEED, Level.USUAL).salt, step_up_work(SEED).salt}

    assert len(salts) == 2
    assert all(len(salt) == 32 and bytes.fromhex(salt) for salt in salts)
