"""Notices: each member chooses; one mail has all that is due; strangers cannot write into it or flood a mailbox."""

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from agentgate.events.records import Count, CounterName
from agentgate.gateway.appeals.records import StoredAppeal
from agentgate.gateway.notices.records import NoticeKind
from agentgate.gateway.notices.sending import NoticeSending
from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.enums import AppealState, ChallengeStage, LoadState, Outcome
from agentgate.lib.moment import Moment
from agentgate.lib.settings.schema import Settings
from agentgate.sites.records import SiteLoad
from tests.api.console.steps import CONSOLE, outbox, refusal, told, trail
from tests.api.traffic_steps import challenge, number_of, record
from tests.support.cast import EMAILS, Cast, cast
from tests.support.mail_server import mail_server, wait_for
from tests.support.service import NOON_MS, RunningService, running_service

NOTICES = f"{CONSOLE}/notices"
ALL = [kind.value for kind in NoticeKind]


@pytest.fixture
def mailing(settings: Settings) -> Iterator[RunningService]:
    # A closed port: mails remain in the outbox, where the tests read them.
    changed = replace(settings, smtp_url="smtp://127.0.0.1:9", public_base_url="https://gate.example")
    with running_service(changed) as service:
        yield service


@pytest.fixture
def people(mailing: RunningService) -> Cast:
    return cast(mailing)


def add_shop(people: Cast, name: str = "Shop") -> tuple[str, str]:
    """Create a site of Acme's; return its key and its ID."""
    made = people.alice.post(f"{CONSOLE}/sites", json={"name": name}).json()
    return made["siteKey"], made["id"]


def sweep(service: RunningService) -> list[tuple[str, str, str]]:
    """Look at all sites once; return the new mails, oldest first."""
    before = len(outbox(service))
    application = service.application
    sending = NoticeSending(
        store=application.stores.store,
        read_health=application.sites.health.read,
        counts=application.stores.traffic.counts,
        messenger=application.people.messenger,
        console_url=application.people.link_urls.console_url,
        clock=service.clock,
    )
    service.run(sending.send_due())
    found = outbox(service)
    return found[: len(found) - before][::-1]


def choose(client: Any, *kinds: str) -> None:
    reply = client.put(NOTICES, json={"kinds": list(kinds)})
    assert reply.status_code == 200, reply.text


def add_appeal(service: RunningService, site_id: str, created_ms: int) -> None:
    made = StoredAppeal(
        id=f"apl_{created_ms:016x}",
        site_id=site_id,
        link_digest=f"{created_ms:064x}",
        decision=created_ms,
        visitor="00ff00ff00ff00ff",
        outcome=Outcome.BLOCK,
        method="GET",
        route="*",
        rule=None,
        message="http://evil.example pays you",
        state=AppealState.WAITING,
        created_ms=created_ms,
    )
    service.change(lambda stores: stores.appeals.add_appeal(made))


def test_each_member_chooses_and_the_trail_shows_it(people: Cast) -> None:
    assert people.rita.get(NOTICES).json() == {"kinds": [], "mail": True}
    chosen = people.rita.put(NOTICES, json={"kinds": ["digest", "health", "health"]})
    assert chosen.json() == {"kinds": ["health", "digest"], "mail": True}
    assert people.rita.get(NOTICES).json() == chosen.json()
    assert people.alice.get(NOTICES).json()["kinds"] == []
    rita = EMAILS["rita"]
    assert told(trail(people, "member.notices")[0]) == (rita, "member.notices", rita, {"kinds": ["health", "digest"]})
    choose(people.rita, "health", "digest")
    assert len(trail(people, "member.notices")) == 1
    for wrong in (["sms"], "health", None):
        assert refusal(people.rita.put(NOTICES, json={"kinds": wrong})) == (400, "invalid_request")


def test_an_api_token_has_no_mailbox(mailing: RunningService, people: Cast) -> None:
    made = people.alice.post(f"{CONSOLE}/tokens", json={"name": "CI", "scopes": ["sites:read"]}).json()["secret"]
    client, headers = mailing.new_public_client(), {"Authorization": f"Bearer {made}"}
    choose(people.alice, *ALL)
    assert client.get(NOTICES, headers=headers).json()["kinds"] == []
    assert refusal(client.put(NOTICES, json={"kinds": []}, headers=headers)) == (403, "forbidden")
    assert people.alice.get(NOTICES).json()["kinds"] == ALL


def test_an_appeal_that_waits_for_a_day_is_reported_daily_to_subscribers(mailing: RunningService, people: Cast) -> None:
    _, site_id = add_shop(people)
    choose(people.alice, "appeals")
    choose(people.bob, "flood")
    choose(people.carol, *ALL)
    add_appeal(mailing, site_id, NOON_MS - HOUR_MS)
    assert sweep(mailing) == []
    add_appeal(mailing, site_id, NOON_MS - DAY_MS - 1)

    [(to, kind, text)] = sweep(mailing)

    assert (to, kind) == (EMAILS["alice"], "notice")
    assert "Shop: 1 appeal has been waiting for more than a day." in text
    assert "https://gate.example/console/" in text
    assert "evil" not in text
    assert sweep(mailing) == []
    mailing.clock.advance(seconds=23 * 3600)
    assert sweep(mailing) == []
    mailing.clock.advance(seconds=3601)
    assert len(sweep(mailing)) == 1


def test_health_contains_no_text_of_strangers(mailing: RunningService, people: Cast) -> None:
    key, site_id = add_shop(people)
    choose(people.alice, "health")
    secret = people.alice.post(f"{CONSOLE}/sites/{key}/credentials", json={}).json()["credential"]["id"]
    record(mailing, site_id, {})
    assert sweep(mailing) == []
    hostile = "https://evil.example"
    counted = Count(number_of(mailing, site_id), NOON_MS // HOUR_MS - 1, CounterName.ORIGIN_REFUSED, hostile, 50)
    mailing.run(mailing.application.stores.events.add_counts([counted]))
    people.alice.post(f"{CONSOLE}/sites/{key}/credentials/{secret}/revoke")

    [(_, _, text)] = sweep(mailing)

    assert "to critical" in text
    assert "no_credential" in text
    assert "evil" not in text
    # Within the hour, nothing more is sent, however often health changes.
    people.alice.post(f"{CONSOLE}/sites/{key}/credentials", json={})
    assert sweep(mailing) == []
    mailing.clock.advance(seconds=3601)
    assert "from critical" in sweep(mailing)[0][2]


def set_load(service: RunningService, site_id: str, *, ended: bool) -> None:
    """Let a site become busy now, or be normal again."""
    now = Moment(service.clock.now_ms())
    load = SiteLoad(
        state=LoadState.NORMAL if ended else LoadState.FLOOD,
        since=Moment(now - 60_000 * ended),
        until=now if ended else UNSET,
        pages_per_minute=2_000,
        usual_per_minute=90,
    )
    service.change(lambda stores: stores.sites.save_load(site_id, load))


def test_a_busy_site_is_reported_and_cannot_fill_a_mailbox(mailing: RunningService, people: Cast) -> None:
    _, site_id = add_shop(people)
    choose(people.bob, "flood")
    assert sweep(mailing) == []
    set_load(mailing, site_id, ended=False)

    [(to, _, text)] = sweep(mailing)

    assert to == EMAILS["bob"]
    assert "2,000 page loads a minute without a clearance; usually 90." in text
    sent = 0
    for quarter in range(96):
        mailing.clock.advance(seconds=900)
        set_load(mailing, site_id, ended=quarter % 2 == 0)
        sent += len(sweep(mailing))
    assert 2 <= sent <= 8


def test_unsolved_challenges_are_compared_with_the_days_before(mailing: RunningService, people: Cast) -> None:
    _, site_id = add_shop(people)
    choose(people.alice, "people")
    for day in range(1, 6):
        record(mailing, site_id, *(challenge(ChallengeStage.ISSUED, at_ms=NOON_MS - day * DAY_MS) for _ in range(12)))
    assert sweep(mailing) == []
    record(mailing, site_id, *(challenge(ChallengeStage.ISSUED) for _ in range(30)))

    assert "30 challenges were not solved" in sweep(mailing)[0][2]


def test_a_digest_comes_weekly_with_all_sites(mailing: RunningService, people: Cast) -> None:
    add_shop(people, "One")
    # A name that mail programs would turn into a link is not shown.
    key, _ = add_shop(people, "evil.example")
    choose(people.alice, "digest")
    assert sweep(mailing) == []
    mailing.clock.advance(seconds=7 * 86_400)

    [(_, _, text)] = sweep(mailing)

    assert "One: In the last 7 days: 0 requests" in text
    assert f"{key}: In the last 7 days" in text
    assert "evil.example" not in text
    assert sweep(mailing) == []


def test_former_and_suspended_members_get_nothing(mailing: RunningService, people: Cast) -> None:
    _, site_id = add_shop(people)
    for client in (people.bob, people.rita, people.alice):
        choose(client, "appeals")
    add_appeal(mailing, site_id, NOON_MS - 2 * DAY_MS)
    assert people.alice.delete(f"{CONSOLE}/members/{people.user_ids['bob']}").status_code == 204
    suspended = mailing.operator.post(f"/v1/admin/users/{people.user_ids['rita']}/suspend", json={"reason": "left"})
    assert suspended.status_code == 200, suspended.text

    assert [to for to, _, _ in sweep(mailing)] == [EMAILS["alice"]]


def test_without_a_mail_server_nothing_is_written(service: RunningService) -> None:
    found = cast(service)
    assert found.alice.get(NOTICES).json()["mail"] is False
    assert "send-notices" not in {job.name for job in service.application._jobs.jobs}


def test_an_unused_secret_is_reported(mailing: RunningService, people: Cast) -> None:
    key, _ = add_shop(people)
    choose(people.alice, "secret")
    people.alice.post(f"{CONSOLE}/sites/{key}/credentials", json={"name": "Old"})
    assert sweep(mailing) == []
    mailing.clock.advance(seconds=7 * 86_400 + 1)
    assert "Unused secrets: 1." in sweep(mailing)[0][2]


def test_a_notice_reaches_the_mailbox_of_its_subscriber(settings: Settings) -> None:
    with (
        mail_server() as mail,
        running_service(replace(settings, smtp_url=mail.url, public_base_url="https://gate.example")) as service,
    ):
        people = cast(service)
        _, site_id = add_shop(people)
        choose(people.alice, "appeals")
        add_appeal(service, site_id, NOON_MS - DAY_MS - 1)
        sweep(service)
        received = wait_for(lambda: mail.received)

    assert [each.recipients for each in received] == [(EMAILS["alice"],)]
    letter = received[0].letter
    assert letter["Subject"] == "Shop: 1 waiting"
    assert letter["Auto-Submitted"] == "auto-generated"
    text = letter.get_body(("plain",)).get_content()
    assert "Shop: 1 appeal has been waiting for more than a day." in text
    assert "https://gate.example/console/" in text
