"""Passkeys as second factor: added, used, removed, and everything that must not pass for one."""

import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from tests.api.account.steps import (
    ACCOUNT,
    NEW_PASSWORD,
    begin_with_mfa,
    link_in,
    log_in,
    messages,
    next_code,
    refusal,
    trail,
    turn_mfa_on,
)
from tests.support.api_client import ApiClient
from tests.support.cast import EMAILS, PASSWORD, Cast, cast
from tests.support.passkey import PASSKEYS, PRESENT, VERIFIED, Authenticator, PrivateKey, challenge_of, origin_of
from tests.support.service import RunningService

FINISH = f"{ACCOUNT}/login/mfa"
RSA_2048 = rsa.generate_private_key(65537, 2048)


@pytest.fixture
def people(service: RunningService) -> Cast:
    return cast(service)


def add(holder: ApiClient, authenticator: Authenticator, *, password: str = PASSWORD, **forged: Any) -> Any:
    """Register a passkey; return the response."""
    made = authenticator.registration(challenge_of(holder), **forged)
    return holder.post(PASSKEYS, json={"name": "Laptop", "password": password, **made})


def register(client: ApiClient, key: PrivateKey | None = None) -> Authenticator:
    """Register a passkey; return its authenticator."""
    authenticator = Authenticator(origin_of(client), key)
    reply = add(client, authenticator)
    assert reply.status_code == 201, reply.text
    return authenticator


def sign_in(begun: ApiClient, authenticator: Authenticator, **forged: Any) -> Any:
    """Send the second step of a sign-in."""
    return begun.post(FINISH, json={"passkey": authenticator.assertion(challenge_of(begun), **forged)})


def test_a_first_passkey_turns_two_factor_authentication_on_and_gives_recovery_codes_once(
    service: RunningService, people: Cast
) -> None:
    alice = people.alice

    first = add(alice, Authenticator(origin_of(alice))).json()
    second = add(alice, Authenticator(origin_of(alice))).json()

    assert len(set(first["recoveryCodes"])) == 10
    assert "recoveryCodes" not in second
    state = alice.get(f"{ACCOUNT}/mfa").json()
    assert (state["enabled"], state["authenticator"], state["recoveryCodesLeft"]) == (True, False, 10)
    assert [each["name"] for each in state["passkeys"]] == ["Laptop", "Laptop"]
    assert alice.get(f"{ACCOUNT}/session").json()["user"]["mfaEnabled"] is True
    entry = trail(service)[-1]
    assert (entry[0], entry[1], entry[2], entry[4]) == (
        EMAILS["alice"],
        "user.passkey_add",
        people.acme,
        {"name": "Laptop"},
    )
    assert messages(service)[0]["subject"] == "A passkey was added to your AgentGate user"


@pytest.mark.parametrize(
    "key",
    [ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate(), RSA_2048],
    ids=["ES256", "EdDSA", "RS256"],
)
def test_password_and_passkey_sign_in(service: RunningService, people: Cast, key: PrivateKey) -> None:
    authenticator = register(people.alice, key)
    client = begin_with_mfa(service, EMAILS["alice"])

    reply = sign_in(client, authenticator)

    assert reply.status_code == 200
    assert reply.json()["user"]["mfaEnabled"] is True
    assert "lastUsedAt" in people.alice.get(f"{ACCOUNT}/mfa").json()["passkeys"][0]
    assert [entry[4] for entry in trail(service) if entry[1] == "signin.success"][-1] == {"method": "passkey"}


def test_a_recovery_code_replaces_a_lost_passkey(service: RunningService, people: Cast) -> None:
    codes = add(people.alice, Authenticator(origin_of(people.alice))).json()["recoveryCodes"]

    reply = begin_with_mfa(service, EMAILS["alice"]).post(FINISH, json={"recoveryCode": codes[0]})
    code = begin_with_mfa(service, EMAILS["alice"]).post(FINISH, json={"code": "123456"})

    assert reply.status_code == 200
    assert refusal(code) == (401, "invalid_code")


def test_an_authenticator_app_can_be_added_to_a_passkey_and_both_sign_in(service: RunningService, people: Cast) -> None:
    passkey = register(people.alice)

    app, codes = turn_mfa_on(service, people.alice)

    assert len(codes) == 10
    assert sign_in(begin_with_mfa(service, EMAILS["alice"]), passkey).status_code == 200
    by_code = begin_with_mfa(service, EMAILS["alice"]).post(FINISH, json={"code": next_code(service, app)})
    assert by_code.status_code == 200


def test_a_passkey_is_enough_for_an_account_that_requires_two_factors(service: RunningService, people: Cast) -> None:
    register(people.alice)
    assert people.alice.patch("/v1/console/account", json={"requireMfa": True}).status_code == 200

    assert people.alice.get("/v1/console/account").status_code == 200
    assert refusal(people.bob.get("/v1/console/account")) == (403, "mfa_setup_required")
    register(people.bob)
    assert people.bob.get("/v1/console/account").status_code == 200


# Attackers with a session


def test_a_stolen_session_adds_and_removes_no_passkey_without_the_password(
    service: RunningService, people: Cast
) -> None:
    turn_mfa_on(service, people.alice)
    register(people.alice)
    passkey_id = people.alice.get(f"{ACCOUNT}/mfa").json()["passkeys"][0]["id"]

    added = add(people.alice, Authenticator(origin_of(people.alice)), password="guess")
    removed = people.alice.post(f"{PASSKEYS}/{passkey_id}/remove", json={"password": "guess"})

    assert refusal(added) == refusal(removed) == (403, "invalid_password")
    assert len(people.alice.get(f"{ACCOUNT}/mfa").json()["passkeys"]) == 1


def test_a_session_that_lacks_its_second_factor_adds_no_passkey(service: RunningService, people: Cast) -> None:
    register(people.alice)
    client = begin_with_mfa(service, EMAILS["alice"])

    assert refusal(add(client, Authenticator(origin_of(client)))) == (401, "mfa_required")


def test_the_last_second_factor_takes_password_and_proof_to_turn_off(service: RunningService, people: Cast) -> None:
    alice, off = people.alice, f"{ACCOUNT}/mfa/disable"
    authenticator = register(alice)
    passkey_id = alice.get(f"{ACCOUNT}/mfa").json()["passkeys"][0]["id"]

    assert refusal(alice.post(f"{PASSKEYS}/{passkey_id}/remove", json={"password": PASSWORD})) == (409, "invalid_state")
    wrong = {"password": "guess", "passkey": authenticator.assertion(challenge_of(alice))}
    assert refusal(alice.post(off, json=wrong)) == (403, "invalid_password")
    foreign = {"password": PASSWORD, "passkey": Authenticator(origin_of(alice)).assertion(challenge_of(alice))}
    assert refusal(alice.post(off, json=foreign)) == (401, "invalid_code")
    right = {"password": PASSWORD, "passkey": authenticator.assertion(challenge_of(alice))}
    assert alice.post(off, json=right).status_code == 204

    state = alice.get(f"{ACCOUNT}/mfa").json()
    assert (state["enabled"], state["passkeys"], state["recoveryCodesLeft"]) == (False, [], 0)
    assert "csrfToken" in log_in(service.new_public_client()).json()


def test_a_passkey_is_removed_with_the_password_if_another_factor_is_left(
    service: RunningService, people: Cast
) -> None:
    lost = register(people.alice)
    (passkey,) = people.alice.get(f"{ACCOUNT}/mfa").json()["passkeys"]
    kept = register(people.alice)
    path = f"{PASSKEYS}/{passkey['id']}/remove"

    assert refusal(people.bob.post(path, json={"password": PASSWORD})) == (404, "not_found")
    assert people.alice.post(path, json={"password": PASSWORD}).status_code == 204

    assert trail(service)[-1][:3] == (EMAILS["alice"], "user.passkey_remove", people.acme)
    assert "A passkey was removed from your AgentGate user" in {each["subject"] for each in messages(service)}
    assert refusal(sign_in(begin_with_mfa(service, EMAILS["alice"]), lost)) == (401, "invalid_code")
    assert sign_in(begin_with_mfa(service, EMAILS["alice"]), kept).status_code == 200


def test_a_password_reset_keeps_passkeys(service: RunningService, people: Cast) -> None:
    authenticator = register(people.alice)
    assert service.public.post(f"{ACCOUNT}/password/forgot", json={"email": EMAILS["alice"]}).status_code == 202
    found = next(each for each in messages(service) if each["kind"] == "reset")
    client = service.new_public_client()

    reply = client.post(f"{ACCOUNT}/password/reset", json={"token": link_in(found)[1], "password": NEW_PASSWORD})

    assert reply.json() == {"mfaRequired": True}
    assert sign_in(client, authenticator).status_code == 200


def test_an_operator_resets_passkeys_too(service: RunningService, people: Cast) -> None:
    register(people.alice)

    user_id = people.user_ids["alice"]
    assert service.operator.post(f"/v1/admin/users/{user_id}/mfa/reset").status_code == 200

    assert people.alice.get(f"{ACCOUNT}/mfa").json()["passkeys"] == []
    assert "csrfToken" in log_in(service.new_public_client()).json()


def test_ten_passkeys_are_enough_and_none_is_registered_twice(service: RunningService, people: Cast) -> None:
    authenticator = register(people.alice)
    for holder in (people.alice, people.bob):
        assert refusal(add(holder, authenticator)) == (409, "invalid_state")
    for _ in range(9):
        register(people.alice)

    assert refusal(add(people.alice, Authenticator(origin_of(people.alice)))) == (409, "invalid_state")


# Attackers with a signature


def test_a_challenge_works_once_for_its_session_and_five_minutes(service: RunningService, people: Cast) -> None:
    authenticator = register(people.alice)
    first, second = begin_with_mfa(service, EMAILS["alice"]), begin_with_mfa(service, EMAILS["alice"])
    of_first = challenge_of(first)
    challenge_of(second)
    signed = authenticator.assertion(of_first)

    stolen = second.post(FINISH, json={"passkey": signed})
    used = first.post(FINISH, json={"passkey": signed})
    again = begin_with_mfa(service, EMAILS["alice"]).post(FINISH, json={"passkey": signed})

    assert refusal(stolen) == (401, "invalid_code")
    assert used.status_code == 200
    assert refusal(again) == (401, "invalid_code")

    challenge = challenge_of(people.alice)
    service.clock.advance(seconds=300)
    late = Authenticator(origin_of(people.alice)).registration(challenge)
    reply = people.alice.post(PASSKEYS, json={"name": "Late", "password": PASSWORD, **late})
    assert refusal(reply) == (401, "invalid_code")


def test_a_rejected_signature_uses_its_challenge_up(service: RunningService, people: Cast) -> None:
    authenticator = register(people.alice)
    client = begin_with_mfa(service, EMAILS["alice"])
    challenge = challenge_of(client)
    unverified = authenticator.assertion(challenge, flags=PRESENT)

    assert refusal(client.post(FINISH, json={"passkey": unverified})) == (401, "invalid_code")
    right = client.post(FINISH, json={"passkey": authenticator.assertion(challenge)})
    assert refusal(right) == (401, "invalid_code")
    assert sign_in(client, authenticator).status_code == 200


@pytest.mark.parametrize(
    "forged",
    [
        {"client": {"origin": "https://evil.example"}},
        {"client": {"origin": "http://sibling.127.0.0.1"}},
        {"client": {"type": "webauthn.create"}},
        {"client": {"crossOrigin": True}},
        {"host": "evil.example"},
        {"flags": PRESENT},
        {"flags": VERIFIED},
        {"count": 1},
        {"count": 0},
    ],
    ids=[
        "origin",
        "sibling",
        "kind",
        "cross-origin",
        "relying-party",
        "unverified",
        "absent",
        "same-count",
        "no-count",
    ],
)
def test_a_signature_for_another_page_or_without_its_person_does_not_sign_in(
    service: RunningService, people: Cast, forged: dict[str, Any]
) -> None:
    authenticator = register(people.alice)
    client = begin_with_mfa(service, EMAILS["alice"])

    reply = sign_in(client, authenticator, **forged)

    assert refusal(reply) == (401, "invalid_code")
    failure = [entry for entry in trail(service) if entry[1] == "signin.failure"][-1]
    assert (failure[0], failure[4]) == (EMAILS["alice"], {"method": "passkey"})


def test_a_page_of_a_sibling_host_does_not_sign_in_whatever_host_it_sends(
    service: RunningService, people: Cast
) -> None:
    authenticator = register(people.alice)
    client = begin_with_mfa(service, EMAILS["alice"])
    client.headers["Host"] = "sibling.example"

    reply = sign_in(client, authenticator, client={"origin": "http://sibling.example"})

    assert refusal(reply) == (401, "invalid_code")


def test_another_users_passkey_and_one_with_a_foreign_id_do_not_sign_in(service: RunningService, people: Cast) -> None:
    alices, bobs = register(people.alice), register(people.bob)
    thief = Authenticator(origin_of(people.bob))
    thief.credential_id = alices.credential_id
    # Not rejected for its counter: only the signature is wrong.
    thief.count = alices.count

    for authenticator in (bobs, thief):
        reply = sign_in(begin_with_mfa(service, EMAILS["alice"]), authenticator)
        assert refusal(reply) == (401, "invalid_code")


def test_an_authenticator_without_a_counter_signs_in_again_and_again(service: RunningService, people: Cast) -> None:
    authenticator = Authenticator(origin_of(people.alice))
    assert add(people.alice, authenticator, count=0).status_code == 201

    for _ in range(2):
        assert sign_in(begin_with_mfa(service, EMAILS["alice"]), authenticator, count=0).status_code == 200


def test_five_wrong_signatures_end_a_pre_session(service: RunningService, people: Cast) -> None:
    authenticator = register(people.alice)
    client = begin_with_mfa(service, EMAILS["alice"])
    statuses = [sign_in(client, authenticator, flags=PRESENT).status_code for _ in range(5)]

    assert statuses == [401] * 5
    assert sign_in(client, authenticator).status_code in {401, 429}


@pytest.mark.parametrize(
    "forged",
    [
        {"client": {"origin": "https://evil.example"}, "host": "evil.example"},
        {"client": {"type": "webauthn.get"}},
        {"client": {"crossOrigin": True}},
        {"client": {"origin": "http://[::1"}},
        {"host": "evil.example"},
        {"flags": PRESENT | 0x40},
        {"flags": PRESENT | VERIFIED},
    ],
    ids=["origin", "kind", "cross-origin", "broken-origin", "relying-party", "unverified", "no-credential"],
)
def test_a_registration_for_another_page_or_without_a_person_is_rejected(
    service: RunningService, people: Cast, forged: dict[str, Any]
) -> None:
    reply = add(people.alice, Authenticator(origin_of(people.alice)), **forged)

    assert refusal(reply) == (401, "invalid_code")


@pytest.mark.parametrize(
    "key",
    [ec.generate_private_key(ec.SECP384R1()), rsa.generate_private_key(65537, 1024), rsa.generate_private_key(3, 2048)],
    ids=["P-384", "RSA-1024", "exponent-3"],
)
def test_a_key_of_another_kind_is_rejected(service: RunningService, people: Cast, key: PrivateKey) -> None:
    reply = add(people.alice, Authenticator(origin_of(people.alice), key))

    assert refusal(reply) == (401, "invalid_code")


def test_a_form_takes_the_signature_as_json(service: RunningService, people: Cast) -> None:
    authenticator = register(people.alice)
    client = begin_with_mfa(service, EMAILS["alice"])
    headers = {"Origin": origin_of(client)}
    text = json.dumps(authenticator.assertion(challenge_of(client)))

    bad = client.post("/v1/pages/code", data={"passkey": "{"}, headers=headers)
    good = client.post("/v1/pages/code", data={"passkey": text}, headers=headers)

    assert bad.status_code == 400
    assert (good.status_code, good.headers["location"]) == (303, "/console")
