"""Protection while a site is busy: challenges, counted page loads, and permissions."""

import time
from typing import Any

import pytest

from agentgate.events.webhooks.health import noticed
from agentgate.events.webhooks.records import Progress
from agentgate.lib.clock import HOUR_MS
from agentgate.lib.enums import HealthSeverity, LoadState
from agentgate.lib.moment import Moment
from agentgate.sites.records import SiteLoad
from tests.api.console.steps import CONSOLE, refusal
from tests.support.cast import Cast, cast
from tests.support.service import RunningService
from tests.support.traffic_site import Site, visitor_of

ADDRESS = "81.2.79.1"


@pytest.fixture
def site(service: RunningService) -> Site:
    return Site(service)


@pytest.fixture
def people(service: RunningService) -> Cast:
    return cast(service)


def set_load(site: Site, state: LoadState) -> None:
    """Put a site into a state, as the job does."""
    service = site.service
    load = SiteLoad(state=state, since=Moment(service.clock.now_ms()), pages_per_minute=2_000, usual_per_minute=90)
    site_id = service.operator.get(f"/v1/admin/sites/{site.key}").json()["id"]

    async def work(stores: Any) -> None:
        await stores.sites.save_load(site_id, load)
        await stores.configuration.bump_site(site_id)

    service.change(work)


def page(site: Site, cookie: str = "", address: str = ADDRESS) -> int:
    visit = visitor_of(address).navigation(1, cookie)
    return site.status((visit.url, "", visit.headers), address)


def wait_for_page(site: Site, expected: int, cookie: str = "") -> None:
    deadline = time.monotonic() + 20
    while (found := page(site, cookie)) != expected:
        assert time.monotonic() < deadline, f"still {found}"
        time.sleep(0.05)


def health(site: Site) -> list[dict[str, Any]]:
    found = site.service.operator.get(f"/v1/admin/sites/{site.key}/health").json()["checks"]
    return [check for check in found if check["check"] == "site_busy"]


def test_visitors_are_challenged_only_while_the_site_is_busy(site: Site) -> None:
    site.change(wholeSite=True, wholeSiteWhen="busy")
    assert page(site) == 204
    assert health(site) == []

    set_load(site, LoadState.BUSY)
    wait_for_page(site, 401)
    cookie = site.clearance(visitor_of(ADDRESS))
    assert page(site, cookie) == 204
    name, _, value = cookie.partition("=")
    for forged in (f"{name}={value[:-8]}AAAAAAAA", f"{name}=1", "session=signed-in; admin=1"):
        assert page(site, forged) == 401
    assert site.status((visitor_of(ADDRESS).navigation(1).url, "", [("Authorization", "Bearer x")]), ADDRESS) in (
        401,
        403,
    )
    [check] = health(site)
    assert "2,000 a minute" in check["message"]
    assert check["severity"] == "warning"
    found = site.service.operator.get(f"/v1/admin/sites/{site.key}").json()
    assert (found["load"]["state"], found["load"]["usualPerMinute"]) == ("busy", 90)

    set_load(site, LoadState.NORMAL)
    wait_for_page(site, 204)


def test_always_needs_no_load_and_load_does_not_switch_protection_on(site: Site) -> None:
    site.change(wholeSite=True)
    assert page(site) == 401
    site.change(wholeSite=False, wholeSiteWhen="busy")
    set_load(site, LoadState.FLOOD)
    wait_for_page(site, 204)


def test_rules_read_the_labels(site: Site) -> None:
    rule = {"name": "calm", "match": {"any_labels": ["site.flood"]}, "action": "block"}
    rule_set = {"version": "1", "rules": [rule], "default_action": "allow"}
    path = f"/v1/admin/sites/{site.key}/rules"
    assert site.service.operator.put(path, json={"ruleSet": rule_set, "revision": 0}).status_code == 200
    assert page(site) == 204
    set_load(site, LoadState.BUSY)
    wait_for_page(site, 204)
    set_load(site, LoadState.FLOOD)
    wait_for_page(site, 403)


def test_a_declared_attack_ends_after_an_hour_or_at_once(site: Site) -> None:
    site.change(underAttack=True)
    assert page(site) == 401
    assert "under attack until" in health(site)[0]["message"]
    site.change(underAttack=False)
    assert page(site) == 204
    site.change(underAttack=True, actions={"submit": {"browserRequired": True}})
    assert "visit" in site.service.operator.get(f"/v1/admin/sites/{site.key}").json()["actions"]
    site.service.clock.advance(seconds=HOUR_MS // 1000 - 60)
    assert page(site) == 401
    site.service.clock.advance(seconds=61)
    wait_for_page(site, 204)


def test_declaring_an_attack_needs_a_permission_and_measurements_are_read_only(people: Cast) -> None:
    key = people.alice.post(f"{CONSOLE}/sites", json={"name": "Shop"}).json()["siteKey"]
    path = f"{CONSOLE}/sites/{key}"
    assert refusal(people.rita.patch(path, json={"underAttack": True})) == (403, "forbidden")
    assert refusal(people.carol.patch(path, json={"underAttack": True})) == (404, "site_not_found")
    for field, value in (("load", {}), ("underAttackUntil", "2099-01-01T00:00:00Z")):
        assert refusal(people.alice.patch(path, json={field: value})) == (400, "forbidden_field")
    assert refusal(people.alice.patch(path, json={"wholeSiteWhen": "never"}))[0] == 400
    changed = people.alice.patch(path, json={"underAttack": True}).json()
    assert changed["underAttackUntil"].endswith("Z")
    assert "underAttackUntil" in str(people.alice.get(path).json()["changes"][0])


def counted(site: Site, at_least: int) -> int:
    """Return how many page loads of a site are counted, once there are enough."""
    service = site.service
    view = service.application.refresher.sites.find(site.key)
    assert view is not None
    deadline = time.monotonic() + 20
    while True:
        pages = service.run(service.application.stores.site_health.list_pages(0))
        found = sum(each for (site_number, _), each in pages.items() if site_number == view.number)
        if found >= at_least:
            return found
        assert time.monotonic() < deadline, f"still {found}"
        time.sleep(0.05)


def test_one_address_counts_five_times_and_people_with_a_clearance_not_at_all(site: Site) -> None:
    visitor = visitor_of(ADDRESS)
    cookie = site.clearance(visitor)
    for _ in range(12):
        assert page(site, cookie) == 204
    for _ in range(60):
        assert page(site, "agc=forged; session=1", address="81.2.79.99") == 204
    for last in range(2, 7):
        assert page(site, address=f"81.2.79.{last}") == 204

    assert counted(site, 10) == 10


def test_a_webhook_reports_a_busy_site_with_unchanged_health(service: RunningService, site: Site) -> None:
    application = service.application
    site_id = service.operator.get(f"/v1/admin/sites/{site.key}").json()["id"]

    def read() -> Any:
        return service.run(application.sites.health.read(site_id, site.key, service.clock.now_ms()))

    progress = Progress(position=0, next_attempt_ms=0, health_told=HealthSeverity.WARNING.value)
    set_load(site, LoadState.FLOOD)
    told = noticed(progress, read())

    assert told.health_body is not None
    assert b'"site_busy"' in told.health_body
    assert b'"previous":"warning"' in told.health_body
    after = Progress(position=0, next_attempt_ms=0, health_told=told.health_next)
    assert noticed(after, read()) == after
