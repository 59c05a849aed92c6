"""Access requests: asked on the public side, listed, and decided once."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from agentgate.lib.clock import DAY_MS
from agentgate.lib.moment import Moment
from tests.api.admin.operating import ACCESS_REQUESTS, CUSTOMERS, USERS, accept, messages, refusal, trail
from tests.support.cast import add_user, cast, operator_client
from tests.support.service import NOON_MS, RunningService


def ask(service: RunningService, email: str, **body: Any) -> str:
    """Ask for an account; return the request's ID."""
    reply = service.public.post("/v1/account/request-access", json={"email": email, "name": "Ann", **body})
    assert reply.status_code == 202, reply.text
    return str(listed(service)[0]["id"])


def listed(service: RunningService, **params: Any) -> list[dict[str, Any]]:
    reply = service.operator.get(ACCESS_REQUESTS, params=params)
    assert reply.status_code == 200, reply.text
    items: list[dict[str, Any]] = reply.json()["items"]
    return items


def test_requests_are_listed_newest_first_by_status(service: RunningService) -> None:
    first = ask(service, "Ann@Acme.example", company="Acme", message="Hello")
    service.clock.advance(seconds=1)
    second = ask(service, "bob@acme.example")
    service.clock.advance(seconds=1)
    third = ask(service, "carl@acme.example")
    service.operator.post(f"{ACCESS_REQUESTS}/{second}/decline")
    service.operator.post(f"{ACCESS_REQUESTS}/{third}/approve")

    assert [item["id"] for item in listed(service)] == [third, second, first]
    assert [item["id"] for item in listed(service, status="all", limit=2)] == [third, second]
    by_status = {status: [item["id"] for item in listed(service, status=status)] for status in ("pending", "declined")}
    assert by_status == {"pending": [first], "declined": [second]}
    assert listed(service, status="pending") == [
        {
            "id": first,
            "email": "ann@acme.example",
            "name": "Ann",
            "company": "Acme",
            "message": "Hello",
            "status": "pending",
            "createdAt": Moment(NOON_MS).text(),
        }
    ]
    for params, code in (
        ({"status": "new"}, "invalid_filter"),
        ({"limit": 0}, "invalid_limit"),
        ({"limit": 501}, "invalid_limit"),
    ):
        assert refusal(service.operator.get(ACCESS_REQUESTS, params=params)) == (400, code)


def test_asking_twice_is_one_request_until_it_is_decided(service: RunningService) -> None:
    first = ask(service, "ann@acme.example")
    again = ask(service, "ANN@acme.example", company="Other")
    service.operator.post(f"{ACCESS_REQUESTS}/{first}/decline")
    service.clock.advance(seconds=1)

    third = ask(service, "ann@acme.example")

    assert again == first
    assert [item["id"] for item in listed(service)] == [third, first]


def test_approving_creates_the_customer_its_owner_and_a_link(service: RunningService) -> None:
    request_id = ask(service, "ann@acme.example", company="Acme Ltd")
    olga = operator_client(service)
    service.clock.advance(seconds=5)

    reply = olga.post(f"{ACCESS_REQUESTS}/{request_id}/approve")

    assert reply.status_code == 200
    made = reply.json()
    assert (made["email"], made["expiresAt"]) == ("ann@acme.example", Moment(NOON_MS + 5000 + 7 * DAY_MS).text())
    assert made["inviteUrl"].startswith(f"{service.public_url}/console/invite#")
    [request] = listed(service)
    assert (request["status"], request["decidedBy"], request["decidedAt"]) == (
        "approved",
        "Olga",
        Moment(NOON_MS + 5000).text(),
    )
    customer = service.operator.get(f"{CUSTOMERS}/{made['customerId']}").json()
    assert (customer["name"], customer["ownerEmail"]) == ("Acme Ltd", "ann@acme.example")
    [member] = customer["memberList"]
    assert (member["name"], member["role"], member["status"]) == ("Ann", "owner", "invited")
    assert [(action, actor) for action, actor, _ in trail(service, made["customerId"])] == [
        ("member.invite", "Olga"),
        ("account.create", "Olga"),
    ]
    [(to, kind, text)] = messages(service)
    assert (to, kind) == ("ann@acme.example", "invite")
    assert made["inviteUrl"] in text
    assert accept(service, made["inviteUrl"]).json()["account"]["id"] == made["customerId"]


def test_without_a_company_the_customer_has_the_persons_name(service: RunningService) -> None:
    request_id = ask(service, "ann@acme.example")

    made = service.operator.post(f"{ACCESS_REQUESTS}/{request_id}/approve").json()

    assert service.operator.get(f"{CUSTOMERS}/{made['customerId']}").json()["name"] == "Ann"


def test_declining_tells_no_one(service: RunningService) -> None:
    request_id = ask(service, "ann@acme.example")

    reply = operator_client(service).post(f"{ACCESS_REQUESTS}/{request_id}/decline")

    assert reply.status_code == 200
    assert (reply.json()["status"], reply.json()["decidedBy"]) == ("declined", "Olga")
    assert messages(service) == []
    assert service.operator.get(CUSTOMERS).json()["items"] == []


def test_a_request_is_decided_once_and_only_if_it_exists(service: RunningService) -> None:
    for step in ("approve", "decline"):
        request_id = ask(service, f"{step}@acme.example")
        service.clock.advance(seconds=1)
        with ThreadPoolExecutor(4) as pool:
            replies = list(
                pool.map(
                    lambda each, place=f"{ACCESS_REQUESTS}/{request_id}": service.operator.post(f"{place}/{each}"),
                    [step] * 4,
                )
            )
        assert sorted(reply.status_code for reply in replies) == [200, 409, 409, 409]
        for later in ("approve", "decline"):
            reply = service.operator.post(f"{ACCESS_REQUESTS}/{request_id}/{later}")
            assert refusal(reply) == (409, "invalid_state")
        unknown = service.operator.post(f"{ACCESS_REQUESTS}/req_0000000000000000/{step}")
        assert refusal(unknown) == (404, "not_found")

    assert len(service.operator.get(CUSTOMERS).json()["items"]) == 1
    assert len(messages(service)) == 1


def test_someone_who_has_a_password_or_is_suspended_cannot_be_approved(service: RunningService) -> None:
    people = cast(service)
    known = ask(service, "carol@globex.example", company="Second")
    suspended = add_user(service, "sue@acme.example", invited=True)
    service.operator.post(f"{USERS}/{suspended.id}/suspend")
    service.clock.advance(seconds=1)
    of_suspended = ask(service, "sue@acme.example")

    replies = [service.operator.post(f"{ACCESS_REQUESTS}/{each}/approve") for each in (known, of_suspended)]

    assert [refusal(reply) for reply in replies] == [(409, "already_active"), (409, "invalid_state")]
    assert {item["status"] for item in listed(service)} == {"pending"}
    assert len(service.operator.get(CUSTOMERS).json()["items"]) == 2
    assert messages(service) == []
    assert service.operator.post(f"{ACCESS_REQUESTS}/{known}/decline").status_code == 200
    assert people.carol.get("/v1/console/account").status_code == 200


def test_someone_who_was_invited_elsewhere_gets_their_own_account(service: RunningService) -> None:
    people = cast(service)
    invited = add_user(service, "ann@acme.example", account_id=people.acme, invited=True)
    request_id = ask(service, "ann@acme.example", company="Ann & Co")

    made = service.operator.post(f"{ACCESS_REQUESTS}/{request_id}/approve").json()

    assert made["userId"] == invited.id
    assert accept(service, made["inviteUrl"]).json()["account"]["name"] == "Ann & Co"
