"""Redeeming receipts on either store: once each, together, and with a result for each pending caller."""

import asyncio
import random

import pytest

from agentgate.browser_check.tokens.repository import Redemption, RedemptionStore
from agentgate.lib.clock import DAY_MS
from agentgate.lib.database import StoreUnavailable
from tests.store.sql_objects import NOW_MS, migrated

pytestmark = pytest.mark.anyio

SITE = "st_0123456789abcdef"
UNTIL_MS = NOW_MS + DAY_MS


@pytest.fixture
async def opened(backend):
    async with migrated(backend) as opened:
        yield opened


@pytest.fixture
async def redemptions(opened):
    return RedemptionStore(opened.database)


def spend(redemptions, receipt, request=None, *, site=SITE, until_ms=UNTIL_MS):
    mine = Redemption(request, f"{receipt} for {request}".encode()) if request else Redemption()
    return redemptions.spend(site, receipt, mine, issued_ms=UNTIL_MS, kept_until_ms=until_ms)


async def test_a_receipt_is_redeemed_once_and_remembers_by_whom(redemptions):
    assert await redemptions.find_redemption(SITE, "rcp_a") is None
    assert await spend(redemptions, "rcp_a", "first")
    assert not await spend(redemptions, "rcp_a", "second")

    assert await redemptions.find_redemption(SITE, "rcp_a") == Redemption("first", b"rcp_a for first")


async def test_what_cannot_be_repeated_keeps_no_response(redemptions):
    assert await spend(redemptions, "rcp_a")

    assert await redemptions.find_redemption(SITE, "rcp_a") == Redemption(None, None)


async def test_sites_do_not_share_receipts(redemptions):
    assert await spend(redemptions, "rcp_a", site="st_1")
    assert await spend(redemptions, "rcp_a", site="st_2")
    assert not await spend(redemptions, "rcp_a", site="st_2")


async def test_of_many_who_spend_a_receipt_at_once_one_wins(redemptions):
    wins = await asyncio.gather(*(spend(redemptions, "rcp_a", f"call-{number}") for number in range(100)))

    assert wins.count(True) == 1
    found = await redemptions.find_redemption(SITE, "rcp_a")
    assert found.request_id == f"call-{wins.index(True)}"


async def test_of_many_on_two_connections_one_wins_each_receipt(backend, opened):
    other = backend.make()
    stores = [RedemptionStore(opened.database), RedemptionStore(other)]
    receipts = [f"rcp_{number}" for number in range(300)]
    attempts = [(store, receipt) for store in stores for receipt in receipts for _ in range(5)]
    random.Random(5).shuffle(attempts)
    try:
        wins = await asyncio.gather(*(spend(store, receipt) for store, receipt in attempts))
    finally:
        await other.close()

    assert sorted(receipt for (_, receipt), won in zip(attempts, wins, strict=True) if won) == sorted(receipts)


async def test_what_is_delayed_meanwhile_is_spent_with_few_commits(opened, redemptions):
    groups = []
    begun = asyncio.Event()
    insert_new = opened.database.insert_new

    async def counted(new, rows):
        groups.append(len(rows))
        begun.set()
        return await insert_new(new, rows)

    opened.database.insert_new = counted
    first = asyncio.create_task(spend(redemptions, "rcp_first"))
    await begun.wait()
    rest = await asyncio.gather(*(spend(redemptions, f"rcp_{number}") for number in range(50)))

    assert await first
    assert all(rest)
    assert groups[0] == 1
    assert len(groups) <= 3
    assert sum(groups) == 51


async def test_users_who_come_again_and_again_share_two_commits_evenly(opened, redemptions):
    groups = []
    insert_new = opened.database.insert_new

    async def counted(new, rows):
        groups.append(len(rows))
        # Long enough for the callers with results to come back.
        await asyncio.sleep(0.005)
        return await insert_new(new, rows)

    async def come_again(caller):
        for number in range(8):
            assert await spend(redemptions, f"rcp_{caller}_{number}")

    opened.database.insert_new = counted
    few = [asyncio.create_task(come_again(caller)) for caller in range(16)]
    await asyncio.sleep(0.001)
    many = [asyncio.create_task(come_again(caller)) for caller in range(16, 64)]
    await asyncio.gather(*few, *many)

    assert groups[:6] == [16, 32, 32, 32, 32, 32]


async def test_the_next_commit_is_under_way_while_the_outcomes_of_the_last_are_reported(opened, redemptions):
    seen = []
    insert_new = opened.database.insert_new

    async def noted(new, rows):
        seen.append(f"{len(rows)} sent")
        return await insert_new(new, rows)

    opened.database.insert_new = noted
    loop = asyncio.get_running_loop()
    ended = {"first": loop.create_future(), "second": loop.create_future()}

    def spend_then(receipt):
        def done(outcome):
            seen.append(f"{receipt} {outcome}")
            ended[receipt].set_result(None)

        redemptions.spend_then(SITE, receipt, Redemption(), issued_ms=UNTIL_MS, kept_until_ms=UNTIL_MS, done=done)

    spend_then("first")
    # Sent, and without a response so far.
    await asyncio.sleep(0)
    spend_then("second")
    await asyncio.gather(*ended.values())

    assert seen == ["1 sent", "1 sent", "first True", "second True"]


async def test_one_who_cannot_bear_the_news_does_not_keep_it_from_the_others(redemptions):
    told = asyncio.get_running_loop().create_future()

    def fail(outcome):
        raise RuntimeError(outcome)

    redemptions.spend_then(SITE, "rcp_a", Redemption(), issued_ms=UNTIL_MS, kept_until_ms=UNTIL_MS, done=fail)
    redemptions.spend_then(
        SITE, "rcp_b", Redemption(), issued_ms=UNTIL_MS, kept_until_ms=UNTIL_MS, done=told.set_result
    )

    assert await told is True


async def test_one_who_goes_away_meanwhile_leaves_the_others_alone(redemptions):
    tasks = [asyncio.create_task(spend(redemptions, f"rcp_{number}", "r")) for number in range(20)]
    await asyncio.sleep(0)
    tasks[3].cancel()

    results = await asyncio.gather(*tasks, return_exceptions=True)

    assert [result for number, result in enumerate(results) if number != 3] == [True] * 19
    assert isinstance(results[3], asyncio.CancelledError)
    # The caller does not know whether the receipt was redeemed, but no other caller can redeem it differently now.
    assert (await redemptions.find_redemption(SITE, "rcp_3")).request_id == "r"


async def test_a_value_that_cannot_be_stored_fails_its_own_call_only(redemptions):
    good, bad = await asyncio.gather(spend(redemptions, "rcp_a"), spend(redemptions, "rcp_\0"), return_exceptions=True)

    assert good is True
    assert isinstance(bad, ValueError)


async def test_while_the_store_is_unavailable_no_one_hears_that_a_receipt_was_redeemed(backend, redemptions):
    with backend.away():
        outcomes = await asyncio.gather(
            *(spend(redemptions, f"rcp_{number}", "r") for number in range(5)), return_exceptions=True
        )

    assert all(isinstance(outcome, StoreUnavailable) for outcome in outcomes)
    assert await _until_back(redemptions, "rcp_0") in {True, False}
    assert (await redemptions.find_redemption(SITE, "rcp_0")).request_id == "r"


async def test_a_response_that_is_lost_after_the_commit_is_found_by_the_retry(opened, redemptions):
    insert_new = opened.database.insert_new

    async def lost(new, rows):
        await insert_new(new, rows)
        raise StoreUnavailable("the connection broke behind the commit")

    opened.database.insert_new = lost
    with pytest.raises(StoreUnavailable):
        await spend(redemptions, "rcp_a", "same")
    opened.database.insert_new = insert_new

    assert not await spend(redemptions, "rcp_a", "same")
    assert await redemptions.find_redemption(SITE, "rcp_a") == Redemption("same", b"rcp_a for same")


async def test_redemptions_are_discarded_after_their_time_and_some_at_once(redemptions):
    for number in range(10):
        await spend(redemptions, f"rcp_{number}", until_ms=NOW_MS + number)

    assert await redemptions.forget_redemptions(NOW_MS + 5, most=3) == 3
    assert await redemptions.forget_redemptions(NOW_MS + 5, most=3) == 2
    assert await redemptions.forget_redemptions(NOW_MS + 5, most=3) == 0

    kept = [number for number in range(10) if await redemptions.find_redemption(SITE, f"rcp_{number}") is not None]
    assert kept == [5, 6, 7, 8, 9]


async def _until_back(redemptions, receipt):
    for _ in range(100):
        try:
            return await spend(redemptions, receipt, "r")
        except StoreUnavailable:
            await asyncio.sleep(0.05)
    raise AssertionError("the store did not come back")
