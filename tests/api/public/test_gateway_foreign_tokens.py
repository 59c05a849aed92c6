"""Tokens of other sites or visitors get no access at the gateway, and are not redeemed there."""

from typing import Any

from tests.support.gateway import Gate, said
from tests.support.service import RunningService
from tests.support.tokens import mint

REFUSED = (401, "challenge", "invalid_token")
PASSED = (204, "allow", "allowed")


def token(service: RunningService, site_key: str, **changes: Any) -> str:
    keys = service.application.browser_check.signing_keys
    return mint(keys, site_key, now_ms=service.clock.now_ms(), **changes)


def test_a_token_of_another_site_opens_nothing_and_stays_good_there(gate: Gate) -> None:
    other = Gate(gate.service)
    foreign = token(gate.service, other.site_key)

    assert said(gate.check("POST", "/login", X_AgentGate_Token=foreign)) == REFUSED
    assert said(other.check("POST", "/login", X_AgentGate_Token=foreign)) == PASSED


def test_a_test_token_opens_nothing_even_for_the_sites_own_key(gate: Gate) -> None:
    trial = token(gate.service, gate.site_key, test=True)

    assert said(gate.check("POST", "/login", X_AgentGate_Token=trial)) == REFUSED
    assert said(gate.check("POST", "/login", X_AgentGate_Token=token(gate.service, gate.site_key))) == PASSED


def test_the_secret_of_a_deleted_account_is_not_a_credential_even_if_no_one_revoked_it(gate: Gate) -> None:
    assert said(gate.check()) == PASSED
    database = gate.service.application.stores.databases["config"]
    gate.service.run(database.run("UPDATE account SET status = 'deleted', deleted_ms = 1"))
    [(account_id,)] = gate.service.run(database.all("SELECT account_id FROM site WHERE site_key = $1", gate.site_key))
    gate.service.change(lambda stores: stores.configuration.bump_account(account_id))

    assert said(gate.check()) == (403, "block", "invalid_credential")
