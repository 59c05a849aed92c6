"""Permission to redeem: which secrets work for which site, their validity period, and the test secrets."""

import pytest

from agentgate.browser_check.tokens.receipts import SigningKeys
from agentgate.lib.secrets import digest
from tests.api.public.shop import SITES, SITEVERIFY, code, open_shop
from tests.support.tokens import mint
from tests.unit.browser_check.tokens.made import keyring

OK = (200, None)
REFUSED = (401, "invalid_credential")


@pytest.fixture
def shop(service):
    return open_shop(service)


def call(shop, *, header=None, field=None):
    """Call with these words in the header and in the body; None leaves one out."""
    body = {"token": shop.token(), "expectedAction": "login"}
    if field is not None:
        body["secret"] = field
    headers = {} if header is None else {"Authorization": header}
    return code(shop.service.public.post(SITEVERIFY, json=body, headers=headers))


def test_the_secret_is_taken_from_header_or_body_and_both_must_agree(shop, service):
    mine, other = shop.secret, open_shop(service, "site_other").secret
    second = shop.new_secret()
    rows = {
        "header": ({"header": f"Bearer {mine}"}, OK),
        "field": ({"field": mine}, OK),
        "both": ({"header": f"Bearer {mine}", "field": mine}, OK),
        "another case of the scheme": ({"header": f"bEARER {mine}"}, OK),
        "a second secret": ({"header": f"Bearer {second}"}, OK),
        "two good secrets": ({"header": f"Bearer {mine}", "field": second}, REFUSED),
        "two good secrets, swapped": ({"header": f"Bearer {second}", "field": mine}, REFUSED),
        "good in header only": ({"header": f"Bearer {mine}", "field": "ags_x"}, REFUSED),
        "good in field only": ({"header": "Bearer ags_x", "field": mine}, REFUSED),
        "empty field": ({"header": f"Bearer {mine}", "field": ""}, REFUSED),
        "empty header": ({"header": "", "field": mine}, REFUSED),
        "neither": ({}, REFUSED),
        "only an empty field": ({"field": ""}, REFUSED),
        "only the scheme": ({"header": "Bearer"}, REFUSED),
        "no scheme": ({"header": mine}, REFUSED),
        "Basic": ({"header": f"Basic {mine}"}, REFUSED),
        "Basic beside a good field": ({"header": "Basic dTpw", "field": mine}, REFUSED),
        "two spaces": ({"header": f"Bearer  {mine}"}, REFUSED),
        "more behind": ({"header": f"Bearer {mine} x"}, REFUSED),
        "comma": ({"header": f"Bearer {mine}, Bearer {mine}"}, REFUSED),
        "upper case": ({"field": mine.upper()}, REFUSED),
        "cut": ({"field": mine[:-1]}, REFUSED),
        "space before": ({"field": f" {mine}"}, REFUSED),
        "newline behind": ({"field": f"{mine}\n"}, REFUSED),
        "another character": ({"field": mine[:-1] + ("A" if mine[-1] != "A" else "B")}, REFUSED),
        "unknown": ({"field": "ags_" + "A" * 43}, REFUSED),
        "unknown test secret": ({"field": "ags_test_always_right"}, REFUSED),
        "API token": ({"header": "Bearer agt_" + "A" * 43}, REFUSED),
        "not ASCII": ({"field": "ags_\u0661"}, REFUSED),
        "another site's": ({"field": other}, REFUSED),
    }

    found = {name: call(shop, **words) for name, (words, _) in rows.items()}

    assert found == {name: answer for name, (_, answer) in rows.items()}


def test_a_revoked_secret_stops_at_once(shop, service):
    path = f"{SITES}/{shop.site_key}/credentials"
    for _ in range(20):
        made = service.operator.post(path).json()
        assert code(shop.verify(shop.token(), secret=made["secret"])) == OK
        assert service.operator.post(f"{path}/{made['credential']['id']}/revoke").status_code == 200
        assert code(shop.verify(shop.token(), secret=made["secret"])) == REFUSED


def test_a_rotated_secret_works_until_its_overlap_has_ended(shop, service):
    new = shop.rotate(60)

    service.clock.advance(ms=59_999)
    assert code(shop.verify(shop.token())) == OK
    service.clock.advance(ms=1)
    assert code(shop.verify(shop.token())) == REFUSED
    assert code(shop.verify(shop.token(), secret=new)) == OK


def test_the_secrets_of_a_deleted_account_open_nothing(service):
    account = service.operator.post(
        "/v1/admin/accounts", json={"email": "yann@third.example", "customerName": "Third"}
    ).json()["customerId"]
    shop = open_shop(service)
    moved = service.operator.post(f"{SITES}/{shop.site_key}/move", json={"customerId": account})
    assert moved.status_code == 200, moved.text
    token = shop.token()
    assert code(shop.verify(shop.token())) == OK

    deleted = service.operator.request("DELETE", f"/v1/admin/customers/{account}", json={"confirm": "Third"})

    assert deleted.status_code == 200, deleted.text
    assert code(shop.verify(token)) == REFUSED


def test_a_secret_of_a_deleted_account_opens_nothing_even_if_it_was_not_revoked(shop, service):
    assert code(shop.verify(shop.token())) == OK
    token = shop.token()
    service.run(
        service.application.stores.databases["config"].run("UPDATE account SET status = 'deleted', deleted_ms = 1")
    )
    config = service.application.stores.databases["config"]
    [(account_id,)] = service.run(config.all("SELECT account_id FROM site WHERE site_key = $1", shop.site_key))
    service.change(lambda stores: stores.configuration.bump_account(account_id))

    assert code(shop.verify(token)) == REFUSED


MATRIX = {
    ("ags_test_always_pass", True): OK,
    ("ags_test_always_fail", True): (422, "invalid_token"),
    ("ags_test_token_spent", True): (409, "token_used"),
    ("ags_test_always_pass", False): (422, "invalid_token"),
    ("ags_test_always_fail", False): (422, "invalid_token"),
    ("ags_test_token_spent", False): (422, "invalid_token"),
    ("real", True): (422, "invalid_token"),
    ("real", False): OK,
}


@pytest.mark.parametrize(("secret", "test"), MATRIX)
def test_test_secrets_take_test_tokens_and_real_secrets_real_ones(shop, secret, test):
    site_key = "site_test_always_pass" if test else shop.site_key
    token = shop.token(site_key=site_key, test=test)

    answer = shop.verify(token, secret=shop.secret if secret == "real" else secret)

    assert code(answer) == MATRIX[secret, test]
    if answer.status_code == 200:
        assert answer.json().get("test") == (True if test else None)


def test_a_test_token_even_for_a_real_sites_key_opens_nothing(shop):
    assert code(shop.verify(shop.token(test=True))) == (422, "invalid_token")


def test_a_test_secret_only_redeems(shop):
    token = shop.token(site_key="site_test_always_pass", test=True)

    for _ in range(3):
        assert code(shop.verify(token, secret="ags_test_always_pass")) == OK
    wrong = shop.verify(token, secret="ags_test_always_pass", expectedAction="signup")
    assert code(wrong) == (422, "action_mismatch")


def test_the_last_use_of_a_credential_is_noted_once_a_minute_and_not_by_strangers(shop, service):
    def last_used():
        service.run(service.application.background.finish())
        listed = service.operator.get(f"{SITES}/{shop.site_key}").json()["credentialList"]
        return [credential.get("lastUsedAt") for credential in listed]

    assert last_used() == [None]
    shop.verify("not a token", secret="ags_" + "x" * 43)
    assert last_used() == [None]

    shop.verify("not a token")
    assert last_used() == ["2026-11-15T12:00:00.000Z"]
    service.clock.advance(seconds=59)
    shop.verify(shop.token())
    assert last_used() == ["2026-11-15T12:00:00.000Z"]
    service.clock.advance(seconds=1)
    shop.verify(shop.token())
    assert last_used() == ["2026-11-15T12:01:00.000Z"]


def test_a_token_signed_with_keys_of_another_installation_is_rejected(shop):
    token = mint(SigningKeys(keyring(b"s")), shop.site_key, now_ms=shop.service.clock.now_ms())

    assert code(shop.verify(token)) == (422, "invalid_token")


def test_the_directory_knows_secrets_by_their_digest_only(shop, service):
    """The directory does not store an accepted secret next to its digest."""
    directory = service.application.refresher.sites
    for _ in range(2):
        assert code(shop.verify(shop.token())) == OK
        assert directory.find_caller(shop.secret.encode(), now_ms=service.clock.now_ms()) is not None

    assert digest(shop.secret) in directory._callers
    # Whether it is text or bytes there.
    assert shop.secret not in repr(vars(directory)) + repr(directory._digests.young)
    assert directory._digests.young
