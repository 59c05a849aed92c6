"""Trying rules out: the explanation of a sample, and stored decisions made again."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from agentgate.events.decision_ids import first_id, write_id
from agentgate.events.queries.replays import ReplayedEvent
from agentgate.events.time_ranges import TimeRange
from agentgate.lib.enums import Outcome
from agentgate.lib.errors import Refused
from agentgate.sites.rules.backtest import AT_ONCE, MOST_OF_ACCOUNT, Backtests, human_flips
from agentgate.sites.rules.explain import explain
from agentgate.sites.rules.records import RuleSet
from agentgate.sites.rules.replay_records import SampleFacts

pytestmark = pytest.mark.anyio

FIRST = first_id(1_794_744_000_000)
SPAN = TimeRange(1_794_744_000_000, 1_794_745_000_000)
RULES = RuleSet(
    version="1",
    rules=[
        {"name": "watch", "match": {}, "action": "count"},
        {"name": "api", "match": {}, "action": "drop", "routes": ["/api/*", "pay"]},
        {"name": "tor", "match": {"all_labels": ["net.tor"]}, "action": "block", "response": {"status": 429}},
        {"name": "score", "match": {"score": "bot", "min_score": 0.8}, "action": "challenge"},
    ],
    default_action="allow",
)


class Stored:
    """Events in memory, in batches of three."""

    def __init__(self, events: list[ReplayedEvent], gate: asyncio.Event | None = None) -> None:
        self.events = events
        self.gate = gate
        self.asked: list[tuple[str, int, int, int]] = []

    async def replay(self, site_id: str, *, from_ms: int, to_ms: int, limit: int) -> AsyncIterator[list[ReplayedEvent]]:
        self.asked.append((site_id, from_ms, to_ms, limit))
        if self.gate is not None:
            await self.gate.wait()
        for start in range(0, min(len(self.events), limit), 3):
            yield self.events[start : min(start + 3, limit)]

    async def wait_for(self, site_id: str) -> None:
        """Wait until the events of a site were requested."""
        async with asyncio.timeout(10):
            while site_id not in {each[0] for each in self.asked}:  # noqa: ASYNC110 - polling is simpler here
                await asyncio.sleep(0.001)


def event(number: int, recorded: Outcome, *labels: str, human: bool | None = None, bot: float = 0.0) -> ReplayedEvent:
    return ReplayedEvent(FIRST + number, labels, {"bot": bot}, "*", None, recorded, human)


async def test_a_backtest_counts_what_would_change() -> None:
    stored = Stored(
        [
            *(event(number, Outcome.ALLOW, "net.tor", human=number < 2) for number in range(7)),
            event(7, Outcome.ALLOW, human=True),
            event(8, Outcome.BLOCK, "net.tor", human=False),
            event(9, Outcome.CHALLENGE, "ua.git", human=False),
            event(10, Outcome.CHALLENGE, "ua.git", bot=0.9),
        ]
    )

    report = await Backtests(stored).run("st_1", RULES, SPAN, "acc_1")

    assert (report.evaluated, report.changed, report.complete) == (11, 8, True)
    first, second = report.flips
    assert (first.from_, first.to, first.count, first.human_labelled, first.bot_labelled) == ("allow", "block", 7, 2, 5)
    assert first.examples == [write_id(FIRST + number) for number in range(5)]
    assert (second.from_, second.to, second.count, second.bot_labelled) == ("challenge", "allow", 1, 1)
    assert report.by_rule == {"tor": 8, "(default)": 2, "score": 1}
    assert report.counted == {"watch": 11}
    assert human_flips(report) == 2
    assert stored.asked == [("st_1", SPAN.from_ms, SPAN.to_ms, 1_000_000)]


async def test_every_stricter_decision_about_a_person_counts_as_a_flip() -> None:
    stored = Stored([event(0, Outcome.CHALLENGE, "net.tor", human=True), event(1, Outcome.BLOCK, human=True)])

    assert human_flips(await Backtests(stored).run("st_1", RULES, SPAN, "acc_1")) == 1


async def test_a_backtest_that_reached_its_limit_shows_it() -> None:
    stored = Stored([event(number, Outcome.ALLOW) for number in range(9)])

    report = await Backtests(stored, most_events=5).run("st_1", RULES, SPAN, "acc_1")

    assert (report.evaluated, report.complete) == (5, False)


async def test_few_backtests_run_at_a_time_and_every_account_has_a_place() -> None:
    gate = asyncio.Event()
    stored = Stored([event(0, Outcome.ALLOW)], gate)
    backtests = Backtests(stored)
    accounts = [f"acc_{number}" for number in range(20)]
    running = [
        asyncio.create_task(backtests.run("st_1", RULES, SPAN, account))
        for account in accounts
        for _ in range(MOST_OF_ACCOUNT)
    ]
    await asyncio.sleep(0)

    with pytest.raises(Refused, match="rate_limited") as refused:
        await backtests.run("st_1", RULES, SPAN, "acc_1")
    assert refused.value.headers["retry-after"] == "10"
    await stored.wait_for("st_1")
    assert len(stored.asked) <= AT_ONCE

    gate.set()
    assert [report.evaluated for report in await asyncio.gather(*running)] == [1] * len(running)
    assert (await backtests.run("st_1", RULES, SPAN, "acc_1")).evaluated == 1


async def test_one_account_neither_fills_the_queue_nor_keeps_others_from_saving() -> None:
    gate = asyncio.Event()
    stored = Stored([event(0, Outcome.ALLOW)], gate)
    backtests = Backtests(stored)
    running = [asyncio.create_task(backtests.run("st_1", RULES, SPAN, "acc_1")) for _ in range(MOST_OF_ACCOUNT)]
    await asyncio.sleep(0)

    with pytest.raises(Refused, match="rate_limited"):
        await backtests.run("st_2", RULES, SPAN, "acc_1")
    others = asyncio.create_task(backtests.run("st_3", RULES, SPAN, "acc_2"))
    saving = asyncio.create_task(backtests.newly_refused("st_3", (RULES, RULES), SPAN, "acc_2"))
    # A query for st_3 arrives while all others are blocked.
    await stored.wait_for("st_3")
    gate.set()

    assert (await others).evaluated == (await saving).evaluated == 1
    await asyncio.gather(*running)
    assert (await backtests.run("st_1", RULES, SPAN, "acc_1")).evaluated == 1


def traced(sample: SampleFacts) -> list[tuple[str, bool]]:
    return [(step.rule, step.matched) for step in explain(RULES, sample, 0).trace]


def test_an_explanation_follows_the_rules_to_the_one_that_decides() -> None:
    sample = SampleFacts(labels=("net.tor",), scores={"bot": 0.9}, route="/x", action="login")

    report = explain(RULES, sample, 0)

    assert (report.outcome, report.rule) == ("block", "tor")
    assert traced(sample) == [("watch", True), ("api", False), ("tor", True)]
    assert report.trace[1].because == "neither the route /x nor its action is among /api/*, pay"


def test_an_explanation_shows_why_rules_do_not_match() -> None:
    report = explain(RULES, SampleFacts(labels=("ua.git",), scores={"bot": 0.5}, route="*", action=None), 0)

    assert (report.outcome, report.rule is report.action) == ("allow", True)
    assert [step.because for step in report.trace[2:]] == ["net.tor is missing", "the bot score 0.5 is below 0.8"]


@pytest.mark.parametrize(("route", "action"), [("/api/*", None), ("/api/v2", "x"), ("/", "pay")])
def test_an_explanation_agrees_with_the_compiled_rules_about_routes(route: str, action: str | None) -> None:
    report = explain(RULES, SampleFacts(labels=(), scores={}, route=route, action=action), 0)

    assert report.rule == report.trace[-1].rule == "api"


@pytest.mark.parametrize(
    ("match", "because"),
    [
        ({"any_labels": ["net.tor", "net.vpn"]}, "none of net.tor, net.vpn are present"),
        ({"none_labels": ["ua.git"]}, "ua.git is present"),
        ({"any_prefix": ["net", "rate"]}, "no label starts with net or rate"),
        ({"score": "agent", "min_score": 0}, "there is no agent score"),
    ],
)
def test_each_condition_shows_why_it_does_not_hold(match: dict[str, object], because: str) -> None:
    rules = RuleSet(version="1", rules=[{"name": "a", "match": match, "action": "block"}], default_action="allow")

    report = explain(rules, SampleFacts(labels=("ua.git",), scores={"bot": 1.0}, route="*", action=None), 0)

    assert [(step.matched, step.because) for step in report.trace] == [(False, because)]
