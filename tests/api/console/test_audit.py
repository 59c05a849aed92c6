"""An account's audit trail: filtered by dotted names, paged by cursors that cannot be forged, and without addresses."""

import re
from typing import Any

from agentgate.lib.enums import ActorKind
from agentgate.lib.moment import Moment
from agentgate.people.accounts.repository import AccountStores
from agentgate.people.audit.records import AuditEntry
from tests.api.console.steps import CONSOLE, refusal, trail
from tests.support.api_client import ApiClient
from tests.support.cast import Cast
from tests.support.service import NOON_MS, RunningService

AUDIT = f"{CONSOLE}/audit"


def add_entries(service: RunningService, account_id: str, *actions: str) -> None:
    async def work(stores: AccountStores) -> None:
        for action in actions:
            entry = AuditEntry(
                time=Moment(NOON_MS),
                actor="system",
                actor_kind=ActorKind.SYSTEM,
                action=action,
                account_id=account_id,
                site_id=None,
                target=None,
                detail={},
                address=None,
            )
            await stores.audit.add_entry(entry)

    service.run(service.application.stores.store.change(work))


def actions(client: ApiClient, **query: Any) -> list[str]:
    reply = client.get(AUDIT, params=query)
    assert reply.status_code == 200, reply.text
    return [item["action"] for item in reply.json()["items"]]


def test_an_entry_shows_who_did_what_to_what(people: Cast) -> None:
    people.alice.patch(f"{CONSOLE}/account", json={"name": "Acme Ltd"})

    (entry,) = people.adam.get(AUDIT).json()["items"]

    assert re.fullmatch("[0-9a-f]{16}", entry["address"])
    assert entry == {
        "id": entry["id"],
        "time": Moment(NOON_MS).text(),
        "actor": "alice@acme.example",
        "actorKind": "user",
        "action": "account.rename",
        "target": people.acme,
        "detail": {"name": {"from": "Acme", "to": "Acme Ltd"}},
        "address": entry["address"],
    }


def test_the_trail_is_the_accounts_own(service: RunningService, people: Cast) -> None:
    add_entries(service, people.acme, "site.create")
    add_entries(service, people.globex, "site.update")

    assert actions(people.alice) == ["site.create"]
    assert actions(people.carol) == ["site.update"]


def test_a_filter_means_an_action_and_its_dotted_children(service: RunningService, people: Cast) -> None:
    add_entries(service, people.acme, "member.invite", "member.role", "user.mfa_on", "user.mfa_off", "token.create")
    add_entries(service, people.globex, "member.remove")
    expected: dict[str, set[str]] = {
        "member": {"member.invite", "member.role"},
        "member.": {"member.invite", "member.role"},
        "member.invite": {"member.invite"},
        "member.role.": {"member.role"},
        "user.mfa": set(),
        "user.mfa_on": {"user.mfa_on"},
        "membe": set(),
        "x": set(),
    }

    assert {wanted: set(actions(people.alice, action=wanted)) for wanted in expected} == expected


def test_a_malformed_filter_is_rejected(people: Cast) -> None:
    for wanted in ("", ".", "a..b", ".member", "member%", "Member", "member'--", "m\u00e9mber", "a" * 101, "a b"):
        assert refusal(people.alice.get(AUDIT, params={"action": wanted})) == (400, "invalid_filter"), wanted


def test_a_limit_out_of_bounds_is_rejected(people: Cast) -> None:
    for limit in ("0", "201", "-1", "x", "1.5", "", "\u0665"):
        assert refusal(people.alice.get(AUDIT, params={"limit": limit})) == (400, "invalid_limit"), limit


def test_a_page_has_fifty_entries_by_default(service: RunningService, people: Cast) -> None:
    add_entries(service, people.acme, *["site.update"] * 201)

    assert len(actions(people.alice)) == 50
    assert len(actions(people.alice, limit=200)) == 200


def pages(client: ApiClient, **query: Any) -> list[list[int]]:
    """Follow the cursors to the end; return the IDs of each page."""
    found = [client.get(AUDIT, params=query).json()]
    while "nextCursor" in found[-1]:
        found.append(client.get(AUDIT, params={**query, "cursor": found[-1]["nextCursor"]}).json())
    return [[item["id"] for item in page["items"]] for page in found]


def test_pages_show_each_entry_once_newest_first(service: RunningService, people: Cast) -> None:
    for count in range(8):
        found = pages(people.alice, action="site", limit=3)
        assert [entry for page in found for entry in page] == [event["id"] for event in trail(people, "site")]
        assert [len(page) for page in found] == [3] * (count // 3) + [count % 3] * (count % 3 > 0 or count == 0)
        # Entries that do not match the filter are in between, so that pages cannot be cut by counting rows.
        add_entries(service, people.acme, "token.create", "site.update")


def test_what_happens_between_two_pages_does_not_shift_them(service: RunningService, people: Cast) -> None:
    add_entries(service, people.acme, "site.create", "site.update", "site.mode")
    first = people.alice.get(AUDIT, params={"limit": 2}).json()

    add_entries(service, people.acme, "token.create")

    assert actions(people.alice, limit=2, cursor=first["nextCursor"]) == ["site.create"]


def test_a_cursor_is_good_for_its_account_and_filter_only(service: RunningService, people: Cast) -> None:
    for account_id in (people.acme, people.globex):
        add_entries(service, account_id, "site.create", "site.update")
    cursor = people.alice.get(AUDIT, params={"limit": 1, "action": "site"}).json()["nextCursor"]

    assert actions(people.adam, action="site.", cursor=cursor) == ["site.create"]
    for client, query in (
        (people.carol, {"action": "site"}),
        (people.alice, {}),
        (people.alice, {"action": "site.create"}),
    ):
        assert refusal(client.get(AUDIT, params={**query, "cursor": cursor})) == (400, "invalid_cursor")


def test_a_cursor_cannot_be_made_up(service: RunningService, people: Cast) -> None:
    add_entries(service, people.acme, "site.create", "site.update")
    cursor = people.alice.get(AUDIT, params={"limit": 1}).json()["nextCursor"]

    for place in range(len(cursor)):
        other = "A" if cursor[place] != "A" else "B"
        forged = cursor[:place] + other + cursor[place + 1 :]
        assert refusal(people.alice.get(AUDIT, params={"cursor": forged})) == (400, "invalid_cursor")
    for forged in ("", "x", cursor + "A", cursor[:-1], "1 OR 1=1", "\u00e9" * 20, "A" * 600):
        assert refusal(people.alice.get(AUDIT, params={"cursor": forged})) == (400, "invalid_cursor")


def test_an_address_has_one_pseudonym_in_each_account(service: RunningService, people: Cast) -> None:
    def rename(client: ApiClient, name: str, address: str) -> None:
        client.patch(f"{CONSOLE}/account", json={"name": name}, headers={"X-Forwarded-For": address})

    rename(people.alice, "A", "203.0.113.7")
    rename(people.adam, "B", "203.0.113.7")
    rename(people.alice, "C", "203.0.113.8")
    rename(people.carol, "D", "203.0.113.7")

    third, second, first = (event["address"] for event in trail(people))
    assert first == second != third
    assert people.carol.get(AUDIT).json()["items"][0]["address"] not in {first, third}
    database = service.application.stores.databases["config"]
    assert "203.0.113" not in repr(service.run(database.all("SELECT * FROM audit_entry")))


def test_a_rejected_change_leaves_no_entry(people: Cast) -> None:
    people.alice.request("DELETE", f"{CONSOLE}/account", json={"confirm": "no"})
    people.alice.patch(f"{CONSOLE}/account", json={"name": "New", "requireMfa": True})

    assert actions(people.alice) == []
    assert people.alice.get(f"{CONSOLE}/account").json()["name"] == "Acme"
