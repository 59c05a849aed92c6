"""Headers of a visitor that name another target, through every proxy: judged like the target, or removed."""

import pytest

from agentgate.gateway.request.target_headers import TARGET_HEADERS
from tests.proxies.visiting import Installed

PROTECTED = "/members"
SPELLINGS = {
    "hyphens": lambda name: name.title(),
    "underscores": lambda name: name.replace("-", "_"),
    "dots": lambda name: name.replace("-", "."),
}


def unjudged(installed: Installed, name: str, more: list[tuple[str, str]]) -> str | None:
    """Return what went wrong: the site received a protected target that AgentGate did not judge."""
    before = len(installed.site.asked)
    told = installed.visit("GET", "/page", headers=[(name, PROTECTED), *more])
    named = [f"{found}: {text}" for asked in installed.site.asked[before:] for found, text in asked.headers]
    if any(PROTECTED in text for text in named):
        return f"{name}: the site got {named}"
    return None if told.status in {200, 400, 401, 403} else f"{name}: {told.status}"


def test_the_names_are_many() -> None:
    assert len(TARGET_HEADERS) >= 50


@pytest.mark.parametrize("listed", [False, True], ids=["", "listed in Connection"])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_header_names_a_protected_route_unchecked(installed: Installed, spelling: str, listed: bool) -> None:
    problems = []
    for name in sorted(TARGET_HEADERS):
        spelled = SPELLINGS[spelling](name)
        more = [("Connection", f"keep-alive, {spelled}")] if listed else []
        problems.append(unjudged(installed, spelled, more))

    assert [problem for problem in problems if problem is not None] == []


@pytest.mark.parametrize("name", ["X-Rewrite-URL", "X-Original-URL", "X-Original-URI", "X-Path-Info"])
def test_a_header_with_a_protected_target_is_denied(installed: Installed, name: str) -> None:
    told = installed.visit("GET", "/page", headers=[(name, PROTECTED)])

    assert (told.status, told.json["reason"]) == (401, "receipt_required")
    assert installed.visit("GET", "/page", headers=[(name, "/other")]).status == 200
