"""Secrets at rest: API tokens (N9), messages with links (D5), and a search for every secret in all that is kept."""

import base64
import re
from pathlib import Path
from urllib.parse import quote

import pytest

from agentgate.lib.enums import AccountRole
from agentgate.people.identity.sessions import ACCOUNT_COOKIE
from agentgate.people.outbox.jobs import clear_messages
from tests.api.account.steps import NEW_PASSWORD, begin_with_mfa, link_in, messages, next_code, turn_mfa_on
from tests.support.cast import EMAILS, PASSWORD, Cast, add_user
from tests.support.service import RunningService

ACCOUNT, CONSOLE = "/v1/account", "/v1/console"


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def test_an_api_token_works_whole_in_its_place_alone(service: RunningService, people: Cast) -> None:
    made = people.alice.post(f"{CONSOLE}/tokens", json={"name": "CI", "scopes": ["sites:read"]}).json()
    secret, url = made["secret"], f"{CONSOLE}/account"
    assert service.public.get(url, headers=bearer(secret)).status_code == 200
    wrong = [secret[:end] for end in range(3, len(secret), 6)]
    wrong += [secret + "A", secret.upper(), secret.removeprefix("agt_"), "ags_" + secret[4:], made["token"]["id"]]
    wrong += [secret[:-1] + ("A" if secret[-1] != "A" else "B"), f'"{secret}"', f"{secret} {secret}"]

    for value in wrong:
        reply = service.public.get(url, headers=bearer(value))
        assert (reply.status_code, reply.json()["error"]) == (401, "invalid_token"), value
    elsewhere = [
        {"headers": {"X-API-Key": secret}},
        {"headers": {"Cookie": f"{ACCOUNT_COOKIE}={secret}"}},
        {"headers": {"Authorization": f"Basic {base64.b64encode(secret.encode()).decode()}"}},
        {"headers": {"Authorization": secret}},
    ]
    for options in elsewhere:
        assert service.public.get(url, **options).json()["error"] == "unauthorized", options
    both = {**bearer("agt_" + "A" * 43), "Cookie": f"{ACCOUNT_COOKIE}={people.alice.cookies[ACCOUNT_COOKIE]}"}
    assert service.public.get(url, headers=both).json()["error"] == "invalid_token"


def test_the_tokens_of_a_deleted_account_stay_dead_when_it_comes_back(service: RunningService, people: Cast) -> None:
    made = people.alice.post(f"{CONSOLE}/tokens", json={"name": "CI", "scopes": ["sites:read"]}).json()
    assert people.alice.request("DELETE", f"{CONSOLE}/account", json={"confirm": "Acme"}).status_code == 200

    assert service.public.get(f"{CONSOLE}/account", headers=bearer(made["secret"])).json()["error"] == "invalid_token"
    assert service.operator.post(f"/v1/admin/customers/{people.acme}/reactivate").status_code == 200
    assert service.public.get(f"{CONSOLE}/account", headers=bearer(made["secret"])).json()["error"] == "invalid_token"


def test_a_token_of_a_deleted_account_is_dead_even_if_it_was_not_revoked(service: RunningService, people: Cast) -> None:
    made = people.alice.post(f"{CONSOLE}/tokens", json={"name": "CI", "scopes": ["sites:read"]}).json()
    headers = bearer(made["secret"])
    assert service.public.get(f"{CONSOLE}/sites", headers=headers).status_code == 200

    database = service.application.stores.databases["config"]
    service.run(database.run("UPDATE account SET status = 'deleted', deleted_ms = 1 WHERE id = $1", people.acme))

    reply = service.public.get(f"{CONSOLE}/sites", headers=headers)
    assert (reply.status_code, reply.json()["error"]) == (401, "invalid_token")


def bodies_of(service: RunningService, email: str) -> list[bool]:
    """Say of each message to an address whether it still has a body, those without one first."""
    return sorted(bool(message["body"]) for message in messages(service) if message["to"] == email)


def test_a_message_keeps_its_body_only_while_its_link_works(service: RunningService, people: Cast) -> None:
    invited = people.alice.post(f"{CONSOLE}/members", json={"email": "ines@acme.example", "role": "member"}).json()
    url = f"{CONSOLE}/members/{invited['member']['userId']}/resend-invite"
    assert bodies_of(service, "ines@acme.example") == [True]

    assert people.alice.post(url).status_code == 200
    assert bodies_of(service, "ines@acme.example") == [False, True]

    service.clock.advance(hours=24 * 7)
    service.run(clear_messages(service.application.stores.store, service.clock))
    assert bodies_of(service, "ines@acme.example") == [False, False]


def test_a_message_loses_its_body_when_its_link_is_used(service: RunningService, people: Cast) -> None:
    people.alice.post(f"{CONSOLE}/members", json={"email": "ines@acme.example", "role": "member"})
    [message] = [each for each in messages(service) if each["to"] == "ines@acme.example"]
    body = {"token": link_in(message)[1], "password": NEW_PASSWORD}

    assert service.new_public_client().post(f"{ACCOUNT}/invite/accept", json=body).status_code == 200

    assert bodies_of(service, "ines@acme.example") == [False]
    # The message was delivered: otherwise its link could not have been used.
    assert [each["status"] for each in messages(service) if each["to"] == "ines@acme.example"] == ["sent"]


def secrets_of_a_busy_day(service: RunningService, people: Cast) -> dict[str, str]:
    """Use every kind of secret, rightly and wrongly; return them by name."""
    found = {"password": PASSWORD, "new password": NEW_PASSWORD, "wrong password": "canary wrong password 7391"}
    made = people.alice.post(f"{CONSOLE}/tokens", json={"name": "CI", "scopes": ["sites:read"]}).json()
    found["API token"] = made["secret"]
    service.public.get(f"{CONSOLE}/account", headers=bearer(made["secret"]))
    service.public.get(f"{CONSOLE}/account?token={quote(made['secret'])}")
    site = people.alice.post(f"{CONSOLE}/sites", json={"name": "Shop"}).json()["siteKey"]
    found["credential"] = people.alice.post(f"{CONSOLE}/sites/{site}/credentials").json()["secret"]
    found["session"], found["CSRF token"] = people.alice.cookies[ACCOUNT_COOKIE], people.alice.headers["X-CSRF-Token"]
    service.public.post(f"{ACCOUNT}/login", json={"email": EMAILS["bob"], "password": found["wrong password"]})
    people.alice.post(f"{CONSOLE}/members", json={"email": "ines@acme.example", "role": "member"})
    service.public.post(f"{ACCOUNT}/password/forgot", json={"email": EMAILS["bob"]})
    sent = [link_in(message)[1] for message in messages(service) if message["body"]]
    found |= {f"link {number}": secret for number, secret in enumerate(sent)}
    for secret in sent:
        service.public.get(f"{ACCOUNT}/invite/{secret}")
        service.public.post(f"{ACCOUNT}/password/reset", json={"token": secret, "password": NEW_PASSWORD})
    authenticator, recovery_codes = turn_mfa_on(service, people.adam)
    found["authenticator"] = authenticator.secret
    found |= {f"recovery code {number}": code for number, code in enumerate(recovery_codes)}
    client = begin_with_mfa(service, EMAILS["adam"])
    found["pre-session"] = client.cookies[ACCOUNT_COOKIE]
    client.post(f"{ACCOUNT}/login/mfa", json={"recoveryCode": recovery_codes[0]})
    client = begin_with_mfa(service, EMAILS["adam"])
    client.post(f"{ACCOUNT}/login/mfa", json={"code": next_code(service, authenticator)})
    found["full session"] = client.cookies[ACCOUNT_COOKIE]
    # A request that fails on the way must not reveal more than one that is rejected.
    service.public.post(f"{ACCOUNT}/login", content=f'{{"password": "{PASSWORD}", "x": '.encode())
    return found


def spellings(secret: str) -> list[bytes]:
    """Return the forms of a secret to search for: as it is, without separators, its bytes, in other codings."""
    plain = secret.encode()
    found = {plain, base64.b64encode(plain), plain.hex().encode(), quote(secret).encode()}
    found.add(re.sub(rb"[-_ ]", b"", plain))
    bare = secret.removeprefix("agt_").removeprefix("ags_")
    if re.fullmatch(r"[A-Za-z0-9_-]{43}", bare):
        raw = base64.urlsafe_b64decode(bare + "=")
        found |= {bare.encode(), raw, raw.hex().encode()}
    if re.fullmatch(r"[A-Z2-7]{32}", secret):
        found.add(base64.b32decode(secret))
    return sorted(found)


def test_no_secret_lies_anywhere_in_plain(service: RunningService, people: Cast) -> None:
    found = secrets_of_a_busy_day(service, people)
    add_user(service, "last@acme.example", account_id=people.acme, role=AccountRole.READONLY)
    assert len(found) >= 20
    folder = Path(service.application.settings.data_dir)
    places = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    places["log"] = service.log.getvalue().encode()
    places["metrics"] = service.anonymous.get("/metrics").content
    places["trail"] = people.alice.get(f"{CONSOLE}/audit", params={"limit": 200}).content
    database = service.application.stores.databases["config"]
    tables = "SELECT name FROM sqlite_master WHERE type = 'table'"
    if database.dialect != "sqlite":
        tables = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
    for (name,) in service.run(database.all(tables)):
        cells = [cell for row in service.run(database.all(f"SELECT * FROM {name}")) for cell in row]
        places[name] = b"\n".join(cell if isinstance(cell, bytes) else str(cell).encode() for cell in cells)

    # The search works: it finds the addresses in the store, and the requests in the log.
    assert EMAILS["bob"].encode() in places["users"]
    assert b'"route":"/v1/account/invite/' in places["log"]
    hits = [
        (name, place)
        for name, secret in found.items()
        for place, content in places.items()
        if any(spelling in content for spelling in spellings(secret))
    ]
    assert hits == []


@pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
def test_the_search_would_find_a_secret(service: RunningService, people: Cast) -> None:
    secret = people.alice.cookies[ACCOUNT_COOKIE]

    assert any(spelling in b"a line with " + secret.encode() for spelling in spellings(secret))
    assert any(spelling in base64.urlsafe_b64decode(secret + "=").hex().encode() for spelling in spellings(secret))
