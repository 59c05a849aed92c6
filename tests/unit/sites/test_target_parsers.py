"""If a server or framework reads a route in an odd target, the route table finds this route too."""

from tests.support.route_readings import read_odd_spellings
from tests.support.target_parsers import MODELS, REAL


def test_no_parser_reads_a_route_that_the_table_does_not_return():
    read = read_odd_spellings(spellings=3_000, seed=28)

    # Every parser has read odd spellings: otherwise nothing was tried.
    assert {parser.__name__ for parser in (*REAL, *MODELS)} - set(read) == set()
