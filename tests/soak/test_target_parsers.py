"""The long version of the unit test: other spellings each time."""

import secrets

import pytest

from tests.support.route_readings import read_odd_spellings
from tests.support.target_parsers import MODELS, REAL

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3_600)]


def test_no_parser_reads_a_route_that_the_table_does_not_return_in_many_spellings():
    read = read_odd_spellings(spellings=1_000_000, seed=secrets.randbits(32))

    assert min(read[parser.__name__] for parser in (*REAL, *MODELS)) > 100
