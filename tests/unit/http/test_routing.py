"""Routing: raw paths, fixed segments before names, and what a path has when it lacks the method."""

import pytest

from agentgate.http.routing import Routes

TABLE = [
    ("GET", "/", "root"),
    ("GET", "/sites", "list"),
    ("POST", "/sites", "create"),
    ("GET", "/sites/{siteKey}", "read"),
    ("PATCH", "/sites/{key}", "change"),
    ("GET", "/sites/export", "export"),
    ("GET", "/sites/export/{day}/rows", "rows"),
    ("GET", "/sites/{siteKey}/credentials/{credId}", "credential"),
    ("GET", "/docs/", "index"),
]
ROUTES = Routes(TABLE)


@pytest.mark.parametrize(
    ("method", "path", "target", "params"),
    [
        ("GET", "/", "root", {}),
        ("GET", "/sites", "list", {}),
        ("POST", "/sites", "create", {}),
        ("HEAD", "/sites", "list", {}),
        ("GET", "/sites/a", "read", {"siteKey": "a"}),
        ("PATCH", "/sites/a", "change", {"key": "a"}),
        ("GET", "/sites/export", "export", {}),
        ("GET", "/sites/export/1/rows", "rows", {"day": "1"}),
        ("GET", "/sites/export/credentials/c", "credential", {"siteKey": "export", "credId": "c"}),
        ("GET", "/sites/a/credentials/c", "credential", {"siteKey": "a", "credId": "c"}),
        ("GET", "/sites/a%2Fb", "read", {"siteKey": "a%2Fb"}),
        ("GET", "/sites/..", "read", {"siteKey": ".."}),
        ("GET", "/docs/", "index", {}),
    ],
)
def test_a_path_is_found_with_its_names_as_they_came(method: str, path: str, target: str, params: dict) -> None:
    match = ROUTES.find(method, path)

    assert match is not None
    assert (match.target, match.params) == (target, params)


@pytest.mark.parametrize(
    "path",
    [
        "/site",
        "/sites/",
        "//sites",
        "/sites//credentials/c",
        "/sites/a/credentials/",
        "/sites/a/credentials",
        "/SITES",
        "/sites%2Fa",
        "/./sites",
        "/x/../sites",
        "/sites;x",
        "/docs",
        "/sites/a/credentials/c/",
        "/" + "/" * 8_000,
        "/a" * 4_000,
    ],
)
def test_any_other_spelling_is_unknown(path: str) -> None:
    assert ROUTES.find("GET", path) is None


def test_a_path_without_the_method_shows_which_it_has() -> None:
    for method in ("DELETE", "OPTIONS", "get", ""):
        match = ROUTES.find(method, "/sites")
        assert match is not None
        assert (match.target, match.methods) == (None, ("GET", "HEAD", "POST"))


def test_a_path_without_get_has_no_head() -> None:
    match = Routes([("POST", "/login", "login")]).find("HEAD", "/login")

    assert match is not None
    assert (match.target, match.methods) == (None, ("POST",))


@pytest.mark.parametrize("again", ["/sites/{siteKey}", "/sites/{other}"])
def test_a_row_that_is_twice_is_a_mistake(again: str) -> None:
    with pytest.raises(ValueError, match="twice"):
        Routes([*TABLE, ("GET", again, "second")])
