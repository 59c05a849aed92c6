"""The instrument's Python side: programs that differ, solutions that cannot be moved, bounds."""

import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgate.browser_check.instrument.program import (
    InstrumentAnswer,
    check_answer,
    make_program,
    right_answer,
)

CHALLENGE = "ch_01J0000000000000000000000"
MOST_BYTES = 6 * 1024
# Each of these needs a policy that strict pages do not have, or outlives the program.
FORBIDDEN = re.compile(
    r"\beval\b|\bFunction\(|setTimeout|setInterval|document\.write|innerHTML|outerHTML|insertAdjacentHTML|"
    r"setAttribute\(['\"`(]*(?:style|on)\b|\bimport\b|\bfetch\b|XMLHttpRequest|localStorage|cookie|\bstyle=|</"
)
KEYWORD = re.compile(
    r"(?:const|let|var|function|return|if|else|for|of|in|while|do|switch|case|break|continue|try|catch|finally|throw|"
    r"new|class|extends|static|super|this|typeof|void|delete|instanceof|yield|get|set|null)\Z"
)
TOKEN = re.compile(r"\"[^\"]*\"|'[^']*'|`[^`]*`|[A-Za-z_$][\w$]*|\d[\w.]*|\S")


def seed(number: int) -> bytes:
    return number.to_bytes(16, "big")


def changed(text: str, at: int) -> str:
    return text[:at] + ("0" if text[at] != "0" else "1") + text[at + 1 :]


def structure(program: str) -> Counter[tuple[str, ...]]:
    """Runs of ten tokens, without what a renaming or another constant would change."""
    tokens = [
        "text" if token[0] in "\"'`" else "number" if token[0].isdigit() else "name" if is_name(token) else token
        for token in TOKEN.findall(program)
    ]
    return Counter(zip(*(tokens[start:] for start in range(10)), strict=False))


def is_name(token: str) -> bool:
    return KEYWORD.match(token) is None and re.match(r"[A-Za-z_$]", token) is not None


def test_one_seed_gives_one_program_and_one_result():
    assert make_program(seed(1), CHALLENGE) == make_program(seed(1), CHALLENGE)
    assert right_answer(seed(1), CHALLENGE) == right_answer(seed(1), CHALLENGE)


@given(st.binary(min_size=16, max_size=16), st.from_regex(r"ch_[A-Za-z0-9_-]{1,40}", fullmatch=True))
def test_every_seed_gives_a_small_program_that_no_policy_forbids(drawn, challenge_id):
    program = make_program(drawn, challenge_id)

    assert program.isascii()
    assert len(program) <= MOST_BYTES
    assert FORBIDDEN.search(program) is None
    assert program.count(f'"agentgate:{challenge_id}"') == 1


def test_two_thousand_programs_are_within_the_bound():
    assert max(len(make_program(seed(number), CHALLENGE)) for number in range(2000)) <= MOST_BYTES


def test_the_results_of_two_thousand_challenges_are_all_different_and_well_formed():
    answers = [right_answer(seed(number), CHALLENGE) for number in range(2000)]
    texts = [text for answer in answers for text in (answer.page, answer.worker)]

    assert len(set(texts)) == len(texts)
    assert all(re.fullmatch(r"[0-9a-f]{32}", text) for text in texts)


def test_the_result_does_not_be_in_the_program():
    for number in range(100):
        program, answer = make_program(seed(number), CHALLENGE), right_answer(seed(number), CHALLENGE)

        for start in range(0, 32, 8):
            assert answer.page[start : start + 8] not in program
            assert str(int(answer.page[start : start + 8], 16)) not in program


def test_the_bits_of_results_are_even():
    ones = Counter[int]()
    for number in range(1000):
        bits = int(right_answer(seed(number), CHALLENGE).page, 16)
        ones.update(place for place in range(128) if bits >> place & 1)

    # Five standard deviations of a fair coin thrown a thousand times.
    assert all(abs(ones[place] - 500) < 80 for place in range(128))


def test_programs_differ_in_structure_and_not_in_names_and_constants_only():
    structures = [structure(make_program(seed(number), CHALLENGE)) for number in range(101)]
    likeness = [2 * (one & other).total() / (one.total() + other.total()) for one, other in pairwise(structures)]

    assert max(likeness) < 0.7
    assert sum(likeness) / len(likeness) < 0.55


def test_the_right_result_is_accepted_with_and_without_a_worker():
    right = right_answer(seed(1), CHALLENGE)

    assert check_answer(seed(1), CHALLENGE, right)
    assert check_answer(seed(1), CHALLENGE, InstrumentAnswer(page=right.page))


def test_an_return_one_character_changed_is_rejected():
    right = right_answer(seed(1), CHALLENGE)
    assert right.worker is not None

    for at in range(32):
        assert not check_answer(seed(1), CHALLENGE, replace(right, page=changed(right.page, at)))
        assert not check_answer(seed(1), CHALLENGE, replace(right, worker=changed(right.worker, at)))


def test_a_result_to_another_challenge_is_rejected():
    right = right_answer(seed(1), CHALLENGE)

    assert not check_answer(seed(2), CHALLENGE, right)
    assert not check_answer(seed(1), CHALLENGE + "x", right)


def test_page_and_worker_cannot_be_in_for_each_other():
    right = right_answer(seed(1), CHALLENGE)
    assert right.worker is not None

    for wrong in (
        InstrumentAnswer(page=right.worker, worker=right.page),
        InstrumentAnswer(page=right.worker),
        InstrumentAnswer(page=right.worker, worker=right.worker),
        InstrumentAnswer(page=right.page, worker=right.page),
    ):
        assert not check_answer(seed(1), CHALLENGE, wrong)


@pytest.mark.parametrize("given_text", ["", "failed", "0" * 32, "\ud800", "\U0001f600" * 8, "A" * 100_000])
def test_what_is_not_a_result_is_rejected(given_text):
    right = right_answer(seed(1), CHALLENGE)

    assert not check_answer(seed(1), CHALLENGE, InstrumentAnswer(page=given_text))
    assert not check_answer(seed(1), CHALLENGE, InstrumentAnswer(page=right.page, worker=given_text))


def test_upper_case_is_another_result():
    right = right_answer(seed(1), CHALLENGE)

    assert not check_answer(seed(1), CHALLENGE, replace(right, page=right.page.upper()))


@pytest.mark.parametrize("challenge_id", ["", 'ch_"];alert(1)//', "ch_\u00e9", "ch_a b", "ch_</script>", "ch_\n"])
def test_an_id_that_could_break_out_of_its_text_is_rejected(challenge_id):
    with pytest.raises(ValueError, match="letters, digits"):
        make_program(seed(1), challenge_id)
