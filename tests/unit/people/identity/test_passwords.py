"""Which passwords are good enough, and how they are hashed."""

import asyncio
import threading
import unicodedata
from importlib import resources

import argon2
import pytest

from agentgate.lib.errors import Refused
from agentgate.people.identity.passwords import DUMMY_HASH, Passwords, read_known_passwords

EMAIL = "annabel@example.com"
GOOD = "seven purple bicycles hum"


@pytest.fixture(scope="module")
def passwords():
    made = Passwords()
    yield made
    made.close()


@pytest.mark.parametrize(
    "password",
    [
        GOOD,
        "xkqzvwbnmtrl",
        "Tr4!nL0ud&Mug",
        "correct horse staple battery",
        "aaaaaaaaaaab",
        "x" * 64 + "y" * 64,
        "übergrößenträger",
        "пароль для входа",
        "密码一二三四五六七八九十甲",
        "🐙🐙🦑🦀🐡🐠🐟🐬🐳🐋🦈🐊",
        "48!0#7&3%6*1?",
        # Adjacent words of the list are several words.
        "dragonsunshine",
        # Only a password that contains the exact name before the @ is rejected.
        "anna bella ciao!",
    ],
)
def test_a_password_that_is_hard_to_guess_passes(passwords, password):
    passwords.check_password(password, email=EMAIL)


@pytest.mark.parametrize(
    ("password", "why"),
    [
        ("", "0 characters"),
        ("xkqzvwbnmtr", "11 characters"),
        ("x" * 64 + "y" * 65, "129 characters"),
        ("x" * 100_000, "100000 characters"),
        # Eleven letters, each written as letter and accent: composed, they are eleven.
        ("u\u0308o\u0308a\u0308e\u0308i\u0308u\u0308o\u0308a\u0308e\u0308i\u0308z", "11 characters"),
        ("qwertyuiop[]", "common"),
        ("passwordpassword", "common"),
        ("PassWordPASSWORD", "common"),
        ("password1234", "common"),
        ("Password123!", "common"),
        ("!!!!password", "common"),
        ("1234password1234", "common"),
        ("password1password1", "common"),
        ("Dragon 2024!!", "common"),
        ("international", "common"),
        ("International1", "common"),
        ("agentgate2026", "common"),
        ("AgentGateAgentGate", "common"),
        ("monkeymonkeymonkey", "common"),
        ("123456789012", "common"),
        ("849302758201", "common"),
        ("+49 170 1234567", "common"),
        ("2024-01-31 23:59".replace(":", "."), "common"),
        ("aaaaaaaaaaaa", "common"),
        ("abababababab", "common"),
        ("xyzxyzxyzxyz", "common"),
        ("!!!!!!!!!!!!", "common"),
        ("                ", "common"),
        ("my name is annabel", "email"),
        ("MY-ANNABEL-4711-x", "email"),
        ("annabel@example.com", "email"),
        ("valid until \ud800 here", "Unicode"),
    ],
)
def test_a_password_that_is_easy_to_guess_is_rejected_with_the_reason(passwords, password, why):
    with pytest.raises(Refused) as refused:
        passwords.check_password(password, email=EMAIL)

    assert refused.value.code == "weak_password"
    assert why in refused.value.message
    assert "Use " in refused.value.message


def test_a_name_of_two_letters_may_be_in_a_password(passwords):
    passwords.check_password(GOOD, email="se@example.com")


def test_composed_and_decomposed_letters_count_the_same(passwords):
    passwords.check_password("u\u0308" * 3 + "xkqzvwbnm", email=EMAIL)


def test_a_hangul_password_of_the_greatest_length_passes_however_it_is_typed(passwords):
    composed = "".join(chr(0xAC01 + (number * 37) % 11_000) for number in range(128))
    decomposed = unicodedata.normalize("NFD", composed)

    assert len(decomposed) > 2 * len(composed)
    passwords.check_password(composed, email=EMAIL)
    passwords.check_password(decomposed, email=EMAIL)


def test_the_list_is_long_plain_and_of_one_case():
    listed = read_known_passwords()
    lines = (
        resources.files("agentgate.people.identity").joinpath("common_passwords.txt").read_text("utf-8").splitlines()
    )

    assert len(listed) == len(lines) >= 10_000
    assert all(entry.isascii() and entry == entry.lower() and not set(entry) & set(" \t\r") for entry in listed)
    assert lines == sorted(lines)


@pytest.mark.anyio
async def test_a_right_password_is_verified_and_a_wrong_one_is_not(passwords):
    made = await passwords.hash(GOOD)

    assert await passwords.verify(made, GOOD) is True
    assert await passwords.verify(made, GOOD + ".") is False
    assert await passwords.verify(made, GOOD.upper()) is False
    assert await passwords.verify(made, "") is False


@pytest.mark.anyio
async def test_two_hashes_of_one_password_differ_and_are_argon2id_as_promised(passwords):
    first, second = await asyncio.gather(passwords.hash(GOOD), passwords.hash(GOOD))

    assert first != second
    assert first.startswith("$argon2id$v=19$m=19456,t=2,p=1$")


@pytest.mark.anyio
async def test_nothing_of_a_long_password_is_cut_off(passwords):
    made = await passwords.hash("x" * 127 + "y")

    assert await passwords.verify(made, "x" * 127 + "z") is False
    assert await passwords.verify(made, "x" * 127 + "y") is True


@pytest.mark.anyio
async def test_nothing_behind_a_nul_is_cut_off(passwords):
    made = await passwords.hash("before\0behind the nul")

    assert await passwords.verify(made, "before\0something else") is False


@pytest.mark.anyio
async def test_the_same_letters_are_the_same_password_however_they_are_composed(passwords):
    made = await passwords.hash("gru\u0308ne wiesen im mai")

    assert await passwords.verify(made, "gr\u00fcne wiesen im mai") is True


@pytest.mark.anyio
async def test_without_a_hash_no_password_is_right(passwords):
    assert await passwords.verify(None, GOOD) is False
    assert await passwords.verify(None, "") is False


@pytest.mark.anyio
async def test_without_a_hash_the_work_matches_a_real_one(passwords):
    real = argon2.extract_parameters(await passwords.hash(GOOD))

    assert argon2.extract_parameters(DUMMY_HASH) == real


@pytest.mark.anyio
async def test_what_is_far_too_long_is_wrong_and_not_an_error(passwords):
    made = await passwords.hash(GOOD)

    assert await passwords.verify(made, "u\u0308" * 100_000) is False
    assert await passwords.verify(made, "\ud800") is False


@pytest.mark.anyio
async def test_a_hash_with_older_parameters_still_verifies_and_is_to_be_made_again(passwords):
    older = argon2.PasswordHasher(time_cost=1, memory_cost=64, parallelism=1).hash(GOOD)

    assert await passwords.verify(older, GOOD) is True
    assert passwords.needs_rehash(older) is True
    assert passwords.needs_rehash(await passwords.hash(GOOD)) is False


@pytest.mark.anyio
async def test_two_are_hashed_at_once_twenty_wait_and_one_more_is_rejected(passwords):
    outcomes = await asyncio.gather(*(passwords.verify(None, GOOD) for _ in range(23)), return_exceptions=True)

    refused = [outcome for outcome in outcomes if isinstance(outcome, Refused)]
    assert [outcome for outcome in outcomes if outcome is False] == [False] * 22
    assert [(one.code, dict(one.headers)) for one in refused] == [("rate_limited", {"retry-after": "1"})]
    assert len([thread for thread in threading.enumerate() if thread.name.startswith("password")]) == 2
    # Once they are done there is room again.
    assert await passwords.verify(None, GOOD) is False


@pytest.mark.anyio
async def test_known_devices_and_new_passwords_have_room_while_strangers_fill_theirs(passwords):
    strangers = [asyncio.ensure_future(passwords.verify(None, GOOD)) for _ in range(22)]
    await asyncio.sleep(0)

    with pytest.raises(Refused):
        await passwords.verify(None, GOOD)
    made = await passwords.hash(GOOD)

    assert await passwords.verify(made, GOOD, known=True) is True
    await asyncio.gather(*strangers)


@pytest.mark.anyio
async def test_a_caller_that_gives_up_leaves_its_place(passwords):
    waiting = [asyncio.ensure_future(passwords.verify(None, GOOD)) for _ in range(22)]
    await asyncio.sleep(0)
    for one in waiting:
        one.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)

    assert await passwords.verify(None, GOOD) is False
