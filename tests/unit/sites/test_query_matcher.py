"""QueryMatcher: what is sure, what may be, and that no spelling that a parser reads escapes a condition."""

import time
from random import Random
from urllib.parse import parse_qsl, unquote

import pytest

from agentgate.sites.query_matcher import MOST_VALUES, QueryMatcher
from agentgate.sites.rules.patterns.predicates import PARAMETER, PARAMETERS, Predicate

SURE, MAYBE, NO = (1, 0), (0, 1), (0, 0)


def matcher(*values: str, name: str = "action") -> QueryMatcher:
    return QueryMatcher([(Predicate(PARAMETER, name, values), 1)], [])


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (b"", NO),
        (b"action=history", SURE),
        (b"title=A%20b&action=history&x", SURE),
        (b"action=view", NO),
        (b"action", NO),
        (b"reaction=history", NO),
        # Some servers fold case.
        (b"action=HISTORY", MAYBE),
        (b"Action=history", MAYBE),
        # PHP takes the last one, others the first one.
        (b"action=view&action=history", MAYBE),
        (b"action=history&action=view", MAYBE),
        (b"action=history&action=history", SURE),
        # Python before 3.10, Perl and some gateways separate at `;`.
        (b"title=A;action=history", MAYBE),
        (b"action%3Dhistory", MAYBE),
        (b"acti%6fn=history", MAYBE),
        (b"action=%68istory", SURE),
        (b"action=%2568istory", MAYBE),
        (b"action[]=history", MAYBE),
        (b"%20action=history", MAYBE),
        (b"action=his\x00tory", MAYBE),
        (b"&action=history", MAYBE),
        (b"x=%26action=history", MAYBE),
        # The gateway rejects a `#`; a server that gets one may not end the query there.
        (b"x=1#&action=history", MAYBE),
        (b"?action=history", MAYBE),
        (b"x=\xef\xbc\x86action=history", MAYBE),
        (b"title=[A]", NO),
    ],
)
def test_a_parameter_is_read_as_servers_may_read_it(query: bytes, found: tuple[int, int]) -> None:
    assert matcher("history").read(query) == found


def test_a_plus_may_be_a_blank_and_php_writes_names_with_underscores() -> None:
    assert matcher("a b").read(b"action=a%20b") == SURE
    assert matcher("a b").read(b"action=a+b") == MAYBE
    assert matcher("1", name="old_id").read(b"old.id=1") == MAYBE
    assert matcher("1", name="old_id").read(b"old%20id=1") == MAYBE


def test_any_value_is_a_star_and_one_of_several_globs_is_enough() -> None:
    assert matcher("*").read(b"action") == SURE
    assert matcher("raw", "hist*").read(b"action=history") == SURE


def test_the_number_of_parameters() -> None:
    counting = QueryMatcher([], [(Predicate(PARAMETERS, "", ("2",)), 1)])

    assert [counting.read(query) for query in (b"a&b", b"a&&b&", b"a&b&c", b"a;b;c")] == [NO, NO, SURE, MAYBE]


def test_a_parameter_that_a_parser_finds_is_never_missed() -> None:
    chance, asked = Random(60), matcher("history")
    signs = ["&", ";", "%26", "%3d", "=", "+", "%20", "[]", "x", "A", "%00", "?", "%253D", ""]
    found = 0
    for _ in range(20_000):
        before, between, after = ("".join(chance.choices(signs, k=chance.randint(0, 3))) for _ in range(3))
        name, value = chance.choice(("action", "acti%6fn", "%61ction")), chance.choice(("history", "%68istory"))
        query = f"{before}{name}{between}={value}{after}"
        texts = (query, unquote(query))
        pairs = [pair for text in texts for mark in "&;" for pair in parse_qsl(text, separator=mark)]
        if ("action", "history") in pairs:
            found += 1
            assert asked.read(query.encode()) != NO, query
    assert found > 200


def test_the_worst_query_takes_milliseconds() -> None:
    parameters = [(Predicate(PARAMETER, f"p{number}", ("*a*b*c*",)), 1 << number) for number in range(8)]
    asked = QueryMatcher(parameters, [])
    worst = [
        b"&".join(b"p1=%d" % number for number in range(1_500)),
        b"%25" * 5_000,
        b"p1=\xcc\x81" * 2_000,
        b";" * 16_000,
    ]
    for query in worst:
        started = time.perf_counter()
        asked.read(query)
        assert time.perf_counter() - started < 0.05


def test_a_parameter_with_many_values_may_match_and_costs_no_comparison_of_each() -> None:
    """A visitor repeats a parameter, and each value would cost all patterns of the site's rules."""
    words = [f"*w{number}*a*b*c" for number in range(500)]
    few, many = b"&".join([b"action=x"] * MOST_VALUES), b"&".join([b"action=x"] * 250)
    spent = [min(_cpu_s(matcher(*words), query) for _ in range(5)) for query in (few, many)]

    assert (matcher("x").read(few), matcher("x").read(many), matcher("y").read(many)) == (SURE, MAYBE, MAYBE)
    assert spent[1] <= 2 * spent[0]


def _cpu_s(found: QueryMatcher, query: bytes) -> float:
    began_s = time.process_time()
    found.read(query)
    return time.process_time() - began_s
