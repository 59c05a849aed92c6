"""No token is accepted twice over a backup, a restore and a clock that is put forward or back (F12, F13, F30).

The drill is the one in docs/operations.md: its command is run exactly as printed there.
"""

import contextlib
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgate.lib.clock import HOUR_MS, Clock, SystemClock
from agentgate.lib.settings.schema import read_settings
from agentgate.server.stores.clock_mark import ClockMark, continue_clock
from tests.cli.commands import agentgate
from tests.support.browser_client import BrowserClient
from tests.support.gateway import Gate
from tests.support.service import running_service
from tests.support.tokens import mint
from tests.whole.gateway_process import environ, gateway_process
from tests.whole.moved_clock import moved_clock
from tests.whole.restored_tokens import ALLOWED, USED, ask, new_tokens, wait_for_new_tokens

pytestmark = pytest.mark.timeout(120)

DOCS = Path(__file__).parents[2] / "docs" / "operations.md"
TOKENS = 60
EXPIRED = (401, "challenge", "expired_token")
HOUR_S = HOUR_MS // 1000


class Shop:
    """A site with a gate in front of it, whose service may be another one by now."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.gate: Gate | None = None

    @contextlib.contextmanager
    def open(self, clock: Clock | None = None, **more: str) -> Iterator[Gate]:
        with running_service(read_settings(environ(self.folder, **more)), clock or SystemClock()) as service:
            self.gate = self.gate or Gate(service)
            self.gate.service = service
            yield self.gate


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def spend_since_a_backup(shop: Shop) -> list[str]:
    """Back the service up while it runs; return redeemed tokens before and after, and some that were not."""
    with shop.open() as gate:
        tokens = new_tokens(gate, TOKENS + 20)
        assert ask(gate, tokens[:10]) == {ALLOWED}
        made = agentgate(shop.folder, "backup", "copy")
        assert made.returncode == 0, made.stderr
        assert ask(gate, tokens[10:-10]) == {ALLOWED}
    return tokens


def restore_by_the_documents(folder: Path) -> None:
    drill = re.search(r"```sh\n(agentgate restore [^\n]+)\n```", DOCS.read_text())
    assert drill is not None
    command = drill[1].replace("<backup-folder>", "copy").split()[1:]

    restored = agentgate(folder, *command)

    assert restored.returncode == 0, restored.stderr


def restore_by_hand(folder: Path) -> None:
    root = (folder / "data" / "root.secret").read_bytes()
    shutil.rmtree(folder / "data")
    shutil.copytree(folder / "copy", folder / "data")
    (folder / "data" / "root.secret").write_bytes(root)


def restore_over_the_files_that_are_there(folder: Path) -> None:
    for path in (folder / "copy").glob("*.db"):
        shutil.copy(path, folder / "data" / path.name)


@pytest.mark.parametrize("restore", [restore_by_the_documents, restore_by_hand, restore_over_the_files_that_are_there])
def test_after_a_restore_no_token_that_was_redeemed_since_the_backup_opens_again(shop: Shop, restore) -> None:
    tokens = spend_since_a_backup(shop)

    restore(shop.folder)

    with shop.open() as gate:
        assert ask(gate, tokens) == {USED}
        wait_for_new_tokens(gate)
    # The result is the same after the next start, which finds its own marks.
    with shop.open() as gate:
        assert ask(gate, tokens) == {USED}
        assert "redeemed tokens were lost" not in gate.service.log.getvalue()


@pytest.mark.parametrize(("before_s", "after_s"), [(3600, 120), (120, 3600)])
@pytest.mark.parametrize("restore", [restore_by_the_documents, restore_by_hand, restore_over_the_files_that_are_there])
def test_another_token_lifetime_after_a_restore_opens_no_redeemed_token_and_rejects_no_new_one(
    shop: Shop, restore, before_s: int, after_s: int
) -> None:
    with shop.open(AGENTGATE_TOKEN_SECONDS=str(before_s)) as gate:
        tokens = new_tokens(gate, TOKENS, lifetime_s=before_s)
        assert agentgate(shop.folder, "backup", "copy").returncode == 0
        assert ask(gate, tokens) == {ALLOWED}

    restore(shop.folder)

    with shop.open(AGENTGATE_TOKEN_SECONDS=str(after_s)) as gate:
        assert ask(gate, tokens) == {USED}
        wait_for_new_tokens(gate, lifetime_s=after_s)


def test_the_log_shows_a_restore_by_command_as_no_loss(shop: Shop) -> None:
    spend_since_a_backup(shop)
    restore_by_the_documents(shop.folder)
    (shop.folder / "new" / "data").mkdir(mode=0o700, parents=True)
    shutil.copy(shop.folder / "data" / "root.secret", shop.folder / "new" / "data")
    restored = agentgate(shop.folder / "new", "restore", "../copy")
    assert restored.returncode == 0, restored.stderr

    for folder in (shop.folder, shop.folder / "new"):
        with Shop(folder).open() as gate:
            log = gate.service.log.getvalue()
            assert [line for line in log.splitlines() if re.search(r'"level":"(warning|error)"', line)] == []


def test_the_log_warns_of_databases_without_marks_and_reports_no_error(shop: Shop) -> None:
    spend_since_a_backup(shop)
    restore_by_hand(shop.folder)

    with shop.open() as gate:
        log = gate.service.log.getvalue()
        assert '"level":"error"' not in log
        assert "the databases have no marks of earlier use" in log


def test_the_log_reports_lost_spends_as_an_error(shop: Shop) -> None:
    spend_since_a_backup(shop)
    restore_over_the_files_that_are_there(shop.folder)

    with shop.open() as gate:
        lost = [line for line in gate.service.log.getvalue().splitlines() if "redeemed tokens were lost" in line]
        assert len(lost) == 1
        assert '"level":"error"' in lost[0]


def test_challenges_and_signatures_of_before_a_restore_are_not_taken_over(shop: Shop) -> None:
    with shop.open() as gate:
        assert BrowserClient(gate.service, gate.site_key).challenge().status_code == 200
        agentgate(shop.folder, "backup", "copy")
        before_ms = gate.service.clock.now_ms()
    assert agentgate(shop.folder, "restore", "copy", "--overwrite").returncode == 0

    with shop.open() as gate:
        hot = gate.service.application.stores.databases["hot"]
        assert gate.service.run(hot.all("SELECT id FROM challenge")) == []
        assert gate.service.application.stores.agent_replays.lost_ms >= before_ms


def test_a_restart_without_a_restore_keeps_tokens_that_were_not_spent(shop: Shop) -> None:
    with shop.open() as gate:
        spent, unspent = new_tokens(gate, 20), new_tokens(gate, 20)
        assert ask(gate, spent) == {ALLOWED}
    with shop.open() as gate:
        assert (ask(gate, spent), ask(gate, unspent)) == ({USED}, {ALLOWED})


def test_after_postgresql_was_put_back_no_token_that_was_redeemed_since_opens_again(
    shop: Shop, postgres_url: str
) -> None:
    store = {"AGENTGATE_DATABASE_URL": postgres_url}
    with shop.open(**store) as gate:
        tokens = new_tokens(gate, 20)
        assert ask(gate, tokens[:10]) == {ALLOWED}
        hot = gate.service.application.stores.databases["hot"]
    # As a dump of before has it.
    with shop.open(**store) as gate:
        hot = gate.service.application.stores.databases["hot"]
        gate.service.run(hot.run("DELETE FROM redemption"))
    with shop.open(**store) as gate:
        assert ask(gate, tokens) == {USED}
        wait_for_new_tokens(gate)


def test_the_command_tells_all_machines_that_postgresql_was_put_back(
    shop: Shop, postgres_url: str, tmp_path: Path
) -> None:
    store = {"AGENTGATE_DATABASE_URL": postgres_url}
    with shop.open(**store) as gate:
        root = (tmp_path / "data" / "root.secret").read_text().strip()
        tokens = new_tokens(gate, 20)
        (tmp_path / "elsewhere").mkdir()
        raised = agentgate(tmp_path / "elsewhere", "restore", **store, AGENTGATE_ROOT_SECRET=root)
        assert raised.returncode == 0, raised.stderr
        # The machine that runs hears of it within a second; until then it knows what it spent itself.
        deadline_s = time.monotonic() + 5
        while ask(gate, [tokens.pop()]) != {USED}:
            assert time.monotonic() < deadline_s, "a running service does not hear of the restore"
            time.sleep(0.2)
        assert ask(gate, tokens) == {USED}


def move(monkeypatch: pytest.MonkeyPatch, seconds: int) -> None:
    wall_ns = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: wall_ns() + seconds * 1_000_000_000)


def test_forward_and_back_again_no_spent_and_no_expired_token_opens(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = ClockMark(shop.folder / "data")
    with shop.open() as gate:
        spent, unspent = new_tokens(gate, 10), new_tokens(gate, 10)
        assert ask(gate, spent) == {ALLOWED}
    with monkeypatch.context() as moved:
        move(moved, HOUR_S)
        with shop.open(continue_clock(mark)) as gate:
            assert ask(gate, [*spent, *unspent]) == {EXPIRED}
            # Run the deletion that the timed work would have run by then.
            application = gate.service.application
            gate.service.run(application.stores.redemptions.forget_redemptions(gate.service.clock.now_ms(), most=99))
    with shop.open(continue_clock(mark)) as gate:
        assert ask(gate, [*spent, *unspent]) == {EXPIRED}
        assert ask(gate, new_tokens(gate, 1)) == {ALLOWED}


def test_killed_and_started_with_the_clock_put_back_an_expired_token_stays_expired(tmp_path: Path) -> None:
    with gateway_process(tmp_path) as gateway:
        door, now_ms = gateway.enforcing, SystemClock().now_ms()
        # Good for one more second.
        token = mint(gateway._keys, door.site_key, now_ms=now_ms - 119_000)
        while SystemClock().now_ms() < now_ms + 1_100:
            time.sleep(0.05)
        assert door.ask(token) == (401, "expired_token")
        gateway.process.kill()

    with gateway_process(tmp_path, **moved_clock(tmp_path, -HOUR_S)) as gateway:
        assert gateway.enforcing.ask(token) == (401, "expired_token")
        assert gateway.readiness() == (200, "degraded", {"clock"})
        assert gateway.process.events("the clock was set back: time continues from the highest known time")


def test_a_clock_that_is_days_behind_is_shown_in_one_line_that_names_the_remedy(tmp_path: Path) -> None:
    assert agentgate(tmp_path, "keys", "list").returncode == 0
    mark = ClockMark(tmp_path / "data")
    mark.note(SystemClock().now_ms() + 30 * 24 * HOUR_MS)

    refused = agentgate(tmp_path, "keys", "list")

    assert refused.returncode == 2
    assert "correct the clock" in refused.stderr
    assert f"delete {mark.path}" in refused.stderr
