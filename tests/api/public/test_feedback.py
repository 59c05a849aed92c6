"""The question "Was this page helpful?": readers vote, and operators see the counts."""

from typing import Any

from tests.support.service import RunningService

FEEDBACK = "/v1/docs/feedback"
REPORT = "/v1/admin/docs-feedback"
UNFIT = (
    {"page": "/docs", "helpful": True},
    {"page": "docs/a", "helpful": True},
    {"page": "/docs/A", "helpful": True},
    {"page": "/docs/a\n", "helpful": True},
    {"page": "/docs/a.html", "helpful": True},
    {"page": "/docs/<script>", "helpful": True},
    {"page": "/docs/" + "x" * 201, "helpful": True},
    {"page": "https://evil.example/docs/a", "helpful": True},
    {"page": "/docs/a", "helpful": "yes"},
    {"page": "/docs/a", "helpful": 1},
    {"page": "/docs/a"},
    {"helpful": True},
    {"page": "/docs/a", "helpful": True, "comment": "x"},
    [],
)


def answer(service: RunningService, page: str = "/docs/install", *, helpful: bool = True, source: str = "") -> Any:
    headers = {"X-Forwarded-For": source} if source else {}
    return service.public.post(FEEDBACK, json={"page": page, "helpful": helpful}, headers=headers)


def report(service: RunningService, **query: Any) -> dict[str, Any]:
    reply = service.operator.get(REPORT, params=query)
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_a_response_is_received_and_counted(service: RunningService) -> None:
    reply = answer(service)
    answer(service, helpful=False)

    assert (reply.status_code, reply.json()) == (202, {"status": "received"})
    assert report(service) == {
        "days": 30,
        "items": [{"page": "/docs/install", "helpful": 1, "notHelpful": 1, "total": 2}],
    }


def test_the_most_handled_page_comes_first(service: RunningService) -> None:
    for page in ("/docs/a", "/docs/b", "/docs/b"):
        answer(service, page)

    assert [item["page"] for item in report(service)["items"]] == ["/docs/b", "/docs/a"]


def test_the_days_asked_for_count_back_from_today(service: RunningService) -> None:
    answer(service, "/docs/old")
    service.clock.advance(days=2)
    answer(service, "/docs/new")

    assert [item["page"] for item in report(service, days=2)["items"]] == ["/docs/new"]
    assert {item["page"] for item in report(service, days=3)["items"]} == {"/docs/new", "/docs/old"}
    assert report(service, days=3650)["days"] == 3650


def test_days_out_of_bounds_are_rejected(service: RunningService) -> None:
    for days in ("0", "3651", "-1", "x", "1.5", ""):
        reply = service.operator.get(REPORT, params={"days": days})
        assert (reply.status_code, reply.json()["error"]) == (400, "invalid_filter"), days


def test_a_page_of_the_documentation_is_accepted(service: RunningService) -> None:
    for page in ("/docs/", "/docs/a", "/docs/a/b_c-9/", "/docs/" + "x" * 200):
        assert answer(service, page).status_code == 202, page


def test_anything_else_is_rejected_and_not_counted(service: RunningService) -> None:
    for body in UNFIT:
        reply = service.public.post(FEEDBACK, json=body)
        assert (reply.status_code, reply.json()["error"]) == (400, "invalid_request"), body
    assert report(service)["items"] == []


def test_one_address_may_respond_twenty_times_an_hour(service: RunningService) -> None:
    statuses = [answer(service, source="192.0.2.1").status_code for _ in range(21)]
    refused = answer(service, source="192.0.2.1")

    assert statuses == [202] * 20 + [429]
    assert refused.json()["error"] == "rate_limited"
    assert 1 <= int(refused.headers["retry-after"]) <= 3600
    assert report(service)["items"][0]["total"] == 20
    assert answer(service, source="192.0.2.2").status_code == 202


def test_one_ipv6_network_counts_as_one_source(service: RunningService) -> None:
    statuses = [answer(service, source=f"2001:db8::{number:x}").status_code for number in range(1, 22)]

    assert statuses == [202] * 20 + [429]


def test_only_operators_read_the_report(service: RunningService) -> None:
    reply = service.anonymous.get(REPORT)

    assert (reply.status_code, reply.json()["error"]) == (401, "unauthorized")
    assert service.public.get(REPORT).status_code == 404


def test_no_one_is_named_in_what_is_stored(service: RunningService) -> None:
    answer(service, source="192.0.2.77")

    rows = service.run(service.application.stores.databases["config"].all("SELECT * FROM docs_feedback"))
    assert [len(row) for row in rows] == [4]
    assert "192.0.2.77" not in repr(rows)
