"""Handoffs over HTTP: the responses to the agent in each state and to strangers, and a person's decisions."""

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agentgate.agents.handoff.handoffs import CODE_LETTERS, HandoffRedemption
from agentgate.lib.ids import new_handoff_id
from agentgate.lib.limits import HANDOFF_LIFETIME_S, TOKEN_LIFETIME_DEFAULT_MINUTES
from tests.support.agent_client import SigningAgent
from tests.support.handoff import DIGEST, OTHER_SEED, HandoffScene
from tests.support.service import RunningService

RECEIPT_S = TOKEN_LIFETIME_DEFAULT_MINUTES * 60


@pytest.fixture(scope="module")
def scene(shared_service: RunningService) -> HandoffScene:
    return HandoffScene(shared_service)


def answered(response: Any) -> tuple[Any, ...]:
    """Return everything in a response except its request ID and its date."""
    headers = sorted((name, value) for name, value in response.headers.items() if name not in {"x-request-id", "date"})
    return response.status_code, headers, response.content


def approve(scene: HandoffScene, handoff_id: str, **fields: Any) -> None:
    reply = scene.choose(handoff_id, "approve", **fields)
    assert (reply.status_code, "<h1>Approved</h1>" in reply.text) == (200, True), reply.text


def test_a_handoff_shows_where_a_person_and_where_the_agent_has_to_go(scene: HandoffScene) -> None:
    handoff = scene.open()

    assert re.fullmatch(r"ho_[0-7][0-9a-hjkmnp-tv-z]{25}", handoff.id)
    assert re.fullmatch(rf"[{CODE_LETTERS}]{{4}}-[{CODE_LETTERS}]{{4}}", handoff.user_code)
    assert handoff.url.endswith(f"/handoff/{handoff.id}")
    assert handoff.poll_url.endswith(f"/v1/handoff/{handoff.id}")
    assert (handoff.status, handoff.interval, handoff.expires_in) == ("pending", 5, HANDOFF_LIFETIME_S)
    assert (handoff.site_key, handoff.action) == (scene.site_key, "submit")


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({}, True),
        ({"decision_id": "dec_0000000000001"}, True),
        ({"submission_id": "sub-2"}, False),
        ({"content_digest": "sha-256=:other:"}, False),
        ({"action": "order"}, False),
        ({"agent": SigningAgent("https://other.example", seed=OTHER_SEED)}, False),
    ],
)
def test_asking_again_for_the_same_returns_the_same_handoff(
    scene: HandoffScene, changes: dict[str, Any], same: bool
) -> None:
    first = scene.open(submission_id=f"again-{len(changes)}-{same}")
    second = scene.open(**{"submission_id": f"again-{len(changes)}-{same}", **changes})

    assert (first.id == second.id) is same


def test_a_pending_handoff_shows_when_to_ask_again(scene: HandoffScene) -> None:
    handoff = scene.open(submission_id="pending")
    reply = scene.poll(handoff.id)

    assert reply.status_code == 200
    assert reply.headers["retry-after"] == "5"
    assert reply.json() == {
        "id": handoff.id,
        "status": "pending",
        "interval": 5,
        "expiresAt": handoff.expires_at.text(),
    }


def test_an_approved_handoff_leads_to_one_receipt_that_is_redeemed_once(scene: HandoffScene) -> None:
    handoff = scene.open(submission_id="approved")
    approve(scene, handoff.id)
    first = scene.poll(handoff.id).json()

    assert first["status"] == "completed"
    assert scene.poll(handoff.id).json() == first
    redeemed = scene.redeem(first["receipt"])
    assert redeemed.status_code == 200, redeemed.text
    said = redeemed.json()
    assert (said["kind"], said["agent"], said["action"]) == ("handoff", scene.agent.url, "submit")
    assert scene.redeem(first["receipt"]).json()["error"] == "token_used"
    gone = scene.poll(handoff.id)
    assert (gone.status_code, gone.json()["error"]) == (410, "handoff_redeemed")


def test_the_receipt_is_bound_to_the_key_the_submission_and_the_content(scene: HandoffScene) -> None:
    handoff = scene.open(submission_id="bound")
    approve(scene, handoff.id)
    receipt = scene.poll(handoff.id).json()["receipt"]
    shown = scene.service.public.post("/v1/receipts/verify", json={"receipt": receipt}).json()["receipt"]

    assert (shown["keyid"], shown["submissionId"]) == (scene.agent.keyid, "bound")
    assert (shown["contentDigest"], shown["aud"]) == (DIGEST, scene.site_key)


def test_64_polls_at_once_get_the_same_receipt(scene: HandoffScene) -> None:
    handoff = scene.open(submission_id="polls")
    approve(scene, handoff.id)
    with ThreadPoolExecutor(16) as threads:
        found = list(threads.map(lambda _: scene.poll(handoff.id).json()["receipt"], range(64)))

    assert len(set(found)) == 1


def test_polling_again_makes_no_receipt_live_longer(scene: HandoffScene) -> None:
    handoff = scene.open(submission_id="longer")
    approve(scene, handoff.id)
    first = scene.poll(handoff.id).json()["receipt"]

    scene.service.clock.advance(seconds=RECEIPT_S - 1)

    assert scene.poll(handoff.id).json()["receipt"] == first


def test_a_receipt_that_ran_out_unused_is_given_again_under_the_same_id(scene: HandoffScene) -> None:
    handoff = scene.open(submission_id="ran-out")
    approve(scene, handoff.id)
    first = scene.poll(handoff.id).json()["receipt"]
    scene.service.clock.advance(seconds=RECEIPT_S)
    second = scene.poll(handoff.id).json()["receipt"]

    assert second != first
    assert scene.redeem(first).json()["error"] == "expired_token"
    assert scene.redeem(second).status_code == 200
    assert scene.poll(handoff.id).json()["error"] == "handoff_redeemed"


def test_a_declined_handoff_shows_it_and_leads_to_nothing(scene: HandoffScene) -> None:
    handoff = scene.open(submission_id="declined")
    reply = scene.choose(handoff.id, "decline")

    assert "<h1>Declined</h1>" in reply.text
    answer = scene.poll(handoff.id)
    assert (answer.json()["status"], "receipt" in answer.json()) == ("declined", False)
    assert "retry-after" not in answer.headers
    # An agent that tries again at once gets the declined handoff, not a new one.
    assert scene.open(submission_id="declined").id == handoff.id


def test_a_handoff_is_over_after_ten_minutes(scene: HandoffScene) -> None:
    handoff = scene.open(submission_id="late")
    scene.service.clock.advance(seconds=HANDOFF_LIFETIME_S)
    gone = scene.poll(handoff.id)
    page = scene.service.public.get(f"/handoff/{handoff.id}")

    assert (gone.status_code, gone.json()["error"]) == (410, "handoff_expired")
    assert (page.status_code, "<h1>Request expired</h1>" in page.text) == (410, True)
    assert scene.choose(handoff.id, "approve").status_code == 410
    assert scene.poll(handoff.id).json()["error"] == "handoff_expired"
    assert scene.open(submission_id="late").id != handoff.id


def test_who_approves_in_the_last_second_leaves_the_agent_time_to_hear_of_it(scene: HandoffScene) -> None:
    handoff = scene.open(submission_id="last-second")
    scene.service.clock.advance(seconds=HANDOFF_LIFETIME_S - 1)
    approve(scene, handoff.id)
    scene.service.clock.advance(seconds=60)

    assert scene.poll(handoff.id).json()["status"] == "completed"


def test_once_the_receipt_is_spent_the_same_submission_may_ask_a_person_again(scene: HandoffScene) -> None:
    handoff = scene.open(submission_id="spent")
    approve(scene, handoff.id)
    assert scene.open(submission_id="spent").status == "completed"
    assert scene.redeem(scene.poll(handoff.id).json()["receipt"]).status_code == 200

    again = scene.open(submission_id="spent")
    assert (again.id != handoff.id, again.status) == (True, "pending")


STRANGERS = {
    "another agent": lambda scene, handoff_id: scene.poll(handoff_id, scene.other),
    "nobody": lambda scene, handoff_id: scene.service.public.get(f"/v1/handoff/{handoff_id}"),
    "another key": lambda scene, handoff_id: scene.poll(handoff_id, SigningAgent(seed=OTHER_SEED)),
    "an old signature": lambda scene, handoff_id: scene.poll(handoff_id, expires=scene.now_ms // 1000 - 61),
    "a long signature": lambda scene, handoff_id: scene.poll(handoff_id, expires=scene.now_ms // 1000 + 3600),
    "another tag": lambda scene, handoff_id: scene.poll(handoff_id, tag="agent-browser-auth"),
    "a signature for another address": lambda scene, handoff_id: scene.service.public.get(
        f"/v1/handoff/{handoff_id}",
        headers=scene.agent.headers("GET", f"https://elsewhere.example/v1/handoff/{handoff_id}"),
    ),
}


@pytest.mark.parametrize("state", ["pending", "completed", "declined", "redeemed", "expired"])
def test_to_every_stranger_a_handoff_looks_like_one_that_does_not_exist(scene: HandoffScene, state: str) -> None:
    handoff = scene.open(submission_id=f"strangers-{state}")
    if state in {"completed", "redeemed"}:
        approve(scene, handoff.id)
    if state == "declined":
        scene.choose(handoff.id, "decline")
    if state == "redeemed":
        scene.redeem(scene.poll(handoff.id).json()["receipt"])
    if state == "expired":
        scene.service.clock.advance(seconds=HANDOFF_LIFETIME_S)
    unknown = answered(scene.poll(new_handoff_id()))

    assert unknown[0] == 404
    assert {name: answered(ask(scene, handoff.id)) for name, ask in STRANGERS.items()} == dict.fromkeys(
        STRANGERS, unknown
    )


@pytest.mark.parametrize("handoff_id", ["ho_1", "x", "ho_" + "8" * 26, "ho_" + "%00" * 3, "ho_" + "0" * 2000])
def test_a_malformed_id_is_unknown(scene: HandoffScene, handoff_id: str) -> None:
    assert answered(scene.poll(handoff_id)) == answered(scene.poll(new_handoff_id()))
    assert scene.service.public.get(f"/handoff/{handoff_id}").status_code == 404


def test_a_copied_poll_is_nobodys(scene: HandoffScene) -> None:
    handoff = scene.open(submission_id="copied")

    assert scene.poll(handoff.id, nonce="once").status_code == 200
    assert scene.poll(handoff.id, nonce="once").status_code == 404


def redeem(scene: HandoffScene, handoff_id: str, **changes: Any) -> HandoffRedemption:
    """Redeem a handoff as a submission does that names it."""
    handoffs = scene.service.application.agents.handoffs
    identity = scene.identity(changes.pop("agent", None))
    action = changes.pop("action", "submit")
    request = scene.request(**changes)
    return scene.service.run(
        handoffs.redeem(handoff_id, identity, site=scene.site, request=request, action=action, now_ms=scene.now_ms)
    )


def test_a_submission_redeems_the_handoff_that_was_approved_for_it(scene: HandoffScene) -> None:
    handoff = scene.open(submission_id="resubmit")
    mine = {"submission_id": "resubmit"}
    assert redeem(scene, handoff.id, **mine) is HandoffRedemption.PENDING
    approve(scene, handoff.id)

    assert redeem(scene, handoff.id, **mine, agent=scene.other) is HandoffRedemption.UNKNOWN
    assert redeem(scene, handoff.id, submission_id="another") is HandoffRedemption.UNKNOWN
    assert redeem(scene, handoff.id, **mine, content_digest="sha-256=:other:") is HandoffRedemption.UNKNOWN
    assert redeem(scene, handoff.id, **mine, action="order") is HandoffRedemption.UNKNOWN
    receipt = scene.poll(handoff.id).json()["receipt"]
    assert redeem(scene, handoff.id, **mine) is HandoffRedemption.REDEEMED
    # A caller that missed the first response may repeat the call; no other caller can use the receipt.
    assert redeem(scene, handoff.id, **mine) is HandoffRedemption.REDEEMED
    assert scene.redeem(receipt).json()["error"] == "token_used"
    assert scene.poll(handoff.id).json()["error"] == "handoff_redeemed"


def test_what_siteverify_or_a_no_ended_cannot_be_redeemed(scene: HandoffScene) -> None:
    spent, declined = scene.open(submission_id="ended-1"), scene.open(submission_id="ended-2")
    late = scene.open(submission_id="ended-3")
    approve(scene, spent.id)
    scene.redeem(scene.poll(spent.id).json()["receipt"])
    scene.choose(declined.id, "decline")

    assert redeem(scene, spent.id, submission_id="ended-1") is HandoffRedemption.SPENT
    assert redeem(scene, declined.id, submission_id="ended-2") is HandoffRedemption.DECLINED
    scene.service.clock.advance(seconds=HANDOFF_LIFETIME_S)
    assert redeem(scene, late.id, submission_id="ended-3") is HandoffRedemption.EXPIRED


def test_a_submission_that_names_its_approved_handoff_is_accepted_once(shared_service: RunningService) -> None:
    scene = HandoffScene(shared_service, site_key="site_handoff_submit")
    scene.challenge()
    refused = scene.submit("real-1")
    assert (refused.status_code, refused.json()["error"]) == (403, "challenge_required"), refused.text
    handoff = refused.json()["handoff"]
    assert scene.submit("real-1").json()["handoff"]["id"] == handoff["id"]
    early = scene.submit("real-1", handoffId=handoff["id"])
    assert (early.status_code, early.json()["handoff"]["id"]) == (403, handoff["id"])
    approve(scene, handoff["id"])

    assert scene.submit("real-2", handoffId=handoff["id"]).json()["error"] == "invalid_request"
    accepted = scene.submit("real-1", handoffId=handoff["id"])
    assert accepted.status_code == 200, accepted.text
    assert scene.submit("real-1", handoffId=handoff["id"]).content == accepted.content
    assert scene.poll(handoff["id"]).json()["error"] == "handoff_redeemed"


def test_a_grant_spares_the_next_submissions_the_person(shared_service: RunningService) -> None:
    scene = HandoffScene(shared_service, site_key="site_grant_submit")
    scene.challenge()
    handoff = scene.submit("granted-1").json()["handoff"]
    approve(scene, handoff["id"], remember="on", uses="3", hours="24")

    assert [scene.submit(f"granted-{turn}").status_code for turn in range(2, 6)] == [200, 200, 200, 403]
