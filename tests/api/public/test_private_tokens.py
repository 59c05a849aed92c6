"""Private tokens (Privacy Pass) in the browser check: asked for, taken once, and speaking for the visitor."""

import pytest

from agentgate.lib.clock import DAY_MS, FOREVER_MS, HOUR_MS
from agentgate.sites.token_issuers.repository import ListedTokenKey, StoredIssuer
from tests.support.browser_client import INTERACTION, SIGNALS, BrowserClient, create_site, decision_of
from tests.support.private_tokens import ISSUER, SPKI, TRUSTED, issue, text
from tests.support.service import RunningService


@pytest.fixture
def page(service: RunningService) -> BrowserClient:
    return BrowserClient(service, create_site(service, privateTokenIssuers=TRUSTED))


def learn(service: RunningService, *keys: str, not_before_ms: int = 0, problem: str = "", read_ms: int = 0) -> None:
    """Store an issuer's keys as if they had been read from its directory, and let the worker see them."""
    listed = tuple(ListedTokenKey(key, not_before_ms) for key in keys)
    issuer = StoredIssuer(
        name=ISSUER, keys=listed, read_ms=read_ms or service.clock.now_ms(), next_ms=FOREVER_MS, problem=problem
    )
    service.change(lambda stores: stores.token_issuers.save_issuer(issuer))
    service.run(service.application.refresher.refresh_issuers())


def show(page: BrowserClient, challenge: dict[str, str], authorization: str | None = None):
    sent = {} if authorization is None else {"Authorization": authorization}
    return page.service.public.get(challenge["privateToken"], headers={**page.headers, **sent})


def labels_of(page: BrowserClient, challenge) -> set[str]:
    passed = page.verify(challenge).json()
    assert passed["status"] == "passed"
    return set(decision_of(page.service, page.site_key, passed["decisionId"])["labels"])


def test_a_token_of_a_trusted_issuer_supports_the_visitor(page: BrowserClient) -> None:
    challenge = page.challenge().json()
    asked = show(page, challenge)
    assert (asked.status_code, asked.json()["error"]) == (401, "private_token_required")

    taken = show(page, challenge, issue(asked.headers["www-authenticate"]))

    assert (taken.status_code, taken.json()) == (200, {"status": "accepted"})
    assert "privacy_pass.verified" in labels_of(page, challenge)


def test_keys_of_an_issuers_directory_are_used_from_their_time_on(service: RunningService) -> None:
    page = BrowserClient(service, create_site(service, privateTokenIssuers=[{"name": ISSUER}]))
    path = f"/v1/admin/sites/{page.site_key}"
    challenge = page.challenge().json()
    unknown = show(page, challenge)
    assert (unknown.status_code, unknown.json()["error"]) == (400, "challenge_invalid")

    learn(service, text(SPKI))
    token = issue(show(page, challenge).headers["www-authenticate"])
    site = service.operator.get(path).json()
    assert site["privateTokenIssuers"] == [{"name": ISSUER}]
    (status,) = site["tokenIssuers"]
    assert (status["name"], status["keys"], "readAt" in status, "problem" in status) == (ISSUER, 1, True, False)
    # The same signature, before its key is in use.
    learn(service, text(SPKI), not_before_ms=FOREVER_MS)
    assert show(page, challenge, token).json()["error"] == "challenge_invalid"
    learn(service, text(SPKI))
    assert show(page, challenge, token).status_code == 200
    assert "privacy_pass.verified" in labels_of(page, challenge)


def test_a_directory_that_was_not_read_for_a_day_is_a_warning(service: RunningService) -> None:
    site_key = create_site(service, privateTokenIssuers=[{"name": ISSUER}])
    checks = f"/v1/admin/sites/{site_key}/health"
    now_ms = service.clock.now_ms()
    for read_ms, warns in ((now_ms - HOUR_MS, False), (now_ms - 2 * DAY_MS, True)):
        learn(service, text(SPKI), problem="connection refused", read_ms=read_ms)
        failed = [
            each for each in service.operator.get(checks).json()["checks"] if each["check"] == "issuer_unavailable"
        ]
        assert [each["severity"] for each in failed] == ["warning"] * warns
    assert failed[0]["message"].startswith(f"The keys of {ISSUER} could not be read: connection refused.")
    assert failed[0]["detail"] == {"issuers": [{"name": ISSUER, "problem": "connection refused"}]}


def test_a_directory_has_a_plain_host_name(page: BrowserClient) -> None:
    path = f"/v1/admin/sites/{page.site_key}"
    for name in ("issuer.example:8443", "issuer", "issuer.example/x", "a@issuer.example"):
        wrong = page.service.operator.patch(path, json={"privateTokenIssuers": [{"name": name}]})
        assert (wrong.status_code, wrong.json()["error"]) == (400, "invalid_site"), name
    sent = page.service.operator.patch(path, json={"tokenIssuers": []})
    assert (sent.status_code, sent.json()["error"]) == (400, "forbidden_field")


def test_no_one_needs_one(page: BrowserClient) -> None:
    assert "privacy_pass.verified" not in labels_of(page, page.challenge().json())


def test_a_token_is_taken_once_and_for_its_challenge(page: BrowserClient) -> None:
    challenge, other = page.challenge().json(), page.challenge().json()
    token = issue(show(page, challenge).headers["www-authenticate"])

    refused = show(page, other, token)
    assert (refused.status_code, refused.json()["error"]) == (403, "private_token_invalid")
    assert show(page, challenge, token).status_code == 200
    assert show(page, challenge, token).status_code == 403
    assert "privacy_pass.verified" not in labels_of(page, other)


def test_a_forged_token_is_rejected(page: BrowserClient) -> None:
    challenge = page.challenge().json()
    token = issue(show(page, challenge).headers["www-authenticate"])
    # In its nonce, in what it was made for, and twice in its signature.
    forged = [token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1 :] for at in (30, 100, 200, -20)]

    for wrong in (*forged, "PrivateToken token=AAI", "Bearer abc"):
        assert show(page, challenge, wrong).status_code == 403, wrong
    assert "privacy_pass.verified" not in labels_of(page, challenge)


def test_another_visitor_cannot_show_one_for_this_challenge(page: BrowserClient) -> None:
    challenge = page.challenge().json()
    token = issue(show(page, challenge).headers["www-authenticate"])
    stranger = BrowserClient(page.service, page.site_key)

    assert show(stranger, challenge, token).json()["error"] == "challenge_invalid"


def test_a_site_without_issuers_asks_for_none(service: RunningService) -> None:
    page = BrowserClient(service, create_site(service))
    challenge = page.challenge().json()

    assert "privateToken" not in challenge
    path = f"/v1/browser/private-token?challengeId={challenge['challengeId']}"
    assert service.public.get(path, headers=page.headers).json()["error"] == "challenge_invalid"


def test_issuers_are_checked_kept_and_audited(page: BrowserClient) -> None:
    path = f"/v1/admin/sites/{page.site_key}"
    site = page.service.operator.get(path).json()
    assert site["privateTokenIssuers"] == [{"name": ISSUER, "tokenKey": text(SPKI)}]

    wrong = page.service.operator.patch(path, json={"privateTokenIssuers": [{"name": ISSUER, "tokenKey": "AAAA"}]})
    assert (wrong.status_code, wrong.json()["error"]) == (400, "invalid_site")
    assert "2048 bits" in wrong.json()["message"]
    emptied = page.service.operator.patch(path, json={"privateTokenIssuers": []}).json()
    assert emptied["changes"][0]["detail"]["privateTokenIssuers"]["to"] == []


def test_it_vouches_ten_times_an_hour_for_the_checks_of_one_cluster(page: BrowserClient) -> None:
    outcomes = []
    for number in range(16):
        client = BrowserClient(page.service, page.site_key, address=f"84.{number}.1.7")
        challenge = client.challenge().json()
        asked = show(client, challenge)
        taken = show(client, challenge, issue(asked.headers["www-authenticate"]))
        assert taken.status_code == 200
        signals = {**SIGNALS, "hardwareConcurrency": number + 1}
        reply = client.verify(challenge, signals=signals, interaction=INTERACTION).json()
        if reply["status"] == "passed":
            labels = decision_of(page.service, page.site_key, reply["decisionId"])["labels"]
            assert "privacy_pass.verified" in labels
            outcomes.append("clustered" if "cluster.evidence" in labels else "alone")
        else:
            outcomes.append(reply["status"])

    # Two are no cluster yet. A cluster counts networks in 256 bits under a random key, so that two of the first may
    # share a bit: then the next one, or the one after it, is the third.
    alone = outcomes.index("clustered")
    assert 2 <= alone <= 4
    # Then a farm with a few such devices has ten tokens that count.
    assert outcomes == ["alone"] * alone + ["clustered"] * 10 + ["step_up"] * (6 - alone)
