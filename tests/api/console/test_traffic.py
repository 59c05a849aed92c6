"""The read models in the console: the same as an operator's, without trace links and the service's own failures."""

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from agentgate.events.decision_ids import first_id
from agentgate.events.records import Event
from agentgate.lib.enums import DecisionKind, Mode, Outcome
from agentgate.lib.settings.schema import Settings
from tests.api.console.steps import CONSOLE, refusal
from tests.api.traffic_steps import VISITOR_ID, record
from tests.support.api_client import ApiClient
from tests.support.cast import Cast, cast
from tests.support.service import NOON_MS, RunningService, running_service


@pytest.fixture
def traced(settings: Settings) -> Iterator[RunningService]:
    """A service whose decisions lead to a tracing tool."""
    with running_service(replace(settings, trace_url_template="https://traces.example/{traceId}")) as running:
        yield running


def new_site(client: ApiClient) -> dict[str, Any]:
    return client.post(f"{CONSOLE}/sites", json={"name": "Shop"}).json()


def test_a_customer_is_not_shown_the_trace(traced: RunningService) -> None:
    people = cast(traced)
    site = new_site(people.alice)
    [decision_id] = record(traced, site["id"], {"trace_id": "abc", "labels": ("net.tor",)})
    query = {"siteKey": site["siteKey"]}

    own = people.rita.get(f"{CONSOLE}/decisions/{decision_id}", params=query).json()
    operators = traced.operator.get(f"/v1/admin/decisions/{decision_id}", params=query).json()

    assert operators.pop("traceUrl") == "https://traces.example/abc"
    assert own == operators


def test_a_customer_is_not_shown_what_the_service_could_not_keep(service: RunningService, people: Cast) -> None:
    site = new_site(people.alice)
    recorder = service.application.recorder
    service.run(recorder.stop())
    lost = Event(
        id=first_id(NOON_MS),
        site=1,
        visitor=None,
        kind=DecisionKind.REQUEST,
        mode=Mode.MONITOR,
        outcome=Outcome.ALLOW,
        method="GET",
        route="*",
        status=204,
        duration_us=1,
    )
    recorder.put(lost)
    query = {"siteKey": site["siteKey"]}

    own = people.rita.get(f"{CONSOLE}/metrics", params=query).json()
    operators = service.operator.get("/v1/admin/metrics", params=query).json()

    assert operators["errors"]["eventWriteFailures"] == 1
    assert own["errors"]["eventWriteFailures"] == 0
    assert own["totals"] == operators["totals"]


def test_every_read_model_is_the_operators(service: RunningService, people: Cast) -> None:
    site = new_site(people.alice)
    record(service, site["id"], {}, {"outcome": Outcome.BLOCK})
    key = site["siteKey"]
    query = {"siteKey": key}

    for path, params in (
        ("/metrics", query),
        ("/visitors", query),
        (f"/visitors/{VISITOR_ID}", query),
        ("/decisions", query),
        (f"/sites/{key}/analytics", {}),
        (f"/sites/{key}/install", {}),
        (f"/sites/{key}/health", {}),
    ):
        own = people.rita.get(CONSOLE + path, params=params)
        assert own.status_code == 200, own.text
        assert own.json() == service.operator.get(f"/v1/admin{path}", params=params).json(), path


def test_another_accounts_site_responds_like_an_unknown_one(service: RunningService, people: Cast) -> None:
    site = new_site(people.alice)
    [decision_id] = record(service, site["id"], {})
    key = site["siteKey"]

    for path, named in (
        ("/metrics", True),
        ("/visitors", True),
        (f"/visitors/{VISITOR_ID}", True),
        ("/decisions", True),
        (f"/decisions/{decision_id}", True),
        ("/sites/{}/analytics", False),
        ("/sites/{}/install", False),
        ("/sites/{}/health", False),
        ("/sites/{}/agent-prompt", False),
    ):
        answers = [
            people.carol.get(CONSOLE + path.format(each), params={"siteKey": each} if named else {})
            for each in (key, "site_0000000000000000")
        ]
        assert refusal(answers[0]) == (404, "site_not_found"), path
        assert answers[0].content == answers[1].content


def test_traffic_needs_the_permission_to_read_analytics(service: RunningService, people: Cast) -> None:
    site = new_site(people.alice)
    token = people.alice.post(f"{CONSOLE}/tokens", json={"name": "CI", "scopes": ["sites:read"]}).json()["secret"]
    script = service.new_public_client()
    script.headers["Authorization"] = f"Bearer {token}"
    key = site["siteKey"]

    assert refusal(script.get(f"{CONSOLE}/decisions", params={"siteKey": key})) == (403, "forbidden")
    assert refusal(script.get(f"{CONSOLE}/sites/{key}/analytics")) == (403, "forbidden")
    assert script.get(f"{CONSOLE}/sites/{key}/health").status_code == 200


def test_a_customers_prompt_names_where_it_was_reached(service: RunningService, people: Cast) -> None:
    site = new_site(people.alice)

    prompt = people.rita.get(f"{CONSOLE}/sites/{site['siteKey']}/agent-prompt")

    assert prompt.headers["content-type"] == "text/markdown; charset=utf-8"
    assert f"{service.public_url}/v1/siteverify" in prompt.text


def test_a_cursor_of_the_admin_api_is_not_one_of_the_console(service: RunningService, people: Cast) -> None:
    site = new_site(people.alice)
    record(service, site["id"], {}, {})
    query = {"siteKey": site["siteKey"], "limit": 1}
    cursor = service.operator.get("/v1/admin/decisions", params=query).json()["nextCursor"]

    assert refusal(people.rita.get(f"{CONSOLE}/decisions", params={**query, "cursor": cursor})) == (
        400,
        "invalid_cursor",
    )
