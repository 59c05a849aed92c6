"""Export of decisions: the same as the list, page by page, in either format; for operators and for customers."""

import csv
import io
import json
from typing import Any

import pytest
from httpx import Response

from agentgate.lib.enums import Outcome
from tests.api.admin.operating import refusal
from tests.support.api_client import ApiClient
from tests.support.cast import Cast, cast
from tests.support.events import new_event
from tests.support.service import NOON_MS, RunningService

ADMIN, CONSOLE = "/v1/admin/decisions", "/v1/console/decisions"
MADE = 37


@pytest.fixture
def people(service: RunningService) -> Cast:
    return cast(service)


@pytest.fixture
def site(service: RunningService, people: Cast) -> str:
    """The key of a site of Acme's with some decisions in the last day."""
    key: str = people.alice.post("/v1/console/sites", json={"name": "Shop"}).json()["siteKey"]

    async def fill() -> None:
        stores = service.application.stores
        found = await stores.store.read.sites.find_site(key, account_id=None)
        number = await stores.store.read.sites.find_number(found.id)
        outcomes = (Outcome.ALLOW, Outcome.ALLOW, Outcome.BLOCK)
        events = [
            new_event(index, site=number, time_ms=NOON_MS - 60_000 + index, outcome=outcomes[index % 3], agent="=bot")
            for index in range(MADE)
        ]
        await stores.events.write(events)

    service.run(fill())
    return key


def lines(reply: Response) -> list[dict[str, Any]]:
    assert reply.status_code == 200, reply.text
    return [json.loads(line) for line in reply.text.splitlines()]


def listed(client: ApiClient, path: str, **params: Any) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    while True:
        page = client.get(path, params=params).json()
        items += page["items"]
        if "nextCursor" not in page:
            return items
        params["cursor"] = page["nextCursor"]


def exported(client: ApiClient, path: str, **params: Any) -> list[list[dict[str, Any]]]:
    pages = []
    while True:
        reply = client.get(f"{path}/export", params=params)
        pages.append(lines(reply))
        if "x-next-cursor" not in reply.headers:
            assert "link" not in reply.headers
            return pages
        params["cursor"] = reply.headers["x-next-cursor"]


def test_an_export_equals_the_list(service: RunningService, people: Cast, site: str) -> None:
    for client, path in ((service.operator, ADMIN), (people.rita, CONSOLE)):
        for filters in ({}, {"outcome": "block"}, {"outcome": "drop"}, {"kind": "challenge"}):
            expected = listed(client, path, siteKey=site, **filters)
            assert exported(client, path, siteKey=site, **filters) == [expected]
            pages = exported(client, path, siteKey=site, limit=7, **filters)
            assert [item for page in pages for item in page] == expected
            assert all(len(page) <= 7 for page in pages)
    assert len(listed(service.operator, ADMIN, siteKey=site)) == MADE


def test_the_response_is_a_file_and_leads_to_the_next(service: RunningService, site: str) -> None:
    reply = service.operator.get(f"{ADMIN}/export", params={"siteKey": site, "limit": 5, "outcome": "allow"})

    assert reply.headers["content-type"] == "application/x-ndjson"
    assert reply.headers["content-disposition"] == f'attachment; filename="decisions-{site}.ndjson"'
    target, _, relation = reply.headers["link"].partition("; ")
    assert relation == 'rel="next"'
    following = service.operator.get(target.strip("<>"))
    together = [item["id"] for item in lines(reply) + lines(following)]
    assert together == [item["id"] for item in listed(service.operator, ADMIN, siteKey=site, outcome="allow")][:10]


def test_csv_has_the_same_decisions_and_no_formula(service: RunningService, site: str) -> None:
    reply = service.operator.get(f"{ADMIN}/export", params={"siteKey": site, "format": "csv"})

    assert reply.headers["content-type"].startswith("text/csv")
    table = list(csv.DictReader(io.StringIO(reply.text, newline="")))
    assert [row["id"] for row in table] == [item["id"] for item in listed(service.operator, ADMIN, siteKey=site)]
    assert {row["agent"] for row in table} == {"'=bot"}


def test_a_cursor_is_good_for_its_route_and_filters_only(service: RunningService, people: Cast, site: str) -> None:
    params = {"siteKey": site, "limit": 5}
    cursor = service.operator.get(f"{ADMIN}/export", params=params).headers["x-next-cursor"]

    for client, path, changes in (
        (service.operator, ADMIN, {}),
        (people.rita, f"{CONSOLE}/export", {}),
        (service.operator, f"{ADMIN}/export", {"outcome": "block"}),
        (service.operator, f"{ADMIN}/export", {"format": "csv"}),
    ):
        refused = client.get(path, params={**params, "cursor": cursor, **changes})
        assert refusal(refused) == (400, "invalid_cursor")


def test_parameters_are_checked_like_the_ones_of_the_list(service: RunningService, site: str) -> None:
    for params, code in (
        ({"limit": 0}, "invalid_limit"),
        ({"limit": 10_001}, "invalid_limit"),
        ({"format": "xml"}, "invalid_filter"),
        ({"outcome": "maybe"}, "invalid_filter"),
        ({"from": "2026-01-01", "to": "2026-03-01"}, "invalid_range"),
        ({"siteKey": "no"}, "invalid_site"),
        ({"color": "red"}, "invalid_filter"),
    ):
        reply = service.operator.get(f"{ADMIN}/export", params={"siteKey": site, **params})
        assert refusal(reply) == (400, code), params


def test_only_users_who_may_see_the_site_get_its_decisions(service: RunningService, people: Cast, site: str) -> None:
    params = {"siteKey": site}

    assert refusal(people.carol.get(f"{CONSOLE}/export", params=params)) == (404, "site_not_found")
    assert refusal(service.public.get(f"{CONSOLE}/export", params=params)) == (401, "unauthorized")
    assert refusal(service.anonymous.get(f"{ADMIN}/export", params=params)) == (401, "unauthorized")
    scopes = {"name": "CI", "scopes": ["sites:read"]}
    secret = people.alice.post("/v1/console/tokens", json=scopes).json()["secret"]
    reply = service.public.get(f"{CONSOLE}/export", params=params, headers={"Authorization": f"Bearer {secret}"})
    assert refusal(reply) == (403, "forbidden")
