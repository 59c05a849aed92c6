"""How often a sign-in may fail."""

import pytest

from agentgate.lib.clock import FixedClock
from agentgate.lib.errors import Refused
from agentgate.lib.limiter import Limiter
from agentgate.people.identity.sign_in_limits import Factor, SignInLimits
from agentgate.storage.shared_cache.memory import MemoryFastStore
from tests.unit.people.identity.calls import NOW_MS, make_call

pytestmark = pytest.mark.anyio

ANN = "ann@example.com"


@pytest.fixture
def clock():
    return FixedClock(NOW_MS)


@pytest.fixture
def fast(clock):
    return MemoryFastStore(clock)


@pytest.fixture
def sign_in_limits(fast, clock):
    return SignInLimits(Limiter(fast, clock))


async def is_refused(sign_in_limits, call, email, **options):
    try:
        await sign_in_limits.check(call, email, **options)
    except Refused as refused:
        if refused.code != "rate_limited":
            raise
        return True
    return False


async def test_five_failures_of_an_email_are_allowed_from_wherever_they_come(sign_in_limits):
    for number in range(5):
        assert not await is_refused(sign_in_limits, make_call(), ANN)
        await sign_in_limits.note_failure(make_call(address=f"192.0.2.{number}"), ANN)

    assert await is_refused(sign_in_limits, make_call(address="198.51.100.1"), ANN)
    assert not await is_refused(sign_in_limits, make_call(address="198.51.100.1"), "bob@example.com")


async def test_spellings_of_an_email_count_together(sign_in_limits):
    for spelling in ("Ann@bücher.example", "ann@BÜCHER.example", "ANN@xn--bcher-kva.example") * 2:
        await sign_in_limits.note_failure(make_call(), spelling)

    assert await is_refused(sign_in_limits, make_call(address="198.51.100.1"), "ann@bücher.example")


async def test_ten_failures_of_a_source_are_allowed_whatever_the_emails(sign_in_limits):
    for number in range(10):
        assert not await is_refused(sign_in_limits, make_call(), ANN)
        await sign_in_limits.note_failure(make_call(), f"user{number}@example.com")

    assert await is_refused(sign_in_limits, make_call(), ANN)
    assert not await is_refused(sign_in_limits, make_call(address="198.51.100.1"), ANN)


async def test_all_addresses_of_one_ipv6_network_are_one_source(sign_in_limits):
    for number in range(10):
        await sign_in_limits.note_failure(make_call(address=f"2001:db8::{number:x}"), f"user{number}@example.com")

    assert await is_refused(sign_in_limits, make_call(address="2001:db8::ffff"), ANN)
    assert not await is_refused(sign_in_limits, make_call(address="2001:db8:0:1::1"), ANN)


async def test_a_hundred_failures_in_a_minute_stop_everybody_for_the_rest_of_it(sign_in_limits, clock):
    for number in range(100):
        assert not await is_refused(sign_in_limits, make_call(address="203.0.113.1"), ANN)
        await sign_in_limits.note_failure(make_call(address=f"192.0.2.{number}"), f"user{number}@example.com")

    assert await is_refused(sign_in_limits, make_call(address="203.0.113.1"), ANN)
    clock.advance(seconds=60)
    assert not await is_refused(sign_in_limits, make_call(address="203.0.113.1"), ANN)


async def test_failures_are_forgotten_with_their_window_and_the_answer_says_when(sign_in_limits, clock):
    clock.advance(seconds=61)
    for _ in range(5):
        await sign_in_limits.note_failure(make_call(), ANN)

    with pytest.raises(Refused) as refused:
        await sign_in_limits.check(make_call(), ANN)
    wait_s = int(refused.value.headers["retry-after"])

    assert 0 < wait_s <= 15 * 60
    clock.advance(seconds=wait_s - 1)
    assert await is_refused(sign_in_limits, make_call(), ANN)
    clock.advance(seconds=1)
    assert not await is_refused(sign_in_limits, make_call(), ANN)


async def test_codes_are_counted_apart_from_passwords(sign_in_limits):
    for _ in range(5):
        await sign_in_limits.note_failure(make_call(), ANN, factor=Factor.CODE)

    assert await is_refused(sign_in_limits, make_call(), ANN, factor=Factor.CODE)
    assert not await is_refused(sign_in_limits, make_call(), ANN)


async def test_who_has_signed_in_starts_anew_with_both_factors(sign_in_limits):
    for factor in Factor:
        for number in range(5):
            await sign_in_limits.note_failure(make_call(address=f"192.0.2.{number}"), ANN, factor=factor)

    await sign_in_limits.forget(make_call(), "Ann@Example.com")

    assert not await is_refused(sign_in_limits, make_call(), ANN)
    assert not await is_refused(sign_in_limits, make_call(), ANN, factor=Factor.CODE)


async def test_signing_in_to_ones_own_account_buys_no_more_guesses_at_others(sign_in_limits):
    for number in range(10):
        await sign_in_limits.note_failure(make_call(), f"user{number}@example.com")
        await sign_in_limits.forget(make_call(), "mallory@example.com")

    assert await is_refused(sign_in_limits, make_call(), ANN)


async def test_what_is_no_address_is_refused_before_it_is_counted(sign_in_limits):
    with pytest.raises(Refused) as refused:
        await sign_in_limits.check(make_call(), "ann")

    assert refused.value.code == "invalid_request"
