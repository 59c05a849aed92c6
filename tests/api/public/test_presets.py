"""Presets at the gateway: what claims open nothing, what passes as a protocol, and how a preset is set and shown."""

import time
from typing import Any

import pytest

from tests.api.console.steps import CONSOLE, refusal
from tests.support.browser_client import create_site
from tests.support.cast import cast
from tests.support.service import RunningService
from tests.support.traffic_site import Site, visitor_of

ADDRESS = "81.2.79.41"
GIT = [("Host", "shop.example"), ("User-Agent", "git/2.47.3"), ("Accept", "*/*")]
PACK = ("Content-Type", "application/x-git-upload-pack-request")
BLAME = "/o/r/blame/branch/main/a.js"
REFS = "/o/r.git/info/refs?service=git-upload-pack"


@pytest.fixture
def site(service: RunningService) -> Site:
    found = Site(service)
    set_preset(service, found.key, "forgejo")
    return found


def set_preset(service: RunningService, site_key: str, preset: str, **more: Any) -> Any:
    path = f"/v1/admin/sites/{site_key}/rules"
    body = {"revision": service.operator.get(path).json()["revision"], "preset": preset, **more}
    return service.operator.put(path, json=body)


def ask(site: Site, path: str, headers: list[tuple[str, str]], method: str = "GET", address: str = ADDRESS) -> int:
    origin = visitor_of(address).navigation(1).url.split("/", 3)
    return site.status(("/".join(origin[:3]) + path, "", headers), address, method)


def browser(*more: tuple[str, str], cookie: str = "", address: str = ADDRESS) -> list[tuple[str, str]]:
    changed = {name.lower() for name, _ in more}
    sent = visitor_of(address).navigation(1, cookie).headers
    return [*(each for each in sent if each[0].lower() not in changed), *more]


def wait_for(site: Site, path: str, expected: int, headers: list[tuple[str, str]], **more: str) -> None:
    deadline = time.monotonic() + 20
    while (found := ask(site, path, headers, **more)) != expected:
        assert time.monotonic() < deadline, f"still {found}"
        time.sleep(0.05)


def test_costly_pages_need_a_clearance_and_no_claim_replaces_it(site: Site) -> None:
    wait_for(site, BLAME, 401, browser())

    for claim in (
        ("Cookie", "i_like_gitea=0123456789abcdef; _session=1"),
        ("X-Gitea-OTP", "123456"),
        ("User-Agent", "git/2.47.3"),
        ("Content-Type", "application/vnd.git-lfs+json"),
    ):
        assert ask(site, BLAME, browser(claim)) in {401, 403}, claim
    assert ask(site, BLAME, GIT) in {401, 403}
    assert ask(site, "/o/r/src/branch/main/a.js", browser()) == 204
    cookie = site.clearance(visitor_of(ADDRESS))
    assert ask(site, BLAME, browser(cookie=cookie)) == 204


def test_a_costly_file_does_not_pass_as_a_subresource(site: Site) -> None:
    wait_for(site, BLAME, 401, browser())
    visitor = visitor_of(ADDRESS)
    files = {path: visitor.part("script", path) for path in ("/assets/index.js", BLAME)}

    # The page pays for its files.
    assert ask(site, "/o/r", browser()) == 204
    assert site.status(("https://shop.example/assets/index.js", "", files["/assets/index.js"].headers), ADDRESS) == 204
    assert site.status((f"https://shop.example{BLAME}", "", files[BLAME].headers), ADDRESS) in {401, 403}


def test_whole_site_protection_lets_only_protocols_pass(site: Site) -> None:
    site.change(wholeSite=True)
    wait_for(site, "/o/r", 401, browser())

    assert ask(site, REFS, GIT) == 204
    assert ask(site, "/o/r.git/git-upload-pack", [*GIT, PACK], "POST") == 204
    for path, headers, method in (
        ("/o/r.git/git-upload-pack", [*GIT, ("Content-Type", "text/html")], "POST"),
        ("/o/r.git/git-upload-pack", [*GIT, PACK], "GET"),
        ("/o/r/src/branch/main/info/refs?service=git-upload-pack", GIT, "GET"),
        ("/o/r;/info/refs?service=git-upload-pack", GIT, "GET"),
        ("//o/r/info/refs?service=git-upload-pack", GIT, "GET"),
        ("/o/r/blame/branch/main/info/refs?service=git-upload-pack", GIT, "GET"),
        ("/o/r", GIT, "GET"),
    ):
        assert ask(site, path, headers, method) in {401, 403}, path


def test_a_declared_route_keeps_its_requirement(site: Site) -> None:
    site.change(
        actions={"open": {"browserRequired": True, "clearance": True}},
        routes=[{"method": "*", "pathPrefix": "/o/", "action": "open"}],
    )

    wait_for(site, REFS, 401, GIT)


def test_a_preset_is_shown_recorded_kept_and_ended(service: RunningService) -> None:
    site = Site(service)
    path = f"/v1/admin/sites/{site.key}/rules"
    before = service.operator.get(path).json()
    saved = set_preset(service, site.key, "cgit", overrides={"app-cgit-history": "count"}).json()
    own = {"version": "1", "rules": [], "default_action": "allow"}
    kept = service.operator.put(path, json={"revision": saved["revision"], "ruleSet": own}).json()
    ended = set_preset(service, site.key, "none").json()

    assert (before["preset"], saved["preset"], kept["preset"], ended["preset"]) == ("none", "cgit", "cgit", "none")
    assert (before["source"], saved["source"], kept["source"]) == ("server", "server", "site")
    actions = {item["name"]: item["action"] for item in saved["effective"]["rules"]}
    assert actions["app-cgit-history"] == "count"
    assert next(item["name"] for item in kept["effective"]["rules"]) == "app-cgit-history"
    assert all(not item["name"].startswith("app-") for item in ended["effective"]["rules"])
    changes = service.operator.get(f"/v1/admin/sites/{site.key}").json()["changes"]
    assert [change["detail"].get("preset") for change in changes if "revision" in change.get("detail", {})] == [
        {"from": "cgit", "to": "none"},
        None,
        {"from": "none", "to": "cgit"},
    ]


def test_a_draft_is_tried_with_the_preset_of_the_site_or_its_own(site: Site) -> None:
    path = f"/v1/admin/sites/{site.key}/rules"
    request = {"method": "GET", "url": f"https://shop.example{BLAME}", "headers": dict(browser()), "address": ADDRESS}
    call = site.service.operator.post

    assert call(f"{path}/test", json={"request": request}).json()["rule"] == "app-gitea-history"
    assert call(f"{path}/test", json={"request": request, "preset": "none"}).json().get("rule") is None
    checked = call(f"{path}/validate", json={"overrides": {"app-gitea-history": "block"}}).json()
    assert checked["valid"], checked
    assert not call(f"{path}/validate", json={"preset": "cgit", "overrides": {"app-gitea-query": "block"}}).json()[
        "valid"
    ]
    assert call(f"{path}/backtest", json={"preset": "cgit"}).status_code == 200


def test_a_site_without_a_clearance_cannot_have_a_preset(service: RunningService) -> None:
    key = create_site(service, actions={"login": {"browserRequired": True}})

    assert refusal(set_preset(service, key, "gitlab")) == (400, "invalid_request")
    assert refusal(set_preset(service, key, "jira")) == (400, "invalid_request")
    assert service.operator.get(f"/v1/admin/sites/{key}/rules").json()["preset"] == "none"


def test_only_members_who_may_write_set_a_preset(service: RunningService) -> None:
    people = cast(service)
    site = people.alice.post(
        f"{CONSOLE}/sites",
        json={"name": "Git", "allowedOrigins": ["https://git.example"], "wholeSite": True},
    ).json()
    path = f"{CONSOLE}/sites/{site['siteKey']}/rules"

    assert people.alice.put(path, json={"revision": 0, "preset": "gitea"}).json()["preset"] == "gitea"
    assert people.rita.put(path, json={"revision": 1, "preset": "none"}).status_code == 403
