"""Faults of the store that no other file tries: two services on one folder, clocks apart, power cuts."""

import contextlib
import random
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentgate.browser_check.tokens.repository import Redemption
from agentgate.lib.clock import Clock, SystemClock
from agentgate.lib.settings.schema import read_settings
from agentgate.storage.sqlite.database import SqliteDatabase
from tests.store.spend_marks import LONGEST_MS, SITE, journal, opened, spend
from tests.store.sql_objects import NOW_MS
from tests.support.gateway import Gate, said
from tests.support.service import RunningService, running_service
from tests.support.tokens import mint
from tests.whole.gateway_process import environ

ALLOWED, USED = (204, "allow", "allowed"), (401, "challenge", "token_used")
APART_S = 3
TOKENS, IMAGES = 24, 40
SEED = 20_261_117


class ShiftedClock:
    """The machine's clock of another machine."""

    def __init__(self, shift_s: int) -> None:
        self._clock, self._shift_ms = SystemClock(), shift_s * 1000

    def now_ms(self) -> int:
        return self._clock.now_ms() + self._shift_ms


@contextlib.contextmanager
def two_services(folder: Path, second: Clock) -> Iterator[tuple[Gate, RunningService]]:
    """Start two services on one data directory, as when the second is started before the first has ended."""
    settings = read_settings(environ(folder))
    with running_service(settings, SystemClock()) as one, running_service(settings, second) as other:
        yield Gate(one), other


def ask(gate: Gate, service: RunningService, token: str, number: int) -> tuple[int, str, str]:
    client = service.new_public_client()
    headers = {
        "Authorization": f"Bearer {gate.secret}",
        "X-Original-Method": "POST",
        "X-Original-URL": "https://shop.example/login",
        "X-Original-Address": f"198.51.100.{number}",
        "X-AgentGate-Token": token,
        "User-Agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/142.0.0.0 Safari/537.36",
    }
    return said(client.get("/v1/gateway/check", headers=headers))


def wait_until_known(gate: Gate, service: RunningService) -> None:
    """Wait until a service has read the site that the other one made."""
    deadline_s = time.monotonic() + 5
    while ask(gate, service, "x.y.z", 1)[2] == "invalid_credential":
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


@pytest.mark.parametrize("shift_s", [APART_S, -APART_S])
def test_with_clocks_three_seconds_apart_a_token_of_one_is_good_at_the_other_once(tmp_path: Path, shift_s: int) -> None:
    with two_services(tmp_path, ShiftedClock(shift_s)) as (gate, other):
        wait_until_known(gate, other)
        keys = gate.service.application.signing_keys
        here, there = (mint(keys, gate.site_key, now_ms=each.clock.now_ms()) for each in (gate.service, other))

        assert (ask(gate, other, here, 2), ask(gate, gate.service, there, 3)) == (ALLOWED, ALLOWED)
        assert (ask(gate, gate.service, here, 4), ask(gate, other, there, 5)) == (USED, USED)


def test_two_services_on_one_folder_spend_each_token_once(tmp_path: Path) -> None:
    with two_services(tmp_path, SystemClock()) as (gate, other):
        wait_until_known(gate, other)
        keys, now_ms = gate.service.application.signing_keys, gate.service.clock.now_ms()
        tokens = [mint(keys, gate.site_key, now_ms=now_ms) for _ in range(TOKENS)]
        calls = [(service, token) for token in tokens for service in (gate.service, other) for _ in range(2)]
        random.Random(SEED).shuffle(calls)

        with ThreadPoolExecutor(8) as threads:
            told = list(threads.map(lambda call: (call[1][1], ask(gate, *call[1], call[0] % 250)), enumerate(calls)))

        assert Counter(token for token, answer in told if answer == ALLOWED) == Counter(tokens)
        assert {answer for _, answer in told} == {ALLOWED, USED}


@pytest.mark.anyio
async def test_after_a_power_cut_at_any_byte_what_was_acknowledged_is_spent(tmp_path: Path) -> None:
    folder = tmp_path / "running"
    folder.mkdir()
    # How long the journal was when each spend was acknowledged.
    acknowledged: list[int] = []
    async with opened(folder) as redemptions:
        for number in range(TOKENS):
            assert await spend(redemptions, f"rcp_{number:02}")
            acknowledged.append(journal(folder).stat().st_size)
        image = Path(shutil.copytree(folder, tmp_path / "image"))
    draw, whole = random.Random(SEED), journal(image).read_bytes()

    for number in range(IMAGES):
        # The synchronized part is kept, and any part of the bytes after it.
        cut = Path(shutil.copytree(image, tmp_path / f"cut-{number}"))
        safe = draw.randrange(TOKENS)
        journal(cut).write_bytes(whole[: draw.randint(acknowledged[safe], len(whole))])
        # A mark is not synchronized: after a power cut there is an older one, or none.
        (cut / "spent-worker-1.mark").unlink()
        database = SqliteDatabase(cut / "hot.db")
        assert await database.integrity() == []
        await database.close()
        async with opened(cut, now_ms=NOW_MS + 1_000) as redemptions:
            for spent in range(safe + 1):
                answer = await redemptions.spend(
                    SITE, f"rcp_{spent:02}", Redemption(), issued_ms=NOW_MS, kept_until_ms=NOW_MS + LONGEST_MS
                )
                assert not answer, f"seed {SEED}, image {number}"
