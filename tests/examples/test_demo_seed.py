"""The demo's data in the store: a site with all that the shop needs, and one working credential."""

import pytest

from agentgate.server.demo.installation import CREDENTIAL_NAME, DEMO_SITE_KEY, seed, seed_credential

SITE = f"/v1/admin/sites/{DEMO_SITE_KEY}"
SHOP = ("http://127.0.0.1:18090", "http://localhost:18090")


@pytest.fixture
def application(service):
    return service.application


def test_a_new_site_has_the_shops_origins_and_actions_and_seeding_again_changes_nothing(service, application):
    for _ in range(2):
        service.run(seed(application.stores.store, application.clock, origins=SHOP))
        service.clock.advance(seconds=5)

    site = service.operator.get(SITE).json()
    assert {"http://127.0.0.1:8090", "http://localhost:8090", *SHOP} <= set(site["allowedOrigins"])
    assert {"signup", "login", "comment", "api"} <= set(site["actions"])
    changes = service.operator.get(f"{SITE}/changes").json()["items"]
    assert [change["kind"] for change in changes] == ["site.update", "site.create"]


def test_a_site_of_an_earlier_release_gets_what_it_lacks_and_keeps_the_rest(service, application):
    own = {"allowedOrigins": ["https://mine.example"], "actions": {"login": {"browserRequired": False}}}
    made = service.operator.post("/v1/admin/sites", json={"siteKey": DEMO_SITE_KEY, "name": "Mine", **own})
    assert made.status_code == 201

    service.run(seed(application.stores.store, application.clock, origins=SHOP))

    site = service.operator.get(SITE).json()
    assert site["name"] == "Mine"
    assert site["allowedOrigins"][0] == "https://mine.example"
    assert {"http://127.0.0.1:8090", *SHOP} <= set(site["allowedOrigins"])
    assert site["actions"]["login"] == {"browserRequired": False}
    assert "comment" in site["actions"]


def test_the_credential_is_kept_while_it_works_and_replaced_when_it_does_not(service, application, tmp_path):
    store, clock = application.stores.store, application.clock
    path = tmp_path / "demo-shop.json"
    service.run(seed(store, clock))
    first = service.run(seed_credential(store, clock, path))
    assert service.run(seed_credential(store, clock, path)) == first

    path.write_text("half a fi")
    second = service.run(seed_credential(store, clock, path))

    assert second != first
    assert service.run(seed_credential(store, clock, path)) == second
    site = service.run(store.read.sites.find_site(DEMO_SITE_KEY, account_id=None))
    credentials = service.run(store.read.credentials.list_credentials(site.id))
    assert [each.name for each in credentials] == [CREDENTIAL_NAME] * 2
    assert [each.is_current() for each in credentials].count(True) == 1


def test_a_site_without_room_for_a_credential_is_reported_and_nothing_is_revoked(service, application, tmp_path):
    store, clock = application.stores.store, application.clock
    service.run(seed(store, clock))
    for _ in range(3):
        assert service.operator.post(f"{SITE}/credentials", json={}).status_code == 201

    assert service.run(seed_credential(store, clock, tmp_path / "demo-shop.json")) == ""
