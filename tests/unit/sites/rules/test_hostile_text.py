"""Hostile texts: whatever is sent, reading ends soon, with a value or with a problem that has a place."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgate.lib.limits import RULE_SET_TEXT_BYTES
from agentgate.sites.rules.drafts import checked, read_draft
from agentgate.sites.rules.records import RulesRequest
from agentgate.sites.rules.text import TextProblem, read_text

# Far more than a text takes even on a busy machine, far less than quadratic time would.
MOST_S = 5.0
# Repeated to the full length. Each is cheap for a linear reader and dear for one that looks back or nests.
PIECES = (
    *(
        "[",
        "{",
        "- ",
        "? ",
        "a: ",
        '{"a":',
        '"a":',
        "[a,",
        "{? ",
        "!",
        "&",
        "*",
        "#",
        " ",
        "\n",
        "\t",
        "-\n",
        '"',
        "\\",
    ),
    *("a\n", "|\n", ": ", ", ", "a: |\n b\n", "%", "@", "'", "''", "<<: ", "&a *a ", "!!a ", "--- ", "...\n", "\u2028"),
    *("\U0001f600", "a: 1\n", '{"a": 1}, ', "[]", "{}", "0", "1e9", "-", "~", "null ", "[[", "]]", "? - "),
)
BLOCK = "version: '1'\nrules:\n"


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("start", ["", "{", BLOCK])
def test_a_repeated_piece_is_read_or_blocked_soon(piece: str, start: str) -> None:
    room = RULE_SET_TEXT_BYTES - len(start)
    text = start + piece * (room // len(piece.encode()))

    began_s = time.process_time()
    result = checked(read_draft(RulesRequest(rule_set_text=text)), 0)

    assert time.process_time() - began_s < MOST_S
    assert not result.valid
    assert all(problem.line >= 1 and problem.column >= 1 for problem in result.errors)


def test_a_text_of_the_full_length_is_read_and_one_byte_more_is_not() -> None:
    text = "# " + "x" * (RULE_SET_TEXT_BYTES - 8) + "\na: 1\n"

    assert read_text(text).value == {"a": 1}
    with pytest.raises(TextProblem, match=r"too (long|large)"):
        read_text(text + "\n")
    with pytest.raises(TextProblem, match=r"too (long|large)"):
        read_text("#" + "é" * (RULE_SET_TEXT_BYTES // 2))


def test_the_largest_valid_set_is_checked_soon() -> None:
    rules = "".join(
        f"  - {{name: r{number}, action: {'allow' if number % 2 else 'block'}, match: {{"
        f"any_labels: [{', '.join(f'net.asn.{each}' for each in range(number, number + 19))}]}}}}\n"
        for number in range(200)
    )
    text = f"{BLOCK}{rules}default_action: allow\n"
    assert len(text) > RULE_SET_TEXT_BYTES * 0.8

    began_s = time.process_time()
    result = checked(read_draft(RulesRequest(rule_set_text=text)), 0)

    assert time.process_time() - began_s < MOST_S
    assert result.valid
    assert len(result.lints) == 100


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab1:-?,[]{}\"'&*!|>%@`#~ \n\t\\/.0xé\u2028"), max_size=60))
def test_any_text_is_read_or_blocked(text: str) -> None:
    result = checked(read_draft(RulesRequest(rule_set_text=text)), 0)

    assert not result.valid
    assert result.errors
