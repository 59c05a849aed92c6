"""A change is obeyed by the very next check on the worker that made it, and decisions say which rules decided."""

import pytest

from agentgate.lib.database import StoreUnavailable
from agentgate.sites.directory import SiteDirectory
from tests.support.browser_client import decision_of
from tests.support.gateway import Gate, said

BLOCK_CURL = {
    "version": "1",
    "rules": [{"name": "no-curl", "match": {"all_labels": ["ua.http_library"]}, "action": "block"}],
    "default_action": "allow",
}
SITES = "/v1/admin/sites"


def test_mode_routes_rules_and_credentials_are_obeyed_at_once(gate: Gate) -> None:
    operator, path = gate.service.operator, f"{SITES}/{gate.site_key}"

    assert operator.patch(path, json={"mode": "monitor"}).status_code == 200
    assert said(gate.check("POST", "/login")) == (204, "allow", "monitor")
    assert operator.patch(path, json={"mode": "enforce"}).status_code == 200
    assert said(gate.check("POST", "/login")) == (401, "challenge", "receipt_required")
    assert operator.patch(path, json={"routes": []}).status_code == 200
    assert said(gate.check("POST", "/login")) == (204, "allow", "allowed")
    assert said(gate.check(User_Agent="curl/8.5.0")) == (401, "challenge", "policy")
    assert operator.put(f"{path}/rules", json={"ruleSet": BLOCK_CURL, "revision": 0}).status_code == 200
    assert said(gate.check(User_Agent="curl/8.5.0")) == (403, "block", "policy")
    [credential] = operator.get(path).json()["credentialList"]
    assert operator.post(f"{path}/credentials/{credential['id']}/revoke").status_code == 200
    assert said(gate.check()) == (403, "block", "invalid_credential")


def test_a_decision_names_the_rules_that_made_it(gate: Gate) -> None:
    path = f"{SITES}/{gate.site_key}/rules"
    before = gate.check()
    version_before = gate.service.operator.get(path).json()["effective"]["version"]
    assert gate.service.operator.put(path, json={"ruleSet": BLOCK_CURL, "revision": 0}).status_code == 200
    after = gate.check(User_Agent="curl/8.5.0")
    version_after = gate.service.operator.get(path).json()["effective"]["version"]

    recorded = [
        decision_of(gate.service, gate.site_key, reply.headers["x-service-decision-id"])["ruleSetVersion"]
        for reply in (before, after)
    ]
    assert recorded == [version_before, version_after]
    assert version_before != version_after


@pytest.mark.anyio
async def test_settling_waits_for_what_this_worker_changed_and_gives_up_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    directory = SiteDirectory()
    await directory.await_refresh()
    monkeypatch.setattr("agentgate.people.installation.own_changes.REFRESH_S", 0.01)
    directory.expect_change()

    assert not directory.is_fresh
    with pytest.raises(StoreUnavailable):
        await directory.await_refresh()
