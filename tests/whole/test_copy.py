"""`agentgate copy`: an embedded installation moves to PostgreSQL with all its data, and no token redeems twice.

The drill is the one in docs/operations.md: its command is run exactly as printed there.
"""

import asyncio
import re
import shutil
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from msgspec.structs import replace

from agentgate.events.decision_ids import id_day, read_id
from agentgate.lib.clock import DAY_MS, FixedClock
from agentgate.lib.settings.schema import Settings, read_settings
from agentgate.server.cli.copy import copy_to
from agentgate.server.stores import moving
from tests.cli.commands import agentgate
from tests.support.gateway import Gate, said
from tests.support.service import NOON_MS, running_service
from tests.support.tokens import mint
from tests.whole.gateway_process import environ

DOCS = Path(__file__).parents[2] / "docs" / "databases.md"
USED = (401, "challenge", "token_used")


class Interrupted(Exception):  # noqa: N818 - says what happened
    """Simulate a power failure."""


class Shop:
    """An embedded installation with two days of traffic, stopped."""

    def __init__(self, folder: Path) -> None:
        self.settings = read_settings(environ(folder))
        with running_service(self.settings) as service:
            self.gate = Gate(service)
            self.spent = mint(service.application.signing_keys, self.gate.site_key, now_ms=NOON_MS)
            self.decisions = [self._ask(number) for number in range(30)]
            assert self.gate.check("POST", "/login", X_AgentGate_Token=self.spent).status_code == 204
        self.clock = FixedClock(NOON_MS + DAY_MS)
        with running_service(self.settings, self.clock) as service:
            self.gate.service = service
            self.decisions += [self._ask(number) for number in range(10)]
            service.run(service.application.stores.events.close_days(now_ms=NOON_MS + DAY_MS))
            self.pages = self.read()

    def _ask(self, number: int) -> str:
        path = ("/", "/api/x", "/login")[number % 3]
        reply = self.gate.check("POST" if path == "/login" else "GET", path, X_Request_Id=f"r{number}")
        decision: str = reply.headers["x-service-decision-id"]
        return decision

    def read(self) -> dict[str, Any]:
        """Return what the pages of the site show."""
        service, pages = self.gate.service, {}
        while service.application.recorder.waiting:
            service.run(asyncio.sleep(0.01))
        site, span = f"sites/{self.gate.site_key}", {"from": NOON_MS - DAY_MS, "to": NOON_MS + 2 * DAY_MS}
        query: dict[str, Any] = {"siteKey": self.gate.site_key, **span}
        for page in ("metrics", f"{site}/analytics", "visitors", "decisions", f"{site}/changes", site):
            params = query if "/" not in page else span if page.endswith("analytics") else {}
            reply = service.operator.get(f"/v1/admin/{page}", params=params)
            assert reply.status_code == 200, reply.text
            pages[page] = reply.json()
            # Bound to the keys and the moment, not to what is shown.
            pages[page].pop("nextCursor", None)
        # The time of a secret's last use is saved occasionally, and at the end.
        for credential in pages[site]["credentialList"]:
            credential.pop("lastUsedAt")
        return pages


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return Shop(tmp_path_factory.mktemp("shop"))


@pytest.fixture
def moved(shop: Shop, postgres_url: str) -> Settings:
    """The settings with which the copy is served."""
    return replace(shop.settings, database_url=postgres_url)


def test_the_drill_moves_an_installation(shop: Shop, moved: Settings, tmp_path: Path) -> None:
    (line,) = re.findall(r"^\$ (agentgate copy .*)$", DOCS.read_text(), re.MULTILINE)
    assert line == "agentgate copy --to-file database_url"
    (tmp_path / "database_url").write_text(moved.database_url)
    settings = {"AGENTGATE_DATA_DIR": str(shop.settings.data_dir)}

    copied = agentgate(tmp_path, *line.split()[1:], **settings)

    assert copied.returncode == 0, copied.stderr
    assert "copied and verified" in copied.stdout
    with running_service(moved, shop.clock) as service:
        shop.gate.service = service
        assert shop.read() == shop.pages
        # Redeemed tokens remain redeemed, a new token works, and the audit trail continues its numbers.
        again = mint(service.application.signing_keys, shop.gate.site_key, now_ms=NOON_MS + DAY_MS)
        assert said(shop.gate.check("POST", "/login", X_AgentGate_Token=again))[0] == 204
        assert said(shop.gate.check("POST", "/login", X_AgentGate_Token=again)) == USED
        made = service.operator.post("/v1/admin/sites", json={"name": "Another"})
        assert made.status_code == 201, made.text
        service.run(service.application.stores.events.close_days(now_ms=NOON_MS + DAY_MS))
        site_id = service.run(_redemptions(service.application.stores.databases["hot"]))
        assert site_id >= 2
    refused = agentgate(tmp_path, *line.split()[1:], **settings)
    assert refused.returncode == 2
    assert "already in use" in refused.stderr


async def _redemptions(hot: Any) -> int:
    row = await hot.one("SELECT count(*) FROM redemption")
    return int(row[0])


def test_a_copy_that_was_interrupted_continues(shop: Shop, moved: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def stop_in_the_events(name: str, _rows: int) -> None:
        seen.append(name)
        if re.match(r"\d{4}-", name):
            raise Interrupted

    with pytest.raises(Interrupted):
        asyncio.run(copy_to(shop.settings, moved.database_url, stop_in_the_events))
    loaded: list[str] = []

    def noted(name: str, _wanted: moving.Sum, found: moving.Sum) -> moving.Sum:
        loaded.append(name)
        return found

    monkeypatch.setattr(moving, "agreed", noted)

    asyncio.run(copy_to(shop.settings, moved.database_url, lambda *_: None))

    # One day was already copied, and every table except the keys.
    days = {id_day(read_id(each)) for each in shop.decisions}
    assert len(days) == 2
    assert len([name for name in loaded if re.match(r"\d{4}-", name)]) == 1
    assert [name for name in loaded if not re.match(r"\d{4}-", name)] == ["service_key"]
    with running_service(moved, shop.clock) as service:
        shop.gate.service = service
        assert shop.read() == shop.pages


def test_a_target_that_lost_or_changed_a_row_is_noticed(
    shop: Shop, moved: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = moving.read_rows

    async def losing(session: Any, table: Any, *rest: Any) -> Any:
        async for rows in whole(session, table, *rest):
            # Simulate that the last site did not arrive: reads of the target omit it.
            is_target = type(session).__name__ == "PostgresDatabase"
            yield rows[:-1] if table.name == "site" and is_target else rows

    monkeypatch.setattr(moving, "read_rows", losing)

    with pytest.raises(moving.CopyRefused, match="site has 0 rows in the target"):
        asyncio.run(copy_to(shop.settings, moved.database_url, lambda *_: None))

    async def keys() -> int:
        connection = await asyncpg.connect(moved.database_url)
        try:
            return int(await connection.fetchval("SELECT count(*) FROM service_key"))
        finally:
            await connection.close()

    # Without its keys it does not pass for a whole one.
    assert asyncio.run(keys()) == 0


def test_events_move_to_clickhouse_and_the_pages_stay_the_same(shop: Shop, clickhouse_url: str, tmp_path: Path) -> None:
    shutil.copytree(shop.settings.data_dir, tmp_path / "data")
    (tmp_path / "events_url").write_text(clickhouse_url)
    settings = {"AGENTGATE_DATA_DIR": str(tmp_path / "data")}

    copied = agentgate(tmp_path, "copy", "--to-file", "events_url", **settings)
    again = agentgate(tmp_path, "copy", "--to-file", "events_url", **settings)

    assert copied.returncode == 0, copied.stderr
    # 30 and 10 decisions, and the redeemed token.
    assert "41 rows of 2 days copied and verified" in copied.stdout
    assert (again.returncode, again.stdout) == (0, copied.stdout)
    moved = replace(shop.settings, data_dir=tmp_path / "data", events_url=clickhouse_url)
    with running_service(moved, shop.clock) as service:
        shop.gate.service = service
        assert shop.read() == shop.pages


def test_migrate_makes_the_tables_in_clickhouse(clickhouse_url: str, tmp_path: Path) -> None:
    settings = {"AGENTGATE_DATA_DIR": str(tmp_path / "data"), "AGENTGATE_EVENTS_URL": clickhouse_url}

    told = [agentgate(tmp_path, "migrate", *given, **settings) for given in (["--check"], [], ["--check"])]

    assert [each.returncode for each in told] == [1, 0, 0]
    assert "pending: clickhouse 0001_events" in told[0].stdout
    assert told[2].stdout == "no pending migrations\n"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "give the target's address"),
        (("--to", "postgresql://x", "--to-file", "y"), "either --to-file or --to"),
        (("--to", "mysql://x"), "begins with neither postgresql:// nor clickhouse://"),
        (("--to-file", "missing"), "cannot be read"),
        (("--to", "postgresql://x"), "there is no installation"),
    ],
)
def test_what_it_rejects(tmp_path: Path, arguments: tuple[str, ...], problem: str) -> None:
    refused = agentgate(tmp_path, "copy", *arguments)

    assert refused.returncode == 2
    assert problem in refused.stderr


def test_a_running_service_is_not_copied(tmp_path: Path) -> None:
    settings = read_settings(environ(tmp_path))
    with running_service(settings):
        refused = agentgate(tmp_path, "copy", "--to", "postgresql://x", AGENTGATE_DATA_DIR=str(settings.data_dir))

    assert (refused.returncode, "is in use; stop the service first" in refused.stderr) == (2, True)
