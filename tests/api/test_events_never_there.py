"""A service whose ClickHouse is unavailable from the start: sites can be created, changed and read."""

from pathlib import Path

import pytest

from agentgate.lib.settings.schema import Settings, read_settings
from tests.support.ports import free_port
from tests.support.service import ADMIN_KEY, RunningService

SITES = "/v1/admin/sites"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return read_settings(
        {
            "AGENTGATE_DATA_DIR": str(tmp_path / "data"),
            "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
            "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
            "AGENTGATE_DRAIN_SECONDS": "0",
            # Nothing listens there.
            "AGENTGATE_EVENTS_URL": f"clickhouse://127.0.0.1:{free_port()}/events",
        }
    )


def test_a_site_is_made_changed_and_read_without_events(service: RunningService) -> None:
    made = service.operator.post(SITES, json={"name": "Shop", "actions": {"login": {"browserRequired": True}}})
    assert made.status_code == 201, made.text
    site = f"{SITES}/{made.json()['siteKey']}"
    route = {"method": "POST", "path": "/login", "action": "login"}
    assert service.operator.patch(site, json={"routes": [route]}).status_code == 200
    assert service.operator.post(f"{site}/credentials", json={"name": "server"}).status_code == 201

    read = service.operator.get(site).json()

    # Nothing is known of the site's traffic, so nothing is wrong with it.
    assert (read["degraded"], read["health"], set(read["today"].values())) == (True, {"status": "ok"}, {0})
    assert [each["siteKey"] for each in service.operator.get(SITES).json()["items"]] == [read["siteKey"]]


def test_traffic_pages_name_the_cause(service: RunningService) -> None:
    site_key = service.operator.post(SITES, json={"name": "Shop"}).json()["siteKey"]

    refused = service.operator.get("/v1/admin/metrics", params={"siteKey": site_key})

    assert (refused.status_code, refused.json()["error"]) == (503, "store_unavailable")
    assert refused.json()["message"].startswith("Events are unavailable.")
