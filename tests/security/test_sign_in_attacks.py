"""Attacks on sign-in from outside: guesses remain few, and no one can lock out another user (contract, section 4)."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from msgspec.structs import replace

from agentgate.lib.settings.schema import Settings
from agentgate.people.identity.operators import DELAY_S, DELAYED_AT_ONCE
from agentgate.people.identity.records import LinkKind
from tests.api.account.steps import (
    ACCOUNT,
    NEW_PASSWORD,
    begin_with_mfa,
    log_in,
    make_link,
    messages,
    next_code,
    refusal,
    turn_mfa_on,
    wrong_code,
)
from tests.support.api_client import ApiClient
from tests.support.cast import EMAILS, Cast, add_user, cast, sign_in
from tests.support.service import ADMIN_KEY, RunningService, running_service
from tests.support.tokens import ORIGIN, mint

VICTIM = EMAILS["alice"]
SITE = "site_own_form"

pytestmark = pytest.mark.parametrize("settings", ["sqlite"], indirect=True)


@pytest.fixture
def people(service: RunningService) -> Cast:
    return cast(service)


def guess(client: ApiClient, email: str, number: int) -> httpx.Response:
    return log_in(client, email, "wrong", headers={"X-Forwarded-For": f"198.51.{number // 250}.{number % 250}"})


def test_many_addresses_on_one_victim_stop_neither_her_device_nor_her_session(
    service: RunningService, people: Cast
) -> None:
    known = sign_in(service, VICTIM)
    known.post(f"{ACCOUNT}/logout")
    told = [guess(service.public, VICTIM, number) for number in range(24)]

    assert [reply.status_code for reply in told] == [401] * 20 + [429] * 4
    assert {reply.headers["retry-after"] for reply in told[20:]} == {"60"}
    # An unknown device with the right password gets 429, and is served from the same address a minute later.
    stranger = service.new_public_client()
    assert refusal(log_in(stranger)) == (429, "rate_limited")
    assert log_in(known).status_code == 200
    assert people.alice.get(f"{ACCOUNT}/session").status_code == 200
    changed = people.alice.post(f"{ACCOUNT}/password", json={"currentPassword": "wrong", "newPassword": NEW_PASSWORD})
    assert refusal(changed) == (403, "invalid_password")
    assert log_in(service.public, EMAILS["bob"]).status_code == 200
    service.clock.advance(seconds=60)
    assert log_in(stranger).status_code == 200


def test_an_email_that_no_one_has_is_attacked_and_handled_alike(service: RunningService, people: Cast) -> None:
    add_user(service, "ivy@acme.example", account_id=people.acme, invited=True)
    replies = {
        email: [guess(service.public, email, number) for number in range(22)]
        for email in (VICTIM, "ivy@acme.example", "nobody@acme.example")
    }

    told = {
        email: [(each.status_code, each.content, each.headers.get("retry-after")) for each in answers]
        for email, answers in replies.items()
    }

    assert told[VICTIM] == told["ivy@acme.example"] == told["nobody@acme.example"]


def test_a_flood_of_failures_stops_only_unknown_devices(service: RunningService, people: Cast) -> None:
    known = sign_in(service, VICTIM)
    for number in range(100):
        assert guess(service.public, f"nobody{number}@acme.example", number).status_code == 401

    assert refusal(log_in(service.new_public_client(), EMAILS["bob"])) == (429, "rate_limited")
    assert log_in(known).status_code == 200
    assert people.bob.get(f"{ACCOUNT}/session").status_code == 200


def test_guesses_at_the_victims_own_address_do_not_lock_her_device(service: RunningService, people: Cast) -> None:
    known = sign_in(service, VICTIM)
    statuses = [log_in(service.public, VICTIM, "wrong").status_code for _ in range(7)]

    assert statuses == [401] * 5 + [429] * 2
    assert log_in(known).status_code == 200


def test_a_stolen_device_cookie_buys_five_guesses(service: RunningService, people: Cast) -> None:
    known = sign_in(service, VICTIM)

    statuses = [guess(known, VICTIM, number).status_code for number in range(8)]

    assert statuses == [401] * 5 + [429] * 3
    # It was of one browser. Another known one is served.
    assert log_in(sign_in(service, VICTIM)).status_code == 200


def test_the_device_cookie_alone_opens_nothing(service: RunningService, people: Cast) -> None:
    known = sign_in(service, VICTIM)
    del known.cookies["ag_account"]

    assert refusal(known.get(f"{ACCOUNT}/session")) == (401, "unauthorized")
    assert refusal(log_in(known, VICTIM, "wrong")) == (401, "invalid_credentials")


def test_who_knows_the_password_cannot_keep_the_owner_from_using_codes(service: RunningService, people: Cast) -> None:
    authenticator, recovery_codes = turn_mfa_on(service, people.alice)
    wrong = wrong_code(service, authenticator)
    owner = begin_with_mfa(service, VICTIM)
    assert owner.post(f"{ACCOUNT}/login/mfa", json={"code": next_code(service, authenticator)}).status_code == 200
    tried = []
    for number in range(14):
        thief, headers = begin_with_mfa(service, VICTIM), {"X-Forwarded-For": f"192.0.2.{number}"}
        tried.append(thief.post(f"{ACCOUNT}/login/mfa", json={"code": wrong}, headers=headers).status_code)
    # The owner's own first code was one of the ten.
    assert tried == [401] * 9 + [429] * 5

    # The owner's own browser is served.
    assert log_in(owner).json() == {"mfaRequired": True}
    assert owner.post(f"{ACCOUNT}/login/mfa", json={"code": next_code(service, authenticator)}).status_code == 200
    # On a new device a recovery code is.
    new = begin_with_mfa(service, VICTIM)
    assert refusal(new.post(f"{ACCOUNT}/login/mfa", json={"code": wrong})) == (429, "rate_limited")
    assert new.post(f"{ACCOUNT}/login/mfa", json={"recoveryCode": recovery_codes[0]}).status_code == 200
    # And so is a code after a reset link, which also takes the password from the thief.
    other = service.new_public_client()
    link = make_link(service, LinkKind.RESET, people.user_ids["alice"])
    reset = other.post(f"{ACCOUNT}/password/reset", json={"token": link, "password": NEW_PASSWORD})
    assert reset.json() == {"mfaRequired": True}
    code = next_code(service, authenticator)
    assert other.post(f"{ACCOUNT}/login/mfa", json={"code": code}).status_code == 200


def test_a_flood_of_forgotten_passwords_does_not_stop_known_devices(service: RunningService, people: Cast) -> None:
    known = sign_in(service, VICTIM)

    def forgot(client: ApiClient, email: str, number: int) -> httpx.Response:
        headers = {"X-Forwarded-For": f"198.51.{number // 250}.{number % 250}"}
        return client.post(f"{ACCOUNT}/password/forgot", json={"email": email}, headers=headers)

    # Three messages an hour to her are all that strangers can ask for.
    statuses = [forgot(service.public, VICTIM, number).status_code for number in range(10)]
    assert statuses == [202] * 10
    assert len(messages(service)) == 3
    flood = [forgot(service.public, f"nobody{number}@acme.example", number).status_code for number in range(100)]
    assert (flood.count(202), flood.count(429)) == (90, 10)
    assert forgot(known, VICTIM, 0).status_code == 202
    assert len(messages(service)) == 4
    stranger = forgot(service.new_public_client(), EMAILS["bob"], 4_000)
    assert (refusal(stranger), stranger.headers["retry-after"]) == ((429, "rate_limited"), "60")
    service.clock.advance(seconds=60)
    assert forgot(service.new_public_client(), EMAILS["bob"], 4_000).status_code == 202


def test_during_an_attack_the_browser_check_lets_an_unknown_device_in(settings: Settings) -> None:
    with running_service(replace(settings, access_site_key=SITE)) as service:
        cast(service)
        actions = {name: {"browserRequired": True} for name in ("sign_in", "login")}
        body = {"name": "Own", "siteKey": SITE, "allowedOrigins": [ORIGIN], "actions": actions}
        assert service.operator.post("/v1/admin/sites", json=body).status_code == 201
        service.run(asyncio.sleep(0.7))
        for number in range(20):
            guess(service.public, VICTIM, number)

        def log_in_with(token: str | None) -> httpx.Response:
            login = {"email": VICTIM, "password": "seven purple bicycles hum"}
            sent = login if token is None else {**login, "token": token}
            return service.new_public_client().post(f"{ACCOUNT}/login", json=sent)

        def token(action: str) -> str:
            return mint(service.application.signing_keys, SITE, now_ms=service.clock.now_ms(), action=action)

        refused = log_in_with(None)
        assert refused.json()["browserCheck"] == {"siteKey": SITE, "action": "sign_in"}
        assert refusal(log_in_with(token("login"))) == (429, "rate_limited")
        good = token("sign_in")
        assert log_in_with(good).status_code == 200
        assert refusal(log_in_with(good)) == (429, "rate_limited")


def test_guesses_that_are_sent_at_once_are_stopped_by_the_second_look(service: RunningService, people: Cast) -> None:
    """All pass the first look, as none has failed yet; the right one among them must not come through late."""
    clients = [service.new_public_client() for _ in range(20)]
    with ThreadPoolExecutor(len(clients)) as pool:
        statuses = list(pool.map(lambda client: log_in(client, VICTIM, "wrong").status_code, clients))

    # Two are hashed at a time, so that at most one more than the five is under way when the fifth has failed.
    assert statuses.count(401) <= 6
    assert set(statuses) == {401, 429}


def test_the_operator_gets_in_during_a_flood_of_wrong_keys(service: RunningService, people: Cast) -> None:
    """From everywhere, and from the operator's own address; and the delays are bounded."""

    def wrong(number: int) -> int:
        headers = {"X-Admin-Key": f"wrong{number}", "X-Forwarded-For": f"198.51.{number // 250}.{number % 250}"}
        if number % 2:
            headers.pop("X-Forwarded-For")
        return httpx.get(f"{service.admin_url}/v1/admin/session", headers=headers, trust_env=False).status_code

    with ThreadPoolExecutor(16) as pool:
        flood = pool.map(wrong, range(120))
        for _ in range(5):
            assert service.operator.get("/v1/admin/session").status_code == 200
        signed_in = service.new_client().post("/v1/admin/login", json={"key": ADMIN_KEY})
        statuses = list(flood)

    assert signed_in.status_code == 200
    assert set(statuses) == {401, 429}
    assert people.olga.get("/v1/admin/session").status_code == 200


def test_no_more_than_a_limited_number_of_wrong_keys_wait_at_once(service: RunningService) -> None:
    for _ in range(5):
        service.anonymous.get("/v1/admin/session", headers={"X-Admin-Key": "wrong"})

    def took(_: int) -> float:
        with httpx.Client(trust_env=False) as client:
            started = time.monotonic()
            client.get(f"{service.admin_url}/v1/admin/session", headers={"X-Admin-Key": "wrong"})
            return time.monotonic() - started

    with ThreadPoolExecutor(DELAYED_AT_ONCE + 16) as pool:
        times = sorted(pool.map(took, range(DELAYED_AT_ONCE + 16)))

    assert times[-1] >= DELAY_S
    assert sum(each >= DELAY_S for each in times) >= DELAYED_AT_ONCE
