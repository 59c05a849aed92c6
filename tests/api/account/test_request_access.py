"""Requests for an account: always the same response, and one pending request for each address."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from msgspec import UNSET, UnsetType

from agentgate.http.call import Call
from agentgate.lib.errors import Refused
from agentgate.lib.limiter import Limiter
from agentgate.people.accounts.endpoints.own_user import request_access
from agentgate.people.accounts.records import AccessRequestInput
from tests.api.account.steps import ACCOUNT, refusal
from tests.support.cast import EMAILS, cast, system_call
from tests.support.service import RunningService

ASK = f"{ACCOUNT}/request-access"
DORA = {"email": "Dora@new.example", "name": "Dora", "company": "New", "message": "Hello,\nmay I?"}


def requests(service: RunningService) -> list[dict[str, str]]:
    items: list[dict[str, str]] = service.operator.get("/v1/admin/access-requests").json()["items"]
    return items


def test_a_request_is_kept_for_operators(service: RunningService) -> None:
    reply = service.public.post(ASK, json=DORA)

    assert (reply.status_code, reply.json()) == (202, {"status": "received"})
    [request] = requests(service)
    assert (request["email"], request["name"], request["company"]) == ("dora@new.example", "Dora", "New")
    assert (request["message"], request["status"]) == ("Hello,\nmay I?", "pending")


def test_known_unknown_and_pending_addresses_get_the_same_response(service: RunningService) -> None:
    cast(service)

    replies = [
        service.public.post(ASK, json={"email": email, "name": "Somebody"})
        for email in (EMAILS["alice"], "new@new.example", "NEW@new.example")
    ]

    assert {(reply.status_code, reply.content) for reply in replies} == {(202, b'{"status":"received"}')}
    assert sorted(request["email"] for request in requests(service)) == [EMAILS["alice"], "new@new.example"]


def test_asking_many_times_at_once_leaves_one_request(service: RunningService) -> None:
    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda _: service.public.post(ASK, json=DORA).status_code, range(8)))

    assert statuses == [202] * 8
    assert len(requests(service)) == 1


def test_asking_again_does_not_change_what_was_queried(service: RunningService) -> None:
    service.public.post(ASK, json=DORA)
    service.public.post(ASK, json={**DORA, "company": "Other"})

    assert [request["company"] for request in requests(service)] == ["New"]


def test_one_source_may_ask_ten_times_an_hour(service: RunningService) -> None:
    for number in range(10):
        assert service.public.post(ASK, json={**DORA, "email": f"d{number}@new.example"}).status_code == 202

    reply = service.public.post(ASK, json=DORA)

    assert refusal(reply) == (429, "rate_limited")
    assert 1 <= int(reply.headers["retry-after"]) <= 3600
    service.clock.advance(hours=1)
    assert service.public.post(ASK, json=DORA).status_code == 202


@pytest.mark.parametrize(
    "change",
    [
        {"email": "dora"},
        {"email": "dora@new.example\r\nBcc: x@y.example"},
        {"name": ""},
        {"name": "Do\nra"},
        {"name": "x" * 101},
        {"company": "x" * 101},
        {"message": "x" * 2001},
        {"status": "approved"},
    ],
    ids=str,
)
def test_malformed_requests_are_rejected(service: RunningService, change: dict[str, str]) -> None:
    assert refusal(service.public.post(ASK, json={**DORA, **change})) == (400, "invalid_request")
    assert requests(service) == []


class OnlyPassed:
    """A browser check that knows one good token."""

    site_key = "site_own_form"

    async def passes(self, token: str | None, call: Call, *, action: str) -> bool:
        assert (call.route, action) == ("", "request_access")
        return token == "passed"


def test_who_does_not_pass_the_browser_check_leaves_no_request(service: RunningService) -> None:
    application = service.application
    limiter = Limiter(application.stores.shared_cache, service.clock)

    def ask(token: str | UnsetType) -> str:
        body = AccessRequestInput(email="dora@new.example", name="Dora", token=token)
        asked = request_access(system_call(service), body, application.stores.store, OnlyPassed(), limiter)
        return service.run(asked).status

    for token in (UNSET, "wrong"):
        with pytest.raises(Refused, match="browser_check_failed"):
            ask(token)

    assert requests(service) == []
    assert ask("passed") == "received"
    assert len(requests(service)) == 1
