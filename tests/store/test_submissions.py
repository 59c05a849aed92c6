"""Accepted submissions and the ledger on either store: once each, with their charge, and summed by month."""

import asyncio
import random
from functools import partial

import pytest

from agentgate.agents.submission_repository import Charge, Submission, SubmissionStore
from agentgate.events.storage.queries.read_models import SqlSiteSums
from agentgate.events.storage.rollups import forget_site
from agentgate.lib.clock import DAY_MS
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.enums import ChargeSource
from agentgate.sites.price import Price
from agentgate.sites.repository import ActivityStore
from tests.store.sql_objects import NOW_MS, add_two_tenants, migrated

pytestmark = pytest.mark.anyio

SITE = "st_0123456789abcdef"
AGENT = "https://agent.example"


@pytest.fixture
async def opened(backend):
    async with migrated(backend) as opened:
        yield opened


@pytest.fixture
async def submissions(opened):
    return SubmissionStore(opened.database)


def submission(name="a", *, answer=b"{}", agent=AGENT, site=SITE, kept_until_ms=NOW_MS + DAY_MS):
    return Submission(
        site_id=site, agent=agent, id=name, content_hash=b"h" * 32, answer=answer, kept_until_ms=kept_until_ms
    )


def charge(decision="dec_1", *, minor_units=5, source=ChargeSource.SUBMIT, charged_ms=NOW_MS, **changes):
    usual = {"site_id": SITE, "agent": AGENT, "keyid": "k", "action": "submit"}
    return Charge(
        decision_id=decision,
        source=source,
        price=Price("USD", minor_units),
        charged_ms=charged_ms,
        **{**usual, **changes},
    )


async def sums(store, *, site=SITE, from_ms=0, to_ms=NOW_MS + DAY_MS):
    found = await store.sum_charges(site, from_ms=from_ms, to_ms=to_ms)
    return [(each.agent, each.source.value, each.action, each.currency, each.count, each.minor_units) for each in found]


async def test_a_submission_is_accepted_once_and_keeps_its_response(submissions):
    first = submission(answer=b"first")

    assert await submissions.find_submission(SITE, AGENT, "a") is None
    assert await submissions.accept(first, charge())
    assert not await submissions.accept(submission(answer=b"second"), charge("dec_2"))
    assert await submissions.find_submission(SITE, AGENT, "a") == first
    assert await sums(submissions) == [(AGENT, "submit", "submit", "USD", 1, 5)]


async def test_ids_are_by_site_and_agent(submissions):
    mine = [submission(), submission(agent="https://other.example"), submission(site="st_other")]

    assert [await submissions.accept(each, None) for each in mine] == [True, True, True]
    assert await sums(submissions) == []


async def test_of_many_who_submit_the_same_at_once_one_wins_and_one_is_charged(submissions):
    attempts = [submissions.accept(submission(answer=b"%d" % number), charge(f"dec_{number}")) for number in range(64)]

    wins = await asyncio.gather(*attempts)

    assert wins.count(True) == 1
    kept = await submissions.find_submission(SITE, AGENT, "a")
    assert kept.answer == b"%d" % wins.index(True)
    assert await sums(submissions) == [(AGENT, "submit", "submit", "USD", 1, 5)]


async def test_of_many_on_two_connections_one_wins_each(backend, opened):
    other = backend.make()
    stores = [SubmissionStore(opened.database), SubmissionStore(other)]
    attempts = [(store, name) for store in stores for name in range(60) for _ in range(4)]
    random.Random(5).shuffle(attempts)
    try:
        wins = await asyncio.gather(
            *(
                store.accept(submission(f"s{name}"), charge(f"dec_{number}"))
                for number, (store, name) in enumerate(attempts)
            )
        )
    finally:
        await other.close()

    assert sorted(name for (_, name), won in zip(attempts, wins, strict=True) if won) == list(range(60))
    assert await sums(stores[0]) == [(AGENT, "submit", "submit", "USD", 60, 300)]


async def test_a_charge_that_is_noted_twice_is_there_once(submissions):
    noted = charge("dec_9", source=ChargeSource.GATEWAY, action=None, minor_units=100)

    await asyncio.gather(*(submissions.add_charge(noted) for _ in range(10)))
    await submissions.add_charge(noted)

    assert await sums(submissions) == [(AGENT, "gateway", None, "USD", 1, 100)]


async def test_statistics_are_by_agent_source_action_and_currency_within_a_range(submissions):
    charges = [
        charge("dec_1"),
        charge("dec_2", minor_units=7),
        charge("dec_3", source=ChargeSource.GATEWAY),
        charge("dec_4", agent="https://other.example"),
        charge("dec_5", charged_ms=NOW_MS - 1),
        charge("dec_6", site_id="st_other"),
    ]
    for each in charges:
        await submissions.add_charge(each)

    assert await sums(submissions, from_ms=NOW_MS) == [
        (AGENT, "gateway", "submit", "USD", 1, 5),
        (AGENT, "submit", "submit", "USD", 2, 12),
        ("https://other.example", "submit", "submit", "USD", 1, 5),
    ]


async def test_the_largest_prices_add_up_exactly(submissions):
    most = 999_999_999_99
    for number in range(40):
        await submissions.add_charge(charge(f"dec_{number}", minor_units=most))

    [(*_, count, minor_units)] = await sums(submissions)
    assert (count, minor_units) == (40, 40 * most)


async def test_what_is_old_is_discarded_in_units(submissions):
    for number in range(5):
        await submissions.accept(submission(f"s{number}", kept_until_ms=NOW_MS - number), charge(f"dec_{number}"))

    assert await submissions.delete_submissions(NOW_MS, most=3) == 3
    assert await submissions.delete_submissions(NOW_MS, most=3) == 1
    assert await submissions.find_submission(SITE, AGENT, "s0") is not None
    assert await submissions.delete_charges(NOW_MS, most=10) == 0
    assert await submissions.delete_charges(NOW_MS + 1, most=10) == 5


async def test_a_value_that_cannot_be_stored_fails_its_own_call_only(submissions):
    bad = submissions.accept(submission("nul\0"), None)
    good = submissions.accept(submission("good"), charge())

    results = await asyncio.gather(bad, good, return_exceptions=True)

    assert isinstance(results[0], Exception)
    assert results[1] is True


async def test_while_the_store_is_unavailable_no_one_is_shown_that_anything_was_kept(backend, submissions):
    await submissions.accept(submission("before"), None)
    with backend.away():
        results = await asyncio.gather(
            *(submissions.accept(submission(f"s{number}"), charge(f"dec_{number}")) for number in range(3)),
            return_exceptions=True,
        )

    assert all(isinstance(result, StoreUnavailable) for result in results)
    assert await submissions.accept(submission("after"), None)


async def test_an_account_that_is_purged_leaves_nothing_here(opened, submissions):
    await add_two_tenants(opened.store)
    for number in (1, 2):
        site = f"st_{number}"
        await submissions.accept(submission(site=site), charge(f"dec_{number}", site_id=site))

    forget = partial(forget_site, opened.database, None)
    await ActivityStore(
        opened.database, SqlSiteSums(opened.database), forget_site=forget, hot=opened.database
    ).forget_sites("acc_1")

    assert await submissions.find_submission("st_1", AGENT, "a") is None
    assert await sums(submissions, site="st_1") == []
    assert len(await sums(submissions, site="st_2")) == 1
