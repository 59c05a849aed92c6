"""Sites' rules in SQL, on both databases."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from agentgate.lib.enums import RulesSource
from agentgate.sites.rules.records import StoredRules
from tests.store.sql_objects import NOW_MS, Opened, add_two_tenants, migrated

pytestmark = pytest.mark.anyio


@pytest.fixture
async def opened(backend: Any) -> AsyncIterator[Opened]:
    async with migrated(backend) as opened:
        yield opened


async def add(opened: Opened, site_id: str, rule_set: str | None, overrides: str = "{}", revision: int = 1) -> None:
    await opened.database.run(
        """INSERT INTO site_rules (site_id, revision, rule_set, overrides, effective_version, updated_ms, updated_by)
            VALUES ($1, $2, $3, $4, $5, $6, $7)""",
        site_id,
        revision,
        rule_set,
        overrides,
        f"7-{site_id}",
        NOW_MS,
        "Olga",
    )


async def test_a_site_that_never_had_rules_has_none(opened: Opened) -> None:
    await add_two_tenants(opened.store)

    assert await opened.store.read.rules.find_rules("st_1") is None


async def test_a_site_with_its_own_set_shows_it(opened: Opened) -> None:
    await add_two_tenants(opened.store)
    await add(opened, "st_1", '{"version":"7"}', '{"a":"off","b":"on"}', revision=4)

    assert await opened.store.read.rules.find_rules("st_1") == StoredRules(
        effective_version="7-st_1",
        overrides={"a": "off", "b": "on"},
        revision=4,
        rule_set={"version": "7"},
        updated_ms=NOW_MS,
        updated_by="Olga",
    )


async def test_a_site_with_overrides_only_follows_the_servers_set(opened: Opened) -> None:
    await add_two_tenants(opened.store)
    await add(opened, "st_1", None, '{"a":"off"}')

    assert (await opened.store.read.rules.find_rules("st_1")).source == RulesSource.SERVER


async def test_another_sites_id_finds_nothing(opened: Opened) -> None:
    await add_two_tenants(opened.store)
    await add(opened, "st_1", "{}")

    for foreign in ("st_2", "st_9", "", "site_key_st_1", "%"):
        assert await opened.store.read.rules.find_rules(foreign) is None
