"""The preset of a forge behind real proxies: method, path, query and content type reach the rules unchanged."""

from collections.abc import Iterator

import pytest

from tests.proxies.visiting import NAVIGATION, Installed

GIT = [("Host", "shop.example"), ("User-Agent", "git/2.47.3"), ("Accept", "*/*")]
FETCH = [*GIT, ("Content-Type", "application/x-git-upload-pack-request")]
LFS = [*GIT, ("Content-Type", "application/vnd.git-lfs+json"), ("Accept", "application/vnd.git-lfs+json")]
DENIED = {401, 403}
COSTLY = ("/o/r/blame/branch/main/a.c", "/o/r/archive/main.zip", "/o/r/compare/a...b", "/o/r/issues?q=x")


@pytest.fixture
def forge(site: Installed) -> Iterator[None]:
    """The preset and whole-site protection, for the length of a test."""
    path, rules = f"/v1/admin/sites/{site.site_key}", f"/v1/admin/sites/{site.site_key}/rules"
    call = site.service.operator
    before, present = call.get(path).json(), call.get(rules).json()
    actions = {**before["actions"], "visit": {"browserRequired": True, "clearance": True}}
    changed = call.patch(path, json={"wholeSite": True, "actions": actions})
    assert changed.status_code == 200, changed.text
    saved = call.put(rules, json={"revision": present["revision"], "preset": "forgejo"})
    assert saved.status_code == 200, saved.text
    yield
    # Other tests share the site, and maybe its rules.
    own = {"ruleSet": present["ruleSet"]} if present["source"] == "site" else {}
    restored = call.put(rules, json={**own, "revision": saved.json()["revision"], "preset": "none"})
    assert restored.status_code == 200, restored.text
    assert call.patch(path, json={"wholeSite": False, "actions": before["actions"]}).status_code == 200


def test_clones_pass_and_costly_pages_need_a_check(installed: Installed, forge: None) -> None:
    assert installed.visit("GET", "/o/r.git/info/refs?service=git-upload-pack", usual=GIT).status == 200
    assert installed.visit("POST", "/o/r.git/git-upload-pack", usual=FETCH, body=b"0000").status == 200
    assert installed.visit("POST", "/o/r.git/info/lfs/objects/batch", usual=LFS, body=b"{}").status == 200

    for path in COSTLY:
        forged = [*NAVIGATION, ("Cookie", "i_like_gitea=0123456789abcdef"), ("Authorization", "Bearer 0123456789")]
        for headers in (NAVIGATION, forged, FETCH, LFS):
            assert installed.visit("GET", path, usual=headers).status in DENIED, (path, headers)
    for method, path in (
        ("GET", "/o/r.git/git-upload-pack"),
        ("GET", "/o/r/blame/branch/main/info/refs?service=git-upload-pack"),
        ("GET", "/o/r;x/info/refs?service=git-upload-pack"),
        ("GET", "/o/r/%62lame/branch/main/a.c"),
        ("GET", "//o/r/blame/branch/main/a.c"),
    ):
        assert installed.visit(method, path, usual=FETCH).status not in {200, 204}, path
    assert installed.visit("POST", "/o/r.git/git-upload-pack", usual=GIT, body=b"0000").status in DENIED
