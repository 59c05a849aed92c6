"""Bodies of which every member is a text: the shorter way to read them finds the same."""

import pytest

from agentgate.browser_check.tokens.records import SiteverifyInput
from agentgate.http.decode import BodyDecoder
from agentgate.lib.errors import Refused


@pytest.mark.parametrize(
    "body",
    [
        b'{"token": "a", "expectedAction": "b", "token": "c"}',
        b'{"token": "a", "expectedAction": "b", "tok\\u0065n": "c"}',
        b'{"token": "a", "expectedAction": "b", "secret": "c", "secret": "c"}',
        '{"token": "ä", "expectedAction": "b", "token": "c"}'.encode(),
    ],
)
def test_a_member_that_is_twice_is_found_in_the_short_way_too(body):
    decoder = BodyDecoder(SiteverifyInput, malformed="invalid_request", texts_only=True)

    with pytest.raises(Refused) as refused:
        decoder.decode(body)
    assert "twice" in str(refused.value.message)


@pytest.mark.parametrize(
    "body", [b'{"token": "a", "expectedAction": "b"}', b'{"token":"\\"","expectedAction":"\xc3\xa4"}']
)
def test_the_short_way_reads_what_the_long_one_reads(body):
    short = BodyDecoder(SiteverifyInput, malformed="invalid_request", texts_only=True)

    assert short.decode(body) == BodyDecoder(SiteverifyInput, malformed="invalid_request").decode(body)
