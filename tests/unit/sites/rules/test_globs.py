"""Globs: the same result as a slow reference, in time that grows with the text, whatever the pattern."""

import time
from random import Random

import pytest

from agentgate.sites.rules.patterns.glob import Glob, read_folded_glob, read_program_glob, split_glob


def exact_glob(text: str) -> Glob:
    """Return the glob of a text whose case matters."""
    return Glob(split_glob(text))


def slow_match(parts: list[str], text: str) -> bool:
    """Say whether a text fits, by a table: which ends of the pattern can be reached after each character."""
    tokens: list[str | None] = []
    for number, part in enumerate(parts):
        tokens += [None] * (number > 0) + list(part)
    reached = {0}
    for letter in ["", *text]:
        if letter:
            reached = {place + 1 for place in reached if place < len(tokens) and tokens[place] == letter} | {
                place for place in reached if place < len(tokens) and tokens[place] is None
            }
        stars = [place for place in reached if place < len(tokens) and tokens[place] is None]
        while stars:
            place = stars.pop() + 1
            if place not in reached:
                reached.add(place)
                if place < len(tokens) and tokens[place] is None:
                    stars.append(place)
    return len(tokens) in reached


def test_a_glob_matches_as_the_reference_does() -> None:
    chance = Random(31)
    matched = 0
    for _ in range(25_000):
        text = "".join(chance.choices("ab*\\", weights=(5, 4, 4, 1), k=chance.randint(0, 8)))
        try:
            parts = split_glob(text)
        except ValueError:
            continue
        value = "".join(chance.choices("ab*", weights=(5, 4, 1), k=chance.randint(0, 10)))
        expected = slow_match(parts, value)
        matched += expected
        assert Glob(parts).matches(value) is expected, (text, value)
    assert matched > 2_000


def test_a_glob_that_covers_another_matches_all_that_the_other_does() -> None:
    chance = Random(32)
    covered = 0
    for _ in range(20_000):
        one, other = (
            exact_glob("".join(chance.choices("ab*", weights=(3, 2, 4), k=chance.randint(1, 6)))) for _ in "12"
        )
        if not one.covers(other):
            continue
        covered += 1
        for filling in ("", "a", "b", "ab", "ba"):
            assert one.matches(other.example(filling)), (one.parts, other.parts)
    assert covered > 1_000


@pytest.mark.parametrize(
    ("glob", "text", "fits"),
    [
        ("*", "", True),
        ("", "", True),
        ("", "a", False),
        ("a*a", "a", False),
        ("a*a", "aa", True),
        ("*/*", "text/html", True),
        (r"\*/\*", "*/*", True),
        (r"\*/\*", "text/html", False),
        (r"a\\b", "a\\b", True),
        ("a?", "ab", False),
        ("[ab]", "a", False),
    ],
)
def test_only_a_star_is_special(glob: str, text: str, *, fits: bool) -> None:
    assert exact_glob(glob).matches(text) is fits


def test_case_does_not_matter_in_headers_and_a_program_may_be_anywhere() -> None:
    assert read_folded_glob("Text/*").matches("text/html")
    assert read_program_glob("GPTBot").matches("mozilla/5.0 (compatible; gptbot/1.2)")
    assert not read_program_glob("curl/*").matches("libcurl/8")


@pytest.mark.parametrize("text", ["\\", "a\\b", "**\\"])
def test_a_backslash_that_escapes_nothing_is_blocked(text: str) -> None:
    with pytest.raises(ValueError, match="backslash"):
        split_glob(text)


@pytest.mark.parametrize("pattern", ["a*" * 127 + "b", "*a" * 120 + "c*", "*" * 256, "*aaaaaaaaab" * 20])
def test_the_worst_patterns_take_linear_time(pattern: str) -> None:
    glob = exact_glob(pattern)
    text = "a" * 8_192

    started = time.process_time()
    for _ in range(100):
        glob.matches(text)

    # A backtracking engine would not come back; this takes a few milliseconds.
    assert time.process_time() - started < 1.0
