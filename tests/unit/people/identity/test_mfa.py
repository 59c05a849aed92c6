"""Two-factor authentication: set up, turned on, used once, turned off."""

import asyncio
import base64
import re

import pytest

from agentgate.lib.clock import MINUTE_MS
from agentgate.lib.errors import Refused
from agentgate.lib.keyring import KeysUnreadable, Sealer
from agentgate.people.identity.mfa import (
    ALPHABET,
    RecoveryCode,
    SecondFactor,
    is_pending,
    new_recovery_code,
    recovery_digest,
)
from agentgate.people.identity.totp import STEP_MS, code_of, step_at
from tests.unit.people.identity.calls import NOW_MS, make_call

STEP = step_at(NOW_MS)


class Ann:
    """A user with the ways to use the second factor, each in a separate unit of work."""

    def __init__(self, store, user):
        self.store = store
        self.user = user
        self.factor = SecondFactor(Sealer(b"r" * 32))
        self.secret = b""

    async def begin(self, **options):
        call = make_call(**options)
        text, url = await self.store.change(lambda stores: self.factor.begin_setup(stores, call, self.user))
        self.secret = base64.b32decode(text)
        assert f"secret={text}&" in url
        return text, url

    def code(self, step=STEP):
        return code_of(self.secret, step)

    def enable(self, code, **options):
        call = make_call(**options)
        return self.store.change(lambda stores: self.factor.enable(stores, call, self.user, code))

    def spend(self, code=None, recovery_code=None, **options):
        call = make_call(**options)
        proof = RecoveryCode(recovery_code) if code is None else code
        return self.store.change(lambda stores: self.factor.spend(stores, call, self.user, proof))

    def disable(self):
        return self.store.change(lambda stores: self.factor.disable(stores, make_call(), self.user))

    async def turn_on(self):
        await self.begin()
        return await self.enable(self.code())

    async def stored(self):
        return await self.store.read.users.find_user(self.user.id)


@pytest.fixture
def person(store, ann):
    return Ann(store, ann)


async def refusal_of(pending):
    try:
        await pending
    except Refused as refused:
        return refused.code
    return None


@pytest.mark.anyio
async def test_a_setup_gives_a_secret_for_authenticators_and_turns_nothing_on(person):
    text, url = await person.begin()

    assert len(base64.b32decode(text)) == 20
    assert url.startswith("otpauth://totp/AgentGate:ann%40example.com?secret=")
    stored = await person.stored()
    assert is_pending(stored, NOW_MS)
    assert not stored.has_mfa


@pytest.mark.anyio
async def test_the_secret_is_stored_sealed_and_for_this_user_only(person):
    await person.begin()

    sealed = (await person.stored()).mfa_pending_secret
    sealer = Sealer(b"r" * 32)
    assert person.secret not in sealed
    assert sealer.open(sealed, f"mfa:{person.user.id}") == person.secret
    with pytest.raises(KeysUnreadable):
        sealer.open(sealed, "mfa:usr_0000000000000000")


@pytest.mark.anyio
async def test_a_code_of_the_new_secret_turns_it_on_with_ten_recovery_codes(person):
    await person.begin()

    codes = await person.enable(person.code())

    assert len(set(codes)) == 10
    stored = await person.stored()
    assert stored.has_mfa
    assert (stored.mfa_enabled_ms, stored.mfa_last_step, stored.mfa_pending_secret) == (NOW_MS, STEP, None)
    assert not is_pending(stored, NOW_MS)
    assert await person.store.read.users.count_recovery_codes(person.user.id) == 10


@pytest.mark.anyio
async def test_a_wrong_code_turns_nothing_on_and_the_setup_continues(person):
    await person.begin()

    assert await refusal_of(person.enable(person.code(STEP + 7))) == "invalid_code"
    assert not (await person.stored()).has_mfa
    assert await refusal_of(person.enable(person.code())) is None


@pytest.mark.anyio
async def test_without_a_setup_nothing_can_be_turned_on(person):
    assert await refusal_of(person.enable("123456")) == "mfa_not_pending"


@pytest.mark.anyio
async def test_a_setup_lasts_fifteen_minutes(person):
    await person.begin()
    late_ms = 15 * MINUTE_MS

    assert (
        await refusal_of(person.enable(person.code(step_at(NOW_MS + late_ms)), after_ms=late_ms)) == "mfa_not_pending"
    )
    in_time = step_at(NOW_MS + late_ms - 1)
    assert await refusal_of(person.enable(person.code(in_time), after_ms=late_ms - 1)) is None


@pytest.mark.anyio
async def test_a_second_setup_replaces_the_first(person):
    await person.begin()
    first = person.code()
    await person.begin()

    assert await refusal_of(person.enable(first)) == "invalid_code"
    assert await refusal_of(person.enable(person.code())) is None


@pytest.mark.anyio
async def test_what_is_on_can_be_neither_set_up_nor_turned_on_again(person):
    await person.turn_on()

    assert await refusal_of(person.begin()) == "mfa_already_enabled"
    assert await refusal_of(person.enable(person.code(STEP + 1))) == "mfa_already_enabled"


@pytest.mark.anyio
async def test_of_many_who_turn_it_on_at_once_one_succeeds(person):
    await person.begin()

    outcomes = await asyncio.gather(*(refusal_of(person.enable(person.code())) for _ in range(16)))

    assert outcomes.count(None) == 1
    assert outcomes.count("mfa_already_enabled") == 15
    assert await person.store.read.users.count_recovery_codes(person.user.id) == 10


@pytest.mark.anyio
async def test_the_code_that_turned_it_on_is_used_up(person):
    await person.turn_on()

    assert await refusal_of(person.spend(person.code())) == "invalid_code"
    assert await refusal_of(person.spend(person.code(STEP + 1))) is None


@pytest.mark.anyio
async def test_a_code_can_be_redeemed_once(person):
    await person.turn_on()
    after_ms = STEP_MS

    assert await refusal_of(person.spend(person.code(STEP + 1), after_ms=after_ms)) is None
    assert await refusal_of(person.spend(person.code(STEP + 1), after_ms=after_ms)) == "invalid_code"


@pytest.mark.anyio
async def test_of_many_who_spend_a_code_at_once_one_succeeds(person):
    await person.turn_on()
    code = person.code(STEP + 1)

    outcomes = await asyncio.gather(*(refusal_of(person.spend(code, after_ms=STEP_MS)) for _ in range(64)))

    assert outcomes.count(None) == 1
    assert outcomes.count("invalid_code") == 63


@pytest.mark.anyio
async def test_once_a_newer_code_was_spent_an_older_one_is_rejected(person):
    await person.turn_on()
    after_ms = 3 * STEP_MS

    assert await refusal_of(person.spend(person.code(STEP + 4), after_ms=after_ms)) is None
    assert await refusal_of(person.spend(person.code(STEP + 3), after_ms=after_ms)) == "invalid_code"
    assert await refusal_of(person.spend(person.code(STEP + 2), after_ms=after_ms)) == "invalid_code"


@pytest.mark.anyio
@pytest.mark.parametrize("code", ["", "000000", "abcdef", "12345", "\ud800"])
async def test_a_wrong_code_is_rejected(person, code):
    await person.turn_on()

    assert code != person.code(STEP + 1)
    assert await refusal_of(person.spend(code)) == "invalid_code"


@pytest.mark.anyio
async def test_each_recovery_code_can_be_redeemed_once(person):
    codes = await person.turn_on()

    for number, code in enumerate(codes):
        assert await person.store.read.users.count_recovery_codes(person.user.id) == 10 - number
        assert await refusal_of(person.spend(recovery_code=code)) is None
        assert await refusal_of(person.spend(recovery_code=code)) == "invalid_code"


@pytest.mark.anyio
async def test_a_recovery_code_may_be_typed_as_it_is_read(person):
    codes = await person.turn_on()
    misread = codes[2].replace("0", "O").replace("1", "l")

    assert await refusal_of(person.spend(recovery_code=codes[0].upper())) is None
    assert await refusal_of(person.spend(recovery_code=codes[1].replace("-", " "))) is None
    assert await refusal_of(person.spend(recovery_code=misread.replace("-", ""))) is None


@pytest.mark.anyio
async def test_a_recovery_code_is_the_users_own(person, bob):
    codes = await person.turn_on()
    other = Ann(person.store, bob)
    await other.turn_on()

    assert await refusal_of(other.spend(recovery_code=codes[0])) == "invalid_code"
    assert await refusal_of(person.spend(recovery_code=codes[0])) is None


@pytest.mark.anyio
async def test_a_code_is_no_recovery_code_and_the_other_way_round(person):
    codes = await person.turn_on()

    assert await refusal_of(person.spend(recovery_code=person.code(STEP + 1))) == "invalid_code"
    assert await refusal_of(person.spend(code=codes[0])) == "invalid_code"


@pytest.mark.anyio
async def test_where_it_is_not_on_no_code_is_right(person):
    await person.begin()

    assert await refusal_of(person.spend(person.code())) == "invalid_code"
    assert await refusal_of(person.spend(recovery_code=new_recovery_code())) == "invalid_code"


@pytest.mark.anyio
async def test_turning_it_off_discards_the_secret_and_the_recovery_codes(person):
    codes = await person.turn_on()

    await person.disable()

    stored = await person.stored()
    assert (stored.mfa_secret, stored.mfa_enabled_ms, stored.mfa_last_step) == (None, None, 0)
    assert await person.store.read.users.count_recovery_codes(person.user.id) == 0
    assert await refusal_of(person.spend(recovery_code=codes[0])) == "invalid_code"
    assert await refusal_of(person.disable()) == "mfa_not_enabled"


@pytest.mark.anyio
async def test_turned_on_again_only_the_new_codes_count(person):
    old = await person.turn_on()
    await person.disable()

    new = await person.turn_on()

    assert await refusal_of(person.spend(recovery_code=old[0])) == "invalid_code"
    assert await refusal_of(person.spend(recovery_code=new[0])) is None


@pytest.mark.anyio
async def test_another_root_secret_does_not_open_the_secret(person):
    await person.turn_on()
    person.factor = SecondFactor(Sealer(b"other root secret of 32 bytes...."))

    with pytest.raises(KeysUnreadable):
        await person.spend(person.code(STEP + 1))


def test_a_recovery_code_has_four_groups_of_four_and_80_bits():
    code = new_recovery_code()

    assert re.fullmatch(rf"[{ALPHABET}]{{4}}(-[{ALPHABET}]{{4}}){{3}}", code)
    assert len(set(ALPHABET)) == 32
    assert not set("ilou") & set(ALPHABET)


def test_recovery_codes_do_not_repeat_and_use_every_letter():
    codes = [new_recovery_code() for _ in range(2_000)]

    assert len(set(codes)) == 2_000
    assert set("".join(codes)) == set(ALPHABET) | {"-"}


def test_one_other_letter_is_another_code():
    assert recovery_digest("0000-0000-0000-0000") != recovery_digest("0000-0000-0000-0002")
    assert len(recovery_digest("0000-0000-0000-0000")) == 32
