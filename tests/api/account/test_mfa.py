"""Two-factor authentication: set up, asked for at sign-in, turned off. No code works twice, no pre-session too much."""

from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qs, urlsplit

import pyotp
import pytest
from msgspec.structs import replace

from agentgate.people.accounts.repository import AccountStores
from tests.api.account.steps import (
    ACCOUNT,
    begin_with_mfa,
    code_now,
    log_in,
    next_code,
    refusal,
    trail,
    turn_mfa_on,
    wrong_code,
)
from tests.support.cast import EMAILS, PASSWORD, Cast, cast
from tests.support.service import RunningService

FINISH = f"{ACCOUNT}/login/mfa"


@pytest.fixture
def people(service: RunningService) -> Cast:
    return cast(service)


def require_mfa(service: RunningService, account_id: str) -> None:
    async def work(stores: AccountStores) -> None:
        account = await stores.accounts.find_account(account_id)
        assert account is not None
        await stores.accounts.save_account(replace(account, require_mfa=True))

    service.run(service.application.stores.store.change(work))


def test_setting_up_and_turning_on_gives_ten_recovery_codes_once(service: RunningService, people: Cast) -> None:
    alice = people.alice
    off = {
        "enabled": False,
        "authenticator": False,
        "passkeys": [],
        "pending": False,
        "requiredByAccount": False,
        "recoveryCodesLeft": 0,
    }
    assert alice.get(f"{ACCOUNT}/mfa").json() == off
    assert refusal(alice.post(f"{ACCOUNT}/mfa/enable", json={"code": "123456"})) == (409, "mfa_not_pending")

    setup = alice.post(f"{ACCOUNT}/mfa/setup").json()
    url = urlsplit(setup["otpauthUrl"])
    assert (url.scheme, url.netloc) == ("otpauth", "totp")
    assert parse_qs(url.query)["secret"] == [setup["secret"]]
    assert alice.get(f"{ACCOUNT}/mfa").json() == {**off, "pending": True}

    authenticator = pyotp.TOTP(setup["secret"])
    wrong = alice.post(f"{ACCOUNT}/mfa/enable", json={"code": wrong_code(service, authenticator)})
    assert refusal(wrong) == (401, "invalid_code")
    codes = alice.post(f"{ACCOUNT}/mfa/enable", json={"code": code_now(service, authenticator)}).json()

    assert len(set(codes["recoveryCodes"])) == 10
    assert alice.get(f"{ACCOUNT}/mfa").json() == {
        **off,
        "enabled": True,
        "authenticator": True,
        "recoveryCodesLeft": 10,
    }
    assert refusal(alice.post(f"{ACCOUNT}/mfa/setup")) == (409, "mfa_already_enabled")
    assert refusal(alice.post(f"{ACCOUNT}/mfa/enable", json={"code": "123456"})) == (409, "mfa_already_enabled")
    assert trail(service)[-1][:3] == (EMAILS["alice"], "user.mfa_on", people.acme)


def test_a_setup_that_is_not_finished_in_time_is_void(service: RunningService, people: Cast) -> None:
    authenticator = pyotp.TOTP(people.alice.post(f"{ACCOUNT}/mfa/setup").json()["secret"])
    service.clock.advance(seconds=900)

    reply = people.alice.post(f"{ACCOUNT}/mfa/enable", json={"code": code_now(service, authenticator)})

    assert refusal(reply) == (409, "mfa_not_pending")


def test_signing_in_takes_password_and_code_and_changes_the_cookie(service: RunningService, people: Cast) -> None:
    authenticator, _ = turn_mfa_on(service, people.alice)
    client = begin_with_mfa(service, EMAILS["alice"])
    before = client.cookies["ag_account"]

    reply = client.post(FINISH, json={"code": next_code(service, authenticator)})

    assert reply.status_code == 200
    assert reply.json()["user"]["mfaEnabled"] is True
    assert reply.json()["account"]["id"] == people.acme
    assert client.cookies["ag_account"] != before
    assert client.get(f"{ACCOUNT}/session").json() == reply.json()
    old = service.new_public_client().post(FINISH, json={"code": "1"}, headers={"Cookie": f"ag_account={before}"})
    assert refusal(old) == (401, "session_expired")
    client.headers["X-CSRF-Token"] = reply.json()["csrfToken"]
    assert refusal(client.post(FINISH, json={"code": "123456"})) == (409, "invalid_state")
    assert [entry[4] for entry in trail(service) if entry[1] == "signin.success"][-1] == {"method": "code"}


def test_a_pre_session_opens_nothing_and_lasts_five_minutes(service: RunningService, people: Cast) -> None:
    authenticator, _ = turn_mfa_on(service, people.alice)
    client = begin_with_mfa(service, EMAILS["alice"])

    for path in (f"{ACCOUNT}/session", f"{ACCOUNT}/mfa", f"{ACCOUNT}/sessions", "/v1/console/account"):
        assert refusal(client.get(path)) == (401, "mfa_required")
    for path in ("switch", "accounts", "mfa/disable", "mfa/setup", "password", "sessions/revoke-others"):
        assert refusal(client.post(f"{ACCOUNT}/{path}", json={})) == (401, "mfa_required")
    assert len(people.alice.get(f"{ACCOUNT}/sessions").json()["items"]) == 1

    service.clock.advance(seconds=300)

    late = client.post(FINISH, json={"code": code_now(service, authenticator)})
    assert refusal(late) == (401, "session_expired")


def test_a_pre_session_can_be_given_up(service: RunningService, people: Cast) -> None:
    authenticator, _ = turn_mfa_on(service, people.alice)
    client = begin_with_mfa(service, EMAILS["alice"])
    cookie = client.cookies["ag_account"]

    assert client.post(f"{ACCOUNT}/logout").status_code == 204

    reply = service.new_public_client().post(
        FINISH, json={"code": next_code(service, authenticator)}, headers={"Cookie": f"ag_account={cookie}"}
    )
    assert refusal(reply) == (401, "session_expired")


def test_a_code_works_once_and_none_older_than_it(service: RunningService, people: Cast) -> None:
    authenticator, _ = turn_mfa_on(service, people.alice)
    enrollment = code_now(service, authenticator)
    assert refusal(begin_with_mfa(service, EMAILS["alice"]).post(FINISH, json={"code": enrollment})) == (
        401,
        "invalid_code",
    )
    code = next_code(service, authenticator)
    assert begin_with_mfa(service, EMAILS["alice"]).post(FINISH, json={"code": code}).status_code == 200

    again = begin_with_mfa(service, EMAILS["alice"])

    for used in (code, enrollment):
        assert refusal(again.post(FINISH, json={"code": used})) == (401, "invalid_code")
    failures = [entry for entry in trail(service) if entry[1] == "signin.failure"]
    assert {(entry[0], entry[2], str(entry[4])) for entry in failures} == {
        (EMAILS["alice"], people.acme, "{'method': 'code'}")
    }


def test_of_many_who_send_the_same_code_at_once_one_signs_in(service: RunningService, people: Cast) -> None:
    authenticator, _ = turn_mfa_on(service, people.alice)
    clients = [begin_with_mfa(service, EMAILS["alice"]) for _ in range(5)]
    code = next_code(service, authenticator)

    with ThreadPoolExecutor(5) as pool:
        replies = list(pool.map(lambda client: client.post(FINISH, json={"code": code}), clients))

    assert sorted(reply.status_code for reply in replies) == [200, 401, 401, 401, 401]


def test_a_recovery_code_works_once_however_it_is_typed(service: RunningService, people: Cast) -> None:
    _, recovery_codes = turn_mfa_on(service, people.alice)
    typed = recovery_codes[0].upper().replace("-", " ")

    first = begin_with_mfa(service, EMAILS["alice"]).post(FINISH, json={"recoveryCode": typed})
    second = begin_with_mfa(service, EMAILS["alice"]).post(FINISH, json={"recoveryCode": recovery_codes[0]})

    assert first.status_code == 200
    assert refusal(second) == (401, "invalid_code")
    assert people.alice.get(f"{ACCOUNT}/mfa").json()["recoveryCodesLeft"] == 9


@pytest.mark.parametrize("body", [{}, {"code": "123456", "recoveryCode": "x"}, {"code": 123456}, {"code": None}])
def test_exactly_one_kind_of_code_must_be_sent(service: RunningService, people: Cast, body: dict[str, object]) -> None:
    turn_mfa_on(service, people.alice)

    assert refusal(begin_with_mfa(service, EMAILS["alice"]).post(FINISH, json=body)) == (400, "invalid_request")


def test_five_wrong_codes_from_one_address_lock_it_and_ten_all_unknown_devices(
    service: RunningService, people: Cast
) -> None:
    authenticator, _ = turn_mfa_on(service, people.alice)
    wrong = wrong_code(service, authenticator)
    for number in range(10):
        client = begin_with_mfa(service, EMAILS["alice"])
        headers = {"X-Forwarded-For": f"192.0.2.{number // 5}"}
        assert refusal(client.post(FINISH, json={"code": wrong}, headers=headers)) == (401, "invalid_code")
        service.clock.advance(seconds=1)

    again = client.post(FINISH, json={"code": wrong}, headers={"X-Forwarded-For": "192.0.2.1"})
    locked = begin_with_mfa(service, EMAILS["alice"]).post(FINISH, json={"code": next_code(service, authenticator)})

    assert refusal(again) == (429, "rate_limited")
    assert refusal(locked) == (429, "rate_limited")
    assert 1 <= int(locked.headers["retry-after"]) <= 900
    service.clock.advance(seconds=900)
    client = begin_with_mfa(service, EMAILS["alice"])
    assert client.post(FINISH, json={"code": code_now(service, authenticator)}).status_code == 200


# On one store only: on a busy machine Redis may respond late. Local counting then replaces it, and both counters apply.
@pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
def test_guesses_sent_all_at_once_get_no_more_attempts_than_one_after_the_other(
    service: RunningService, people: Cast
) -> None:
    authenticator, _ = turn_mfa_on(service, people.alice)
    clients = [begin_with_mfa(service, EMAILS["alice"]) for _ in range(4)]
    wrong = wrong_code(service, authenticator)

    def guess(number: int) -> int:
        return clients[number % 4].post(FINISH, json={"code": wrong}).status_code

    with ThreadPoolExecutor(12) as pool:
        statuses = list(pool.map(guess, range(24)))

    assert statuses.count(401) == 5
    assert statuses.count(429) == 19


def test_a_pre_session_gets_five_attempts_whatever_the_windows_say(service: RunningService, people: Cast) -> None:
    authenticator, _ = turn_mfa_on(service, people.alice)
    # Shortly before the end of a 15-minute window, so that a new window begins while the pre-session is valid.
    service.clock.advance(ms=15 * 60_000 - service.clock.now_ms() % (15 * 60_000) - 60_000)
    client = begin_with_mfa(service, EMAILS["alice"])
    for _ in range(4):
        assert refusal(client.post(FINISH, json={"code": wrong_code(service, authenticator)})) == (401, "invalid_code")
    service.clock.advance(seconds=120)
    assert refusal(client.post(FINISH, json={"code": wrong_code(service, authenticator)})) == (401, "invalid_code")

    sixth = client.post(FINISH, json={"code": code_now(service, authenticator)})

    assert refusal(sixth) == (401, "session_expired")


def test_a_right_password_alone_does_not_clear_the_count_of_wrong_ones(service: RunningService, people: Cast) -> None:
    turn_mfa_on(service, people.alice)
    for _ in range(4):
        assert log_in(service.public, password="wrong").status_code == 401
    assert log_in(service.public).json() == {"mfaRequired": True}
    assert log_in(service.public, password="wrong").status_code == 401

    assert refusal(log_in(service.public)) == (429, "rate_limited")


def test_turning_off_takes_password_and_code(service: RunningService, people: Cast) -> None:
    path = f"{ACCOUNT}/mfa/disable"
    assert refusal(people.alice.post(path, json={"password": PASSWORD, "code": "123456"})) == (409, "mfa_not_enabled")
    authenticator, recovery_codes = turn_mfa_on(service, people.alice)
    code = next_code(service, authenticator)

    assert refusal(people.alice.post(path, json={"password": PASSWORD})) == (400, "invalid_request")
    assert refusal(people.alice.post(path, json={"password": "wrong", "code": code})) == (403, "invalid_password")
    wrong = {"password": PASSWORD, "code": wrong_code(service, authenticator)}
    assert refusal(people.alice.post(path, json=wrong)) == (401, "invalid_code")
    assert people.alice.get(f"{ACCOUNT}/mfa").json()["enabled"] is True

    assert people.alice.post(path, json={"password": PASSWORD, "code": code}).status_code == 204

    assert people.alice.get(f"{ACCOUNT}/mfa").json()["recoveryCodesLeft"] == 0
    assert trail(service)[-1][:3] == (EMAILS["alice"], "user.mfa_off", people.acme)
    assert "csrfToken" in log_in(service.new_public_client()).json()
    again = people.alice.post(path, json={"password": PASSWORD, "recoveryCode": recovery_codes[0]})
    assert refusal(again) == (409, "mfa_not_enabled")


def test_an_account_that_requires_it_keeps_it_on_and_others_out(service: RunningService, people: Cast) -> None:
    _, recovery_codes = turn_mfa_on(service, people.alice)
    require_mfa(service, people.acme)

    off = people.alice.post(f"{ACCOUNT}/mfa/disable", json={"password": PASSWORD, "recoveryCode": recovery_codes[0]})

    assert refusal(off) == (409, "mfa_required_by_account")
    assert people.alice.get(f"{ACCOUNT}/mfa").json()["requiredByAccount"] is True
    assert people.alice.get("/v1/console/account").status_code == 200
    assert refusal(people.bob.get("/v1/console/account")) == (403, "mfa_setup_required")
    assert people.bob.get(f"{ACCOUNT}/session").json()["account"]["requireMfa"] is True
    turn_mfa_on(service, people.bob)
    assert people.bob.get("/v1/console/account").status_code == 200


def test_a_reset_by_an_operator_ends_a_sign_in_that_waits_for_a_code(service: RunningService, people: Cast) -> None:
    authenticator, _ = turn_mfa_on(service, people.alice)
    client = begin_with_mfa(service, EMAILS["alice"])
    service.run(
        service.application.stores.store.change(lambda stores: stores.users.disable_mfa(people.user_ids["alice"]))
    )

    reply = client.post(FINISH, json={"code": next_code(service, authenticator)})

    assert refusal(reply) == (401, "session_expired")
