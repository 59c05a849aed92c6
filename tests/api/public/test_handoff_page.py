"""The page of a handoff: its content and decisions, the scope of its check, and visitors without access."""

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agentgate.lib.ids import new_handoff_id
from tests.support.browser_client import BrowserClient
from tests.support.handoff import CONTENT, HandoffScene
from tests.support.service import RunningService


@pytest.fixture(scope="module")
def scene(shared_service: RunningService) -> HandoffScene:
    return HandoffScene(shared_service)


def approve(scene: HandoffScene, handoff_id: str, **fields: Any) -> None:
    reply = scene.choose(handoff_id, "approve", **fields)
    assert (reply.status_code, "<h1>Approved</h1>" in reply.text) == (200, True), reply.text


def test_without_the_check_nothing_is_decided(scene: HandoffScene) -> None:
    handoff = scene.open(submission_id="unchecked")
    other = scene.open(submission_id="unchecked-2")
    tokens = {
        "none": "",
        "junk": "a.b.c",
        "another handoff's": scene.token(other.id),
        "the site's": scene.token(scene.site_key),
        "for another action": scene.token(handoff.id, action="order"),
    }
    for name, token in tokens.items():
        reply = scene.choose(handoff.id, "approve", token=token)
        assert (reply.status_code, "was not saved" in reply.text) == (403, True), name
    assert scene.poll(handoff.id).json()["status"] == "pending"


def test_the_token_of_the_check_is_spent_by_deciding(scene: HandoffScene) -> None:
    handoff = scene.open(submission_id="once")
    token = scene.token(handoff.id)
    approve(scene, handoff.id, token=token)

    assert scene.redeem(token).json()["error"] == "invalid_credential"
    assert scene.choose(handoff.id, "decline", token=token).status_code == 410
    assert scene.poll(handoff.id).json()["status"] == "completed"


def test_of_people_who_approve_and_decline_at_once_one_is_heard(scene: HandoffScene) -> None:
    for turn in range(3):
        handoff = scene.open(submission_id=f"race-{turn}")
        forms = [(choice, scene.token(handoff.id)) for choice in ("approve", "decline") * 4]
        with ThreadPoolExecutor(8) as threads:
            begun = [threads.submit(scene.choose, handoff.id, choice, token=token) for choice, token in forms]
            replies = [future.result() for future in begun]

        statuses = sorted(reply.status_code for reply in replies)
        assert statuses == [200, *[410] * 7]
        [heard] = [choice for (choice, _), reply in zip(forms, replies, strict=True) if reply.status_code == 200]
        expected = {"approve": "completed", "decline": "declined"}[heard]
        assert scene.poll(handoff.id).json()["status"] == expected


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "", "Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "null"},
    ],
)
def test_a_form_of_another_site_decides_nothing(scene: HandoffScene, headers: dict[str, str]) -> None:
    handoff = scene.open(submission_id="cross")
    reply = scene.choose(handoff.id, "approve", headers=headers)

    assert reply.status_code == 403
    assert reply.headers["content-type"].startswith("text/html")
    assert scene.poll(handoff.id).json()["status"] == "pending"


@pytest.mark.parametrize(
    "fields",
    [
        {"uses": "0"},
        {"uses": "101"},
        {"uses": "1e2"},
        {"hours": "721"},
        {"hours": "0"},
        {"remember": "yes"},
        {"x": "1"},
    ],
)
def test_a_form_with_anything_else_is_rejected_as_a_page(scene: HandoffScene, fields: dict[str, str]) -> None:
    handoff = scene.open(submission_id="form")
    reply = scene.choose(handoff.id, "approve", **fields)

    assert reply.status_code == 400
    assert reply.text.startswith("<!doctype html>")
    assert scene.poll(handoff.id).json()["status"] == "pending"


def test_the_page_shows_who_asks_for_what_and_nothing_as_markup(scene: HandoffScene) -> None:
    content = {
        **CONTENT,
        "<b>name</b>": "<script>alert(1)</script>\u202etxt.exe",
        "long": "x" * 5000,
        "deep": {"a": [1]},
    }
    handoff = scene.open(submission_id="shown", content=content)
    page = scene.service.public.get(f"/handoff/{handoff.id}", headers={"Accept-Language": "xx, en"})

    assert page.status_code == 200
    for part in (scene.agent.url, "Chair buyer", "Shop", "https://shop.example", handoff.user_code, "Two chairs"):
        assert part in page.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt; txt.exe" in page.text
    assert "<script>alert" not in page.text
    assert "\u202e" not in page.text
    assert "x" * 301 not in page.text
    assert len(page.content) < 12_000


def test_the_page_asks_no_other_host_and_allows_no_one_frame_it(scene: HandoffScene) -> None:
    handoff = scene.open(submission_id="policy")
    page = scene.service.public.get(f"/handoff/{handoff.id}")
    policy = page.headers["content-security-policy"]

    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert re.findall(r'(?:src|href)="([^"]*)"', page.text) == ["style.css", "../sdk/v1/agentgate.js"]
    assert page.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(("accepted", "title"), [("de-AT,en;q=0.5", "Ein Agent bittet"), ("zz", "An agent requests")])
def test_the_page_speaks_the_persons_language(scene: HandoffScene, accepted: str, title: str) -> None:
    handoff = scene.open(submission_id="language")
    page = scene.service.public.get(f"/handoff/{handoff.id}", headers={"Accept-Language": accepted})

    assert f"<h1>{title}" in page.text
    assert f'<html lang="{page.headers["content-language"]}">' in page.text


def test_what_the_agent_wanted_to_send_is_not_kept_beyond_the_decision(scene: HandoffScene) -> None:
    handoff = scene.open(submission_id="kept", content={"secret": "swordfish"})
    find = scene.service.application.stores.handoffs.find_handoff
    before = scene.service.run(find(handoff.id))
    assert before is not None
    assert "swordfish" in (before.summary or "")
    approve(scene, handoff.id)
    after = scene.service.run(find(handoff.id))
    assert after is not None
    assert after.summary is None


def test_the_check_of_the_page_runs_there_alone(scene: HandoffScene) -> None:
    handoff = scene.open(submission_id="check")
    own = {"origin": scene.service.public_url}
    page = BrowserClient(scene.service, handoff.id, action="submit", **own)

    def code(client: BrowserClient, **headers: str) -> str:
        body = {"schema": 1, "siteKey": client.site_key, "action": client.action}
        return str(client.post("challenge", body, **headers).json().get("error", "none"))

    same_origin = {"Sec-Fetch-Site": "same-origin"}
    assert code(page, **same_origin) == "none"
    # Another origin, even one of the site's own, may not use the page's key, and the page not the site's.
    assert code(page) == "origin_denied"
    assert (
        code(BrowserClient(scene.service, handoff.id, action="submit", origin="https://shop.example"))
        == "origin_denied"
    )
    assert code(BrowserClient(scene.service, scene.site_key, action="submit", **own), **same_origin) == "origin_denied"
    assert code(BrowserClient(scene.service, handoff.id, action="order", **own), **same_origin) == "action_invalid"
    assert code(BrowserClient(scene.service, new_handoff_id(), action="submit", **own), **same_origin) == "site_invalid"
    approve(scene, handoff.id)
    assert code(page, **same_origin) == "site_invalid"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "same-origin", "Referer": "{own}/"}, 200),
        ({"Sec-Fetch-Site": "cross-site", "Referer": "{own}/"}, 403),
        # As browsers without fetch metadata send it.
        ({"Sec-Fetch-Site": None, "Referer": "{own}/"}, 200),
        ({"Sec-Fetch-Site": None, "Referer": "https://evil.example/"}, 403),
        ({"Sec-Fetch-Site": None}, 403),
    ],
)
def test_the_script_of_the_check_is_for_the_page_alone(
    scene: HandoffScene, headers: dict[str, str | None], status: int
) -> None:
    handoff = scene.open(submission_id="script")
    page = BrowserClient(scene.service, handoff.id, action="submit", origin=None)
    sent = {name: value for name, value in page.headers.items() if name not in headers}
    sent |= {name: text.format(own=scene.service.public_url) for name, text in headers.items() if text is not None}
    query = {"schema": 1, "siteKey": handoff.id, "action": "submit", "hook": 1}

    assert scene.service.public.get("/v1/browser/challenge", params=query, headers=sent).status_code == status


def test_the_check_of_the_page_always_asks_a_person(scene: HandoffScene) -> None:
    scene.service.operator.patch(f"/v1/admin/sites/{scene.site_key}", json={"mode": "monitor"})
    scene.service.run(scene.service.application.refresher.refresh())
    try:
        handoff = scene.open(submission_id="person")
        page = BrowserClient(scene.service, handoff.id, action="submit", origin=scene.service.public_url)
        body = {"schema": 1, "siteKey": handoff.id, "action": "submit", "widget": "invisible"}
        challenge = page.post("challenge", body, **{"Sec-Fetch-Site": "same-origin"}).json()
        assert (challenge["show"], challenge["widget"]) == (True, "interactive")
        answer = page.post("verify", page.solution(challenge), **{"Sec-Fetch-Site": "same-origin"}).json()
        assert answer["status"] == "step_up"
    finally:
        scene.service.operator.patch(f"/v1/admin/sites/{scene.site_key}", json={"mode": "enforce"})
        scene.service.run(scene.service.application.refresher.refresh())


def test_guesses_find_nothing_and_are_slowed_down(scene: HandoffScene) -> None:
    scene.open(submission_id="guessed")
    headers = {"X-Forwarded-For": "203.0.113.77"}
    found = {scene.service.public.get(f"/handoff/{new_handoff_id()}", headers=headers).status_code for _ in range(70)}

    assert found == {404, 429}
