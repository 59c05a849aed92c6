"""From a recorded decision to a receiver over TLS, through the running jobs; and the log lines about it."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from agentgate.events.decision_ids import write_id
from agentgate.lib.settings.schema import Settings
from tests.api.admin.operating import refusal
from tests.support.events import new_event
from tests.support.http_receiver import make_certificate, receiver
from tests.support.mail_server import wait_for
from tests.support.service import NOON_MS, running_service
from tests.unit.events.webhooks.scene import ids_of, is_signed

SITE = "/v1/admin/sites/site_shop"


def test_decisions_reach_an_address_over_tls_and_survive_a_restart(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, certificate = make_certificate(tmp_path, "localhost")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    settings = replace(settings, webhook_private_hosts=("localhost",))
    with receiver(certificate) as server:
        with running_service(settings) as service:
            service.operator.post("/v1/admin/sites", json={"siteKey": "site_shop", "name": "Shop"})
            made = service.operator.post(f"{SITE}/webhooks", json={"url": server.url(), "events": ["decisions"]})
            secret, webhook_id = made.json()["secret"], made.json()["webhook"]["id"]
            tested = service.operator.post(f"{SITE}/webhooks/{webhook_id}/test").json()
            assert (tested["delivered"], tested["status"]) == (True, 200)
            site = service.run(_number(service))
            events = [new_event(number, site=site, time_ms=NOON_MS + 1) for number in range(3)]
            service.run(service.application.stores.events.write(events[:2]))
            service.clock.advance(seconds=5)
            wait_for(lambda: len(server.received) == 2)
            wait_for(lambda: service.operator.get(f"{SITE}/webhooks").json()["items"][0].get("lastDeliveryAt"))
            log = service.log.getvalue()
        with running_service(settings) as service:
            later = new_event(3, site=site, time_ms=NOON_MS + 2)
            service.run(service.application.stores.events.write([later]))
            service.clock.advance(seconds=9)
            wait_for(lambda: len(server.received) == 3)
            exported = service.operator.get(f"{SITE}/webhooks/{webhook_id}/deliveries").json()["items"]

    sample, first, second = server.received
    assert ids_of(sample) == ["dec_0000000000000"]
    assert ids_of(first) == [write_id(event.id) for event in events[:2]]
    assert ids_of(second) == [write_id(later.id)]
    assert all(is_signed(request, secret) for request in server.received)
    assert secret not in log
    assert {each["type"] for each in exported} == {"test", "decisions"}


def test_without_the_setting_nothing_here_is_reached(settings: Settings) -> None:
    with receiver() as server, running_service(settings) as service:
        service.operator.post("/v1/admin/sites", json={"siteKey": "site_shop", "name": "Shop"})
        refused = service.operator.post(f"{SITE}/webhooks", json={"url": server.url(), "events": ["decisions"]})
        assert refusal(refused) == (400, "invalid_request")
        hidden = {"url": server.url().replace("http:", "https:"), "events": ["decisions"]}
        webhook_id = service.operator.post(f"{SITE}/webhooks", json=hidden).json()["webhook"]["id"]
        tested = service.operator.post(f"{SITE}/webhooks/{webhook_id}/test").json()

    assert tested["error"] == "the name does not resolve to a public address"
    assert server.received == []


async def _number(service) -> int:
    store = service.application.stores.store
    site = await store.read.sites.find_site("site_shop", account_id=None)
    return await store.read.sites.find_number(site.id)
