"""A site's summary: its health in one word, what must be done first coming first, and counts that are never missing."""

import itertools

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from agentgate.lib.enums import Mode, SiteHealthStatus, WidgetMode
from agentgate.lib.moment import Moment
from agentgate.sites.detail import QUIET, summarize
from agentgate.sites.records import CredentialCounts, Site, SiteAction, SiteRoute
from agentgate.sites.repository import ListedSite, SiteActivity

SITE = Site(
    id="st_1",
    customer_id="acc_1",
    site_key="site_shop",
    name="Shop",
    allowed_origins=["https://shop.example"],
    mode=Mode.ENFORCE,
    widget_mode=WidgetMode.MANAGED,
    actions={"login": SiteAction(browser_required=True)},
    routes=[SiteRoute(method="POST", action="login", path="/login")],
    form_method_override=True,
    clearance_without_script=False,
    created_at=Moment(1),
    updated_at=Moment(2),
)
SEEN = SiteActivity(today={"allow": 3}, last_event_at=Moment(9))


def listed(*, active: int = 1, total: int = 1, routes: bool = True) -> ListedSite:
    site = SITE if routes else replace(SITE, routes=[])
    return ListedSite(site=site, customer_name="Acme", credentials=CredentialCounts(active=active, total=total))


@pytest.mark.parametrize(("active", "routes", "seen"), list(itertools.product((0, 1), (False, True), (False, True))))
def test_what_must_be_done_first_is_what_the_health_shows(active: int, routes: bool, seen: bool) -> None:
    expected = SiteHealthStatus.OK
    if not seen:
        expected = SiteHealthStatus.NO_TRAFFIC
    if not routes:
        expected = SiteHealthStatus.NO_ROUTES
    if not active:
        expected = SiteHealthStatus.NO_CREDENTIALS

    summary = summarize(listed(active=active, routes=routes), SEEN if seen else QUIET)

    assert summary.health.status == expected
    assert summary.health.last_event_at == (Moment(9) if seen else UNSET)


def test_a_credential_that_is_revoked_does_not_count() -> None:
    assert summarize(listed(active=0, total=4), SEEN).health.status == SiteHealthStatus.NO_CREDENTIALS


def test_every_outcome_has_a_count_and_what_is_not_known_is_zero() -> None:
    assert summarize(listed(), SEEN).today == {"allow": 3, "challenge": 0, "block": 0, "drop": 0, "monitored": 0}
    assert set(summarize(listed(), QUIET).today.values()) == {0}


def test_two_sites_do_not_share_their_counts() -> None:
    first, second = summarize(listed(), SEEN), summarize(listed(), QUIET)

    assert first.today != second.today
    assert QUIET.today == {}


def test_a_summary_has_all_of_the_site_and_its_customers_name() -> None:
    summary = summarize(listed(), SEEN)

    assert {name: getattr(summary, name) for name in SITE.__struct_fields__} == {
        name: getattr(SITE, name) for name in SITE.__struct_fields__
    }
    assert (summary.customer_name, summary.credentials) == ("Acme", CredentialCounts(active=1, total=1))
