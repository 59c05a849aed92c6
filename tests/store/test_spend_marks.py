"""The next start detects redemptions that a damaged journal has lost, and no token is redeemed a second time.

An image of the files at one moment is the state after a crash: it contains the journal, and no process has closed
anything.
"""

import asyncio
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from agentgate.browser_check.tokens.repository import Redemption, SpendMarks, SpendOutcome
from agentgate.lib.database import StoreUnavailable
from tests.store.spend_marks import LONGEST_MS, SITE, journal, opened, spend
from tests.store.sql_objects import NOW_MS

pytestmark = pytest.mark.anyio

SPENT = [f"rcp_{number:02}" for number in range(12)]
FLIPS = 40
SEED = 20_261_116


@pytest.fixture
async def image(tmp_path: Path) -> Path:
    """The files after a crash that follows some redemptions, a few in the file and the others in the journal."""
    folder = tmp_path / "running"
    folder.mkdir()
    async with opened(folder):
        pass
    async with opened(folder) as redemptions:
        for receipt in SPENT:
            assert await spend(redemptions, receipt)
        shutil.copytree(folder, tmp_path / "image")
    return tmp_path / "image"


def flip(folder: Path, draw: random.Random) -> None:
    """Turn one bit of the journal."""
    content = bytearray(journal(folder).read_bytes())
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    journal(folder).write_bytes(content)


async def count_again(folder: Path) -> int:
    """Start on these files and return how many of the redeemed receipts can be redeemed a second time."""
    async with opened(folder, now_ms=NOW_MS + 1_000) as redemptions:
        return sum([await spend(redemptions, receipt) for receipt in SPENT])


async def test_whichever_bit_of_the_journal_turns_nothing_can_be_redeemed_again(image: Path, tmp_path: Path) -> None:
    draw = random.Random(SEED)
    assert journal(image).stat().st_size > 40_000
    lost = 0
    for number in range(FLIPS):
        damaged = shutil.copytree(image, tmp_path / str(number))
        flip(damaged, draw)
        assert await count_again(damaged) == 0, f"seed {SEED}, {number}"
        lost += b'"lost_ms":0' not in (damaged / "spent-worker-1.mark").read_bytes()
    # Not that nothing was ever lost.
    assert lost > FLIPS // 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda image: journal(image).unlink(),
        lambda image: journal(image).write_bytes(journal(image).read_bytes()[: -5 * 4096]),
        lambda image: journal(image).write_bytes(bytes(50_000)),
        lambda image: (image / "spent-worker-1.mark").write_bytes(b"{"),
        lambda image: (journal(image).unlink(), (image / "spent-worker-1.mark").write_bytes(b"{")),
    ],
    ids=["gone", "cut", "emptied", "mark", "gone with its mark"],
)
async def test_whatever_happened_to_the_files_nothing_can_be_redeemed_again(
    image: Path, damage: Callable[[Path], None]
) -> None:
    damage(image)

    assert await count_again(image) == 0


async def test_after_a_crash_without_damage_every_receipt_counts(image: Path) -> None:
    async with opened(image, now_ms=NOW_MS + 1_000) as redemptions:
        assert not await spend(redemptions, SPENT[-1])
        assert await spend(redemptions, "rcp_new")
        assert await redemptions.find_redemption(SITE, SPENT[0]) == Redemption("mine", b"{}")


async def test_after_a_loss_what_is_issued_later_counts_and_other_workers_know_of_it(image: Path) -> None:
    journal(image).unlink()
    async with opened(image) as redemptions:
        assert await spend(redemptions, "rcp_later", issued_ms=NOW_MS + 1)
        assert not await spend(redemptions, SPENT[-1])
        # A receipt in doubt is used up, without a response that could be repeated.
        assert await redemptions.find_redemption(SITE, SPENT[-1]) == Redemption()

    async with opened(image, "worker-2", now_ms=NOW_MS + 500) as redemptions:
        assert not await spend(redemptions, SPENT[0])
        told: asyncio.Future[SpendOutcome] = asyncio.get_running_loop().create_future()
        mine = Redemption("mine", b"{}")
        redemptions.spend_then(
            SITE, SPENT[1], mine, issued_ms=NOW_MS, kept_until_ms=NOW_MS + LONGEST_MS, done=told.set_result
        )
        assert await told is False
        # Or the same call, repeated, would be given a success that it never had.
        assert await redemptions.find_redemption(SITE, SPENT[1]) == Redemption()


async def test_a_receipt_that_was_discarded_in_its_time_is_not_missed(image: Path) -> None:
    later_ms = NOW_MS + 2 * LONGEST_MS
    async with opened(image, now_ms=NOW_MS + 1_000) as redemptions:
        assert await redemptions.forget_redemptions(later_ms, most=100) == len(SPENT)

    async with opened(image, now_ms=later_ms) as redemptions:
        assert await spend(redemptions, "rcp_new", issued_ms=later_ms)


async def test_after_a_failure_of_any_kind_it_is_looked_whether_the_last_redeem_exists(tmp_path: Path) -> None:
    async with opened(tmp_path) as redemptions:
        assert await spend(redemptions, "rcp_first")
        database = redemptions._database
        table = await database.one("SELECT sql FROM sqlite_schema WHERE name = 'redemption'")
        assert table is not None
        # An error that no store which is merely away would give.
        await database.run("DROP TABLE redemption")
        with pytest.raises(StoreUnavailable, match="no such table"):
            await spend(redemptions, "rcp_second")

        # As another server has it, which never heard of the first.
        await database.run(str(table[0]))
        assert not await spend(redemptions, "rcp_first")


async def test_a_lower_floor_of_another_worker_changes_nothing(tmp_path: Path) -> None:
    marks = SpendMarks(tmp_path, "worker-1")
    marks.take_over(NOW_MS)

    marks.take_over(NOW_MS - 1)

    assert marks.is_doubtful(NOW_MS)
