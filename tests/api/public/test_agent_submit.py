"""`POST /agent/submit`: accepted agents, costs, repeated responses, and the data that the site's server gets."""

import asyncio
import json
import re

import httpx
import pytest

from agentgate.lib.clock import MINUTE_MS
from tests.support.agent_client import SigningAgent
from tests.support.agent_steps import AgentShop, allowed
from tests.support.browser_client import decision_of
from tests.support.service import RunningService

STRANGER = SigningAgent("https://stranger.example", seed=bytes([7] * 32))


@pytest.fixture
def shop(shared_service: RunningService) -> AgentShop:
    shop = AgentShop(shared_service)
    shop.set_policy()
    return shop


def refused(reply: httpx.Response) -> tuple[int, str]:
    return reply.status_code, reply.json()["error"]


def test_an_allowed_agent_gets_a_receipt_that_the_site_redeems_once(shop: AgentShop) -> None:
    reply = shop.submit()

    assert reply.status_code == 200, reply.text
    answer = reply.json()
    assert answer["status"] == "accepted"
    assert answer["decision"] == "allow"
    assert answer["agent"] == {"id": shop.agent.url, "name": "Shopping Agent", "keyId": shop.agent.keyid}
    assert answer["charged"] is None
    assert "crawler-charged" not in reply.headers
    made = shop.service.operator.post(f"/v1/admin/sites/{shop.site_key}/credentials", json={"name": "server"})
    asked = {"token": answer["receipt"], "expectedAction": "submit"}
    secret = {"Authorization": f"Bearer {made.json()['secret']}"}
    redeemed = shop.service.public.post("/v1/siteverify", json=asked, headers=secret)
    assert redeemed.json()["agent"] == shop.agent.url
    assert redeemed.json()["kind"] == "agent"
    assert shop.service.public.post("/v1/siteverify", json=asked, headers=secret).status_code == 409


def test_the_receipt_names_the_submission_and_binds_its_content(shop: AgentShop) -> None:
    receipt = shop.submit(content="Hello", id="bound").json()["receipt"]

    asked = {"receipt": receipt, "contentDigest": "sha-256=:GF+NsyJx/iX1Yab8k4suJkMG7DBO2lGAB9F2SCY4GWk=:"}
    verdict = shop.service.public.post("/v1/receipts/verify", json=asked).json()
    assert verdict["valid"], verdict
    claims = verdict["receipt"]
    assert (claims["submissionId"], claims["keyid"], claims["kind"]) == ("bound", shop.agent.keyid, "agent")


def test_the_same_submission_is_handled_byte_for_byte_again(shop: AgentShop) -> None:
    shop.set_policy(actions={"submit": {"price": "USD 0.05"}})
    first = shop.pay("USD 0.05")
    shop.service.clock.advance(ms=5 * MINUTE_MS)

    again = shop.submit()

    assert again.status_code == 200
    assert again.content == first.content
    assert again.headers["crawler-charged"] == "USD 0.05"
    assert [total["requests"] for total in shop.statement()["totals"]] == [1]


def test_other_content_under_the_same_id_conflicts(shop: AgentShop) -> None:
    shop.submit()

    assert refused(shop.submit(content="something else")) == (409, "submission_conflict")
    assert refused(shop.submit(tool="other")) == (409, "submission_conflict")


def test_an_id_belongs_to_one_agent_and_one_site(shop: AgentShop) -> None:
    other = AgentShop(shop.service, agent=STRANGER)
    shop.set_policy(agents={**allowed(shop.agent), **allowed(STRANGER)})
    other.set_policy()

    answers = [shop.submit(), shop.submit(agent=STRANGER, content="mine"), other.submit(content="elsewhere")]

    assert [reply.status_code for reply in answers] == [200, 200, 200]


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"siteKey": "site_nobody"}, "site_invalid"),
        ({"siteKey": "nonsense"}, "site_invalid"),
        ({"action": "fly"}, "action_invalid"),
        ({"id": "has space"}, "invalid_request"),
        ({"id": "x" * 129}, "invalid_request"),
        ({"id": None}, "invalid_request"),
        ({"content": None}, "invalid_request"),
        ({"more": 1}, "invalid_request"),
        ({"content": 2**60}, "invalid_request"),
        ({"content": "x" * 65_536}, "invalid_request"),
    ],
)
def test_a_body_that_is_not_a_submission_is_rejected(shop: AgentShop, changed, code) -> None:
    assert refused(shop.submit(**changed)) == (400, code)


def test_content_that_is_nested_too_deeply_is_rejected(shop: AgentShop) -> None:
    deep: list = []
    for _ in range(40):
        deep = [deep]

    assert refused(shop.submit(content=deep)) == (400, "invalid_request")


def test_an_unsigned_submission_learns_how_to_sign(shop: AgentShop) -> None:
    reply = shop.service.public.post("/agent/submit", content=shop.body())

    assert refused(reply) == (401, "agent_unverified")
    assert "content-digest" in reply.headers["accept-signature"]


def test_an_agent_whose_key_no_one_knows_is_unverified(shop: AgentShop) -> None:
    assert refused(shop.submit(agent=STRANGER)) == (401, "agent_unverified")


def test_a_signature_with_another_key_is_invalid_or_unverified(shop: AgentShop) -> None:
    impostor = SigningAgent(shop.agent.url, seed=bytes([9] * 32))

    assert shop.submit(agent=impostor).status_code == 401


def test_a_signature_that_lives_too_long_is_not_verified(shop: AgentShop) -> None:
    now_s = shop.service.clock.now_ms() // 1000

    assert refused(shop.submit(how={"expires": now_s + 601})) == (401, "agent_unverified")
    assert shop.submit(how={"expires": now_s + 600}).status_code == 200


def test_a_signature_that_does_not_cover_the_body_is_invalid(shop: AgentShop) -> None:
    reply = shop.submit(how={"cover": ("@method", "@authority", "@path", "signature-agent")})

    assert refused(reply) == (401, "agent_signature_invalid")
    assert "Content-Digest" in reply.json()["message"]


def test_another_body_than_the_signed_one_is_rejected(shop: AgentShop) -> None:
    headers = shop.signed(shop.body())

    reply = shop.service.public.post("/agent/submit", content=shop.body(content="changed"), headers=headers)

    assert refused(reply) == (401, "agent_signature_invalid")


def test_a_signature_is_accepted_once(shop: AgentShop) -> None:
    body = shop.body()
    headers = shop.signed(body)

    first, second = (shop.service.public.post("/agent/submit", content=body, headers=headers) for _ in range(2))

    assert first.status_code == 200
    assert refused(second) == (401, "agent_signature_invalid")


def test_a_denied_agent_is_shown_so(shop: AgentShop) -> None:
    shop.set_policy(agents=allowed(shop.agent, decision="deny"))
    assert refused(shop.submit()) == (403, "agent_denied")

    shop.set_policy(agents=allowed(shop.agent, actions={"submit": "deny"}))
    assert refused(shop.submit()) == (403, "agent_denied")
    assert shop.submit(action="search").status_code == 200


def test_a_price_must_be_offered_and_met(shop: AgentShop) -> None:
    shop.set_policy(actions={"submit": {"price": "USD 0.05"}})

    missing = shop.submit()
    assert refused(missing) == (402, "payment_required")
    assert missing.headers["crawler-price"] == "USD 0.05"
    assert missing.headers["crawler-error"] == "MissingCrawlerPrice"
    body = missing.json()
    assert (body["crawlerPrice"], body["crawlerError"]) == ("USD 0.05", "MissingCrawlerPrice")
    assert shop.pay("USD 0.04").headers["crawler-error"] == "InvalidCrawlerExactPrice"
    assert refused(shop.pay("USD .05")) == (400, "payment_invalid")
    paid = shop.pay("USD 0.09", header="crawler-max-price")
    assert paid.status_code == 200
    assert paid.json()["charged"] == paid.headers["crawler-charged"] == "USD 0.05"


def test_an_offer_that_the_signature_does_not_cover_buys_nothing(shop: AgentShop) -> None:
    shop.set_policy(actions={"submit": {"price": "USD 0.05"}})
    cover = ("@method", "@authority", "@path", "signature-agent", "content-digest")

    reply = shop.submit(how={"headers": {"crawler-exact-price": "USD 0.05"}, "cover": cover})

    assert refused(reply) == (400, "payment_invalid")
    assert reply.headers["crawler-error"] == "StrongAuthRequired"


def test_the_quota_is_counted_by_agent_and_repeats_are_free(shop: AgentShop) -> None:
    shop.set_policy(quotaPerMinute=2)

    assert [shop.submit(id=f"q{number}").status_code for number in (1, 1, 1, 2)] == [200, 200, 200, 200]
    over = shop.submit(id="q3")
    assert refused(over) == (429, "rate_limited")
    assert over.headers["retry-after"] == "60"
    assert shop.submit(id="q1").status_code == 200


def test_an_action_has_its_own_quota(shop: AgentShop) -> None:
    shop.set_policy(actions={"submit": {"quotaPerMinute": 1}})

    assert [shop.submit(id=f"a{number}").status_code for number in (1, 2)] == [200, 429]
    assert shop.submit(id="a3", action="search").status_code == 200


def test_a_challenged_agent_gets_one_handoff_for_one_submission(shop: AgentShop) -> None:
    shop.set_policy(agents=allowed(shop.agent, actions={"submit": "challenge"}))

    first, again = shop.submit(), shop.submit()

    assert refused(first) == (403, "challenge_required")
    assert first.json()["decision"] == "challenge"
    assert first.json()["handoff"]["status"] == "pending"
    assert first.json()["handoff"]["id"] == again.json()["handoff"]["id"]


def test_an_approved_handoff_lets_the_submission_through(shop: AgentShop) -> None:
    shop.set_policy(agents=allowed(shop.agent, actions={"submit": "challenge"}))
    handoff = shop.submit().json()["handoff"]["id"]
    handoffs = shop.service.application.agents.handoffs
    assert refused(shop.submit(handoffId=handoff)) == (403, "challenge_required")
    shop.service.run(handoffs.decide(handoff, approved=True, now_ms=shop.service.clock.now_ms()))

    reply = shop.submit(handoffId=handoff)

    assert reply.status_code == 200, reply.text
    assert shop.submit(handoffId=handoff).content == reply.content
    assert refused(shop.submit(handoffId=handoff, id="another")) == (400, "invalid_request")


def test_a_declined_handoff_is_a_denial(shop: AgentShop) -> None:
    shop.set_policy(agents=allowed(shop.agent, actions={"submit": "challenge"}))
    handoff = shop.submit().json()["handoff"]["id"]
    handoffs = shop.service.application.agents.handoffs
    shop.service.run(handoffs.decide(handoff, approved=False, now_ms=shop.service.clock.now_ms()))

    assert refused(shop.submit(handoffId=handoff)) == (403, "agent_denied")


def test_without_handoff_a_challenged_agent_gets_nothing_to_wait_for(shop: AgentShop) -> None:
    shop.set_policy(
        default="challenge",
        actions={"submit": {"handoff": False}},
        agents=allowed(shop.agent, actions={"submit": "challenge"}),
    )

    reply = shop.submit()

    assert refused(reply) == (403, "challenge_required")
    assert "handoff" not in reply.json()


def test_rules_decide_about_the_content(shop: AgentShop) -> None:
    rules = {
        "version": "1",
        "rules": [{"name": "links", "match": {"all_labels": ["content.many_links"]}, "action": "block"}],
        "default_action": "allow",
    }
    shop.service.operator.put(f"/v1/admin/sites/{shop.site_key}/rules", json={"ruleSet": rules})

    reply = shop.submit(content={"text": "https://a.example " * 6})

    assert refused(reply) == (403, "policy")
    decision = decision_of(shop.service, shop.site_key, reply.json()["decisionId"])
    assert "content.many_links" in decision["labels"]
    assert decision["matchedRule"] == "links"


def test_a_submission_is_a_decision_with_its_agent(shop: AgentShop) -> None:
    reply = shop.submit()

    decision = decision_of(shop.service, shop.site_key, reply.json()["decisionId"])
    assert decision["agent"] == shop.agent.url
    assert decision["action"] == "submit"
    assert decision["outcome"] == "allow"
    assert decision["status"] == 200
    assert "agent.verified" in decision["labels"]
    assert "Ada" not in json.dumps(decision)


def test_monitor_mode_allows_what_enforce_mode_would_reject(shared_service: RunningService) -> None:
    shop = AgentShop(shared_service, mode="monitor")
    shop.set_policy(actions={"submit": {"price": "USD 0.05"}})

    unpaid = shop.submit()
    shop.set_policy(agents=allowed(shop.agent, decision="deny"))
    denied = shop.submit(id="denied")

    assert (unpaid.status_code, denied.status_code) == (200, 200)
    assert unpaid.json()["charged"] is None
    assert shop.statement()["totals"] == []
    decision = decision_of(shop.service, shop.site_key, denied.json()["decisionId"])
    assert (decision["outcome"], decision["wouldDecision"], decision["reasons"]) == ("allow", "block", ["agent_denied"])
    # The policy does not replace verification: an unknown agent is still rejected.
    assert refused(shop.submit(agent=STRANGER)) == (401, "agent_unverified")


def test_64_equal_submissions_at_once_are_one(service: RunningService) -> None:
    shop = AgentShop(service)
    shop.set_policy(actions={"submit": {"price": "USD 0.05"}}, quotaPerMinute=3)
    body = shop.body()
    sent = [shop.signed(body, headers={"crawler-exact-price": "USD 0.05"}) for _ in range(64)]

    async def submit_all() -> list[httpx.Response]:
        limits = httpx.Limits(max_connections=64)
        async with httpx.AsyncClient(base_url=service.public_url, limits=limits, timeout=20) as client:
            posts = (client.post("/agent/submit", content=body, headers=headers) for headers in sent)
            return list(await asyncio.gather(*posts))

    replies = asyncio.run(submit_all())

    assert [reply.status_code for reply in replies] == [200] * 64
    assert len({reply.content for reply in replies}) == 1
    [total] = shop.statement()["totals"]
    assert (total["requests"], total["amount"], total["agent"]) == (1, "0.05", shop.agent.url)
    # One unit of three was used.
    assert [shop.pay("USD 0.05", id=f"n{number}").status_code for number in range(3)] == [200, 200, 429]


def test_what_was_submitted_is_kept_nowhere(shop: AgentShop) -> None:
    shop.submit(content={"message": "xyzzy-unrepeatable"})

    files = [path for path in shop.service.application.settings.data_dir.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if b"xyzzy-unrepeatable" in path.read_bytes()]


def test_by_default_even_a_verified_agent_may_not_submit_spam(shop: AgentShop) -> None:
    spam = "Buy cheap viagra online now https://pills.example " * 8

    reply = shop.submit(content={"comment": spam})

    assert reply.status_code == 403, reply.text
    assert reply.json()["error"] in {"policy", "challenge_required"}


def test_a_401_names_the_scheme_and_a_new_nonce(shop: AgentShop) -> None:
    replies = [shop.submit(how={"tag": None}) for _ in range(2)]

    nonces = {re.search(r';nonce="([A-Za-z0-9_-]{43})"', each.headers["accept-signature"])[1] for each in replies}
    assert len(nonces) == 2
    assert {each.headers["www-authenticate"] for each in replies} == {'Signature realm="agents"'}
