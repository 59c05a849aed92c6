"""Revisions of sites' rules in SQL, on both databases: kept one after the other, never two at once."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from agentgate.sites.rules.records import StoredRules
from agentgate.sites.rules.repository import stored_rules
from tests.store.sql_objects import NOW_MS, Opened, add_two_tenants, migrated

pytestmark = pytest.mark.anyio

RULES = StoredRules(
    effective_version="7-0123abcd",
    overrides={"a": "count"},
    revision=1,
    rule_set={"version": "7", "rules": [], "default_action": "allow", "notiz": "für später"},
    updated_ms=NOW_MS,
    updated_by="Olga",
)


@pytest.fixture
async def opened(backend: Any) -> AsyncIterator[Opened]:
    async with migrated(backend) as opened:
        await add_two_tenants(opened.store)
        yield opened


async def save(opened: Opened, rules: StoredRules, site_id: str = "st_1") -> bool:
    return await opened.store.change(lambda stores: stores.rules.save_rules(site_id, rules))


async def revisions(opened: Opened) -> list[Any]:
    return await opened.database.all(
        "SELECT site_id, revision, rule_set, effective_version FROM rule_revision ORDER BY site_id, revision"
    )


async def test_what_is_saved_is_found_whole(opened: Opened) -> None:
    assert await save(opened, RULES)

    assert await opened.store.read.rules.find_rules("st_1") == RULES
    assert await opened.store.read.rules.find_rules("st_2") is None


async def test_rules_of_all_sites_are_listed_by_site(opened: Opened) -> None:
    server = replace(RULES, rule_set=None)
    await save(opened, RULES)
    await save(opened, server, "st_2")

    stored = opened.store.read.rules
    both = await stored.list_rows(["st_1", "st_2", "st_3"])
    assert {row[-1]: stored_rules(row) for row in both} == {"st_1": RULES, "st_2": server}
    assert [row[-1] for row in await stored.list_rows(["st_2"])] == ["st_2"]
    assert [row[-1] for row in await stored.list_own("", 1)] == ["st_1"]
    assert [row[-1] for row in await stored.list_own("st_1", 2)] == ["st_2"]


async def test_every_revision_is_kept(opened: Opened) -> None:
    await save(opened, RULES)
    await save(opened, replace(RULES, revision=2, rule_set=None, effective_version="8-0123abcd"))

    assert [(row[1], row[2] is None, row[3]) for row in await revisions(opened)] == [
        (1, False, "7-0123abcd"),
        (2, True, "8-0123abcd"),
    ]


@pytest.mark.parametrize("revision", [1, 3, 0, -1])
async def test_a_revision_that_does_not_follow_the_present_one_is_not_kept(opened: Opened, revision: int) -> None:
    await save(opened, RULES)

    assert not await save(opened, replace(RULES, revision=revision, updated_by="Mallory"))

    assert await opened.store.read.rules.find_rules("st_1") == RULES
    assert len(await revisions(opened)) == 1


async def test_the_first_revision_is_number_one(opened: Opened) -> None:
    assert not await save(opened, replace(RULES, revision=2))

    assert await revisions(opened) == []
