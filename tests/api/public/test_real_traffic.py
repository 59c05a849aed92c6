"""Traffic of an ordinary site, with the server's default rules in enforce mode: every visitor's page works.

Each test covers a failure that was observed: images that count, people behind one address, certificate renewal,
robots.txt, calendars.
"""

from collections.abc import Iterator

import pytest

from agentgate.lib.clock import FixedClock
from agentgate.lib.settings.schema import read_settings
from tests.population.programs import WEBHOOKS
from tests.population.visitors import ORIGIN, Visitor
from tests.support.service import ADMIN_KEY, NOON_MS, RunningService, running_service
from tests.support.traffic_site import Site, visitor_of


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    environ = {
        "AGENTGATE_DATA_DIR": str(tmp_path_factory.mktemp("traffic") / "data"),
        "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
        "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
        "AGENTGATE_DRAIN_SECONDS": "0",
        "AGENTGATE_CONFIRM_CRAWLERS": "off",
    }
    with running_service(read_settings(environ), FixedClock(NOON_MS)) as running:
        yield running


@pytest.fixture
def site(service: RunningService) -> Site:
    return Site(service)


def part(visitor: Visitor, destination: str, path: str) -> tuple[str, str, list[tuple[str, str]]]:
    request = visitor.part(destination, path)
    return request.url, "", request.headers


def test_a_page_has_any_number_of_files_and_thirty_parts_without_an_extension(site: Site) -> None:
    for address, form, number in (("81.2.69.1", "/img/{}.png", 400), ("81.2.69.2", "/picture/{}", 30)):
        visitor = visitor_of(address)

        assert site.statuses(visitor, range(1)) == [204]
        found = [site.status(part(visitor, "image", form.format(each)), address) for each in range(number)]
        assert found == [204] * number


def test_six_people_behind_one_address_read_twelve_pages_each(site: Site) -> None:
    found = [site.statuses(visitor_of("81.2.70.1", number), range(12)) for number in range(6)]

    assert found == [[204] * 12] * 6


def test_seven_hundred_pages_from_one_network_in_a_minute_are_allowed(site: Site) -> None:
    found = [site.statuses(visitor_of(f"81.2.71.{number + 1}"), range(4)) for number in range(175)]

    assert found == [[204] * 4] * 175


def test_a_program_in_a_browsers_headers_that_reads_pages_only_is_challenged_past_its_budget(site: Site) -> None:
    visitor = visitor_of("81.2.72.1")
    found = [site.statuses(visitor, range(1, 2))[0] for _ in range(300)]

    assert found[:150] == [204] * 150
    assert found[200:] == [401] * 100


def test_saying_that_a_page_is_a_picture_buys_no_pages(site: Site) -> None:
    visitor = visitor_of("81.2.73.1")
    found = [site.status(part(visitor, "image", f"/products/{number}"), visitor.address) for number in range(250)]

    # An image request cannot solve a challenge: past the budget it is blocked.
    assert found == [204] * 12 + [403] * 238


def test_where_a_page_must_give_proof_a_picture_without_a_page_is_rejected(site: Site) -> None:
    """An image request cannot solve a challenge: AgentGate allows it after an allowed page, and blocks it otherwise."""
    rules = {"version": "1", "rules": [], "default_action": "challenge"}
    saved = site.service.operator.put(f"/v1/admin/sites/{site.key}/rules", json={"ruleSet": rules, "revision": 0})
    assert saved.status_code == 200, saved.text
    visitor = visitor_of("81.2.73.9")

    assert site.status(part(visitor, "image", "/picture/1.png"), visitor.address) == 403
    assert site.status(part(visitor, "image", "/picture/1"), visitor.address) == 401


def test_a_picture_that_accepts_a_page_is_challenged_and_one_that_belongs_to_none_counts_as_a_page(site: Site) -> None:
    visitor = visitor_of("81.2.74.1")
    url, _, headers = part(visitor, "image", "/products/1")

    def statuses_with(name: str, value: str, address: str) -> list[int]:
        changed = [(each, value if each.lower() == name.lower() else old) for each, old in headers]
        return [site.status((url, "", changed), address) for _ in range(250)]

    assert set(statuses_with("Accept", "text/html,*/*", "81.2.74.2")) == {401}
    alone = statuses_with("Sec-Fetch-Site", "none", "81.2.74.3")
    assert (alone[0], alone[-1]) == (204, 401)


def test_with_a_clearance_the_browser_counts_and_not_its_neighbours(site: Site) -> None:
    visitor = visitor_of("81.2.75.1")
    flood = [site.statuses(visitor, range(1, 2))[0] for _ in range(300)]
    request = visitor.navigation(1, site.clearance(visitor))

    assert flood[-1] == 401
    assert site.status((request.url, "", request.headers), visitor.address) == 204


def test_a_program_with_a_wanted_name_passes_where_its_name_alone_does_not(site: Site) -> None:
    named = [
        ("User-Agent", "Mozilla/5.0 (compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)"),
        ("Accept", "*/*"),
    ]
    asked = [site.status((f"{ORIGIN}/", "", named), f"3.80.{number}.1") for number in range(1, 31)]
    site.change(wholeSite=True, wantedPrograms=["UptimeRobot"])

    assert asked == [204] * 20 + [401] * 10
    assert site.status((f"{ORIGIN}/", "", named), "3.80.99.1") == 204


def test_a_route_for_all_paths_leaves_standards_and_feeds_open_and_their_own_route_does_not(site: Site) -> None:
    paths = (
        "/robots.txt",
        "/favicon.ico",
        "/.well-known/security.txt",
        "/.well-known/acme-challenge/x",
        "/feed/",
        "/rss.xml",
    )
    curl = [("User-Agent", "curl/8.9.1"), ("Accept", "*/*")]

    site.change(routes=[{"method": "*", "pathPrefix": "/", "action": "open"}])
    assert [site.status((ORIGIN + path, "", curl), "81.2.76.1") for path in paths] == [204] * len(paths)
    odd = ("/.well-known/../account", "/.well-known/%2e%2e/account", "//robots.txt", "/robots.txt/", "/account/feed")
    assert {site.status((ORIGIN + path, "", curl), "81.2.76.1") for path in odd} == {401}

    site.change(
        routes=[
            {"method": "GET", "path": "/robots.txt", "action": "open"},
            {"method": "GET", "pathPrefix": "/blog/", "action": "open"},
        ]
    )
    assert site.status((f"{ORIGIN}/robots.txt", "", curl), "81.2.76.1") == 401
    assert site.status((f"{ORIGIN}/blog/feed/", "", curl), "81.2.76.1") == 401


def test_a_calendar_is_read_on_a_site_with_routes(site: Site) -> None:
    site.change(
        routes=[
            {"method": "POST", "path": "/login", "action": "open"},
            {"method": "GET", "pathPrefix": "/members", "action": "open"},
        ]
    )
    headers = [
        ("User-Agent", "DAVx5/4.3.13-ose (dav4jvm; okhttp/4.12.0) Android/14"),
        ("Depth", "1"),
        ("Accept", "*/*"),
    ]
    headers.append(("Content-Type", "application/xml; charset=utf-8"))

    for method in ("PROPFIND", "REPORT", "OPTIONS", "PUT"):
        assert site.status((f"{ORIGIN}/dav/calendars/ann/", "", headers), "84.12.7.9", method) == 204, method


def test_a_webhooks_header_does_not_open_a_sign_in(site: Site) -> None:
    forged = [
        ("User-Agent", "python-requests/2.32.3"),
        ("Content-Type", "application/json"),
        ("Stripe-Signature", "t=1,v1=0"),
    ]

    assert site.status((f"{ORIGIN}/login", "", forged), "81.2.77.1", "POST") == 401
    assert site.status((f"{ORIGIN}/wp-login.php", "", forged), "81.2.77.1", "POST") == 401


def test_a_path_is_opened_to_one_sender_by_network_by_signature_or_to_anyone(site: Site) -> None:
    post = [("User-Agent", "python-requests/2.32.3"), ("Content-Type", "application/json")]
    site.change(
        routes=[{"method": "*", "pathPrefix": "/", "action": "open"}],
        openPaths=[
            {"path": "/pay/stripe", "sender": "stripe"},
            {"path": "/pay/shopify", "sender": "shopify"},
            {"path": "/partner/*", "sender": "203.0.113.0/24", "note": "the warehouse"},
            {"path": "/status", "sender": "anyone"},
        ],
    )

    def asked(path: str, address: str, *more: tuple[str, str]) -> int:
        return site.status((ORIGIN + path, "", [*post, *more]), address, "POST")

    assert asked("/pay/stripe", "3.18.12.63") == 204
    assert asked("/pay/stripe", "81.2.78.1", ("Stripe-Signature", "t=1")) == 401
    assert asked("/pay/shopify", "81.2.78.1", ("X-Shopify-Hmac-Sha256", "x")) == 204
    assert asked("/pay/shopify", "81.2.78.1", ("Stripe-Signature", "x")) == 401
    assert asked("/partner/stock/7", "203.0.113.9") == 204
    assert asked("/partner/../login", "203.0.113.9") == 401
    assert asked("/partner/stock/7", "203.0.114.9") == 401
    assert asked("/status", "81.2.78.1") == 204
    assert asked("/status/more", "81.2.78.1") == 401


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"path": "hooks", "sender": "stripe"}, "openPaths[0].path must be plain"),
        ({"path": "/", "sender": "anyone"}, "/ alone cannot be allowed"),
        ({"path": "/*", "sender": "anyone"}, "/ alone cannot be allowed"),
        ({"path": "/a/../b", "sender": "anyone"}, "path must be plain"),
        (
            {"path": "/hooks", "sender": "nobody"},
            "must be anyone, programs, name:NAME (a-z, 0-9, _), an address or network, or one of: adyen",
        ),
        ({"path": "/hooks", "sender": "stripe", "note": "x" * 201}, "note may have at most 200"),
    ],
)
def test_a_wrong_open_path_is_rejected_with_what_would_be_right(site: Site, entry: dict[str, str], said: str) -> None:
    reply = site.service.operator.patch(f"/v1/admin/sites/{site.key}", json={"openPaths": [entry]})

    assert reply.status_code == 400
    assert reply.json()["error"] == "invalid_site"
    assert said in reply.json()["message"]


def test_whole_site_protection_asks_browsers_once_and_every_program(site: Site) -> None:
    site.change(wholeSite=True)
    visitor = visitor_of("81.2.79.1")
    cleared = visitor.navigation(1, site.clearance(visitor))

    assert site.statuses(visitor, range(2)) == [401, 401]
    assert site.status((cleared.url, "", cleared.headers), visitor.address) == 204
    # A page that was not allowed has no parts, whatever they are called.
    assert site.status(part(visitor, "image", "/products/1.png"), visitor.address) == 403
    assert site.status((f"{ORIGIN}/", "", [("User-Agent", "Foo/1.0"), ("Accept-Language", "en")]), "81.2.79.2") == 401


def test_whole_site_protection_brings_the_action_whose_check_allows_visitors(site: Site) -> None:
    address = f"/v1/admin/sites/{site.key}"
    site.change(wholeSite=False, actions={"submit": {"browserRequired": True}})
    before = site.service.operator.get(address).json()["actions"]
    site.change(wholeSite=True)
    after = site.service.operator.get(address).json()["actions"]
    site.change(wholeSite=True, actions={"members": {"browserRequired": True, "clearance": True}})

    assert "visit" not in before
    assert after["visit"] == {"browserRequired": True, "clearance": True}
    assert list(site.service.operator.get(address).json()["actions"]) == ["members"]


def test_both_settings_are_read_back_and_are_in_the_trail(site: Site) -> None:
    site.change(wholeSite=True, openPaths=[{"path": "/hooks", "sender": "stripe"}])
    found = site.service.operator.get(f"/v1/admin/sites/{site.key}").json()

    assert found["wholeSite"] is True
    assert found["openPaths"] == [{"path": "/hooks", "sender": "stripe"}]
    assert "wholeSite" in str(found["changes"][0])


def test_there_are_webhooks_of_more_than_thirty_services() -> None:
    assert len({name for name, *_ in WEBHOOKS}) > 30
