"""The puzzles: what counts as a solution, and that no two challenges have the same."""

import hashlib
import secrets

import pytest

from agentgate.browser_check.records import MOST_SOLUTIONS, Work
from agentgate.browser_check.work import (
    AMOUNTS,
    DRAWN,
    SCRYPT,
    SHA_256,
    STEP_UP_AMOUNT,
    WorkLevel,
    challenge_work,
    is_solved,
    scrypt_answer,
    step_up_work,
)
from agentgate.lib.records import to_builtins
from tests.support.browser_client import solve

SEED = bytes(range(16))
# Hash rate of a ten-year-old phone in plain JavaScript.
SLOW_PHONE_HASHES_PER_S = 250_000
# Likewise, where the page allows no WebAssembly: 2 ms each on a machine that makes 900,000 hashes a second.
SLOW_PHONE_PUZZLES_PER_S = 138


@pytest.fixture(scope="module")
def solved():
    work = challenge_work(SEED, WorkLevel.USUAL)
    return work, solve(to_builtins(work))


def test_a_solution_of_every_puzzle_is_accepted(solved):
    assert is_solved(*solved, SEED)


@pytest.mark.parametrize("place", [0, 7, 15])
def test_one_wrong_number_is_enough_to_fail(solved, place):
    work, numbers = solved
    wrong = next(n for n in range(100) if hashlib.sha256(f"{work.salt}:{place}:{n}".encode()).digest()[0] > 127)

    assert not is_solved(work, [*numbers[:place], wrong, *numbers[place + 1 :]], SEED)


def test_the_first_solution_does_not_do_for_all_puzzles(solved):
    work, numbers = solved

    assert not is_solved(work, [numbers[0]] * work.count, SEED)


@pytest.mark.parametrize("change", [lambda n: n[:-1], lambda n: [*n, 0], lambda _: []])
def test_a_wrong_number_of_solutions_fails(solved, change):
    work, numbers = solved

    assert not is_solved(work, change(numbers), SEED)


def test_a_solution_of_another_challenge_fails(solved):
    other = challenge_work(secrets.token_bytes(16), WorkLevel.USUAL)

    assert not is_solved(other, solved[1], SEED)


def test_the_bits_are_counted_to_the_last_one():
    work = Work(algorithm=SHA_256, salt=challenge_work(SEED, WorkLevel.USUAL).salt, count=8, bits=12)
    zero_bits = {}
    for number in range(200_000):
        digest = int.from_bytes(hashlib.sha256(f"{work.salt}:0:{number}".encode()).digest(), "big")
        zero_bits.setdefault(256 - digest.bit_length(), number)
        if {work.bits - 1, work.bits} <= zero_bits.keys():
            break
    rest = solve(to_builtins(work))[1:]

    assert is_solved(work, [zero_bits[work.bits], *rest], SEED)
    assert not is_solved(work, [zero_bits[work.bits - 1], *rest], SEED)


def test_raised_levels_need_25_percent_of_a_mebibyte():
    hard = (AMOUNTS[WorkLevel.RAISED], AMOUNTS[WorkLevel.HIGH], STEP_UP_AMOUNT)

    assert {(amount.algorithm, 128 << amount.bits) for amount in hard} == {(SCRYPT, 256 * 1024)}
    assert AMOUNTS[WorkLevel.USUAL].algorithm == SHA_256


def test_more_is_challenged_at_each_level():
    seconds = [_slow_phone_s(AMOUNTS[level]) for level in WorkLevel]

    assert seconds == sorted(set(seconds))


def test_a_slow_phone_does_the_most_there_is_in_five_seconds():
    # The contract allows five seconds for all proof of work.
    assert _slow_phone_s(AMOUNTS[WorkLevel.HIGH]) + _slow_phone_s(STEP_UP_AMOUNT) <= 5


def _slow_phone_s(amount) -> float:
    if amount.algorithm == SCRYPT:
        return amount.count / SLOW_PHONE_PUZZLES_PER_S
    return (amount.count << amount.bits) / SLOW_PHONE_HASHES_PER_S


@pytest.fixture(scope="module")
def hard():
    work = Work(algorithm=SCRYPT, salt=SEED.hex(), count=32, bits=6)
    return work, [scrypt_answer(work, index) for index in range(work.count)]


def test_a_memory_hard_response_is_that_of_rfc_7914():
    # The first vector of section 12 has r = 1; only N and the salt are others' to choose.
    assert hashlib.scrypt(b"", salt=b"", n=16, r=1, p=1, dklen=64).hex().startswith("77d6576238657b203b19ca42c18a0497")
    work = Work(algorithm=SCRYPT, salt="ab", count=1, bits=11)
    known = hashlib.scrypt(b"ab:0", salt=b"", n=2048, r=1, p=1, dklen=32)

    assert scrypt_answer(work, 0) == int.from_bytes(known[:4], "big")


def test_all_memory_hard_puzzles_solved_pass_each_time(hard):
    assert all(is_solved(*hard, SEED, attempt=attempt) for attempt in range(1, 5))
    assert not is_solved(hard[0], hard[1][:-1], SEED)
    assert not is_solved(hard[0], [0] * hard[0].count, SEED)


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75, 0.9])
def test_unsolved_puzzles_do_not_pay(hard, share):
    work, answers = hard
    tries, passed = 400, 0
    for number in range(tries):
        solved = int(work.count * share)
        guess, seed = [*answers[:solved], *[0] * (work.count - solved)], number.to_bytes(16, "big")
        # All four attempts use the same solutions.
        passed += any(is_solved(work, guess, seed, attempt=attempt) for attempt in range(1, 5))

    expected = share**4
    assert passed / tries <= expected + 3 * (expected * (1 - expected) / tries) ** 0.5


def test_a_further_attempt_checks_more_puzzles(hard):
    work, answers = hard
    one_wrong = [[*answers[:index], 0, *answers[index + 1 :]] for index in range(work.count)]

    found = [{i for i, each in enumerate(one_wrong) if not is_solved(work, each, SEED, attempt=n)} for n in range(1, 5)]

    assert [len(checked) for checked in found] == [4, 8, 12, 16]
    assert found[0] < found[1] < found[2] < found[3]


def test_completing_the_work_after_a_failed_attempt_saves_at_most_10_percent():
    # A client solves the share h, and after a failed attempt the rest.
    costs = [h + (1 - h**DRAWN) * (1 - h) for h in (n / 100 for n in range(101))]

    assert min(costs) > 0.9


def test_a_body_has_room_for_every_level():
    assert max(amount.count for amount in (*AMOUNTS.values(), STEP_UP_AMOUNT)) <= MOST_SOLUTIONS


def test_the_salt_is_32_hex_characters_and_the_step_up_has_another():
    salts = {challenge_work(SEED, WorkLevel.USUAL).salt, step_up_work(SEED, is_doubtful=True).salt}

    assert len(salts) == 2
    assert all(len(salt) == 32 and bytes.fromhex(salt) for salt in salts)
