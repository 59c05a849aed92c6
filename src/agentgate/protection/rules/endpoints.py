"""Rules over HTTP: read, replace, check, try out. Operators and customers differ in guard only."""

import asyncio
from typing import Any, Protocol

from msgspec import UnsetType

from agentgate.http.call import Call, SiteCall
from agentgate.http.replies import Reply
from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.lib.database import Store
from agentgate.lib.enums import RulesSource
from agentgate.lib.errors import Refused
from agentgate.lib.limits import TRAFFIC_RANGE_DEFAULT_HOURS, TRAFFIC_RANGE_MOST_DAYS
from agentgate.lib.moment import Moment
from agentgate.lib.records import optional
from agentgate.lib.time_ranges import TimeRange, read_range
from agentgate.protection.rules import editing
from agentgate.protection.rules.backtest import Backtests, human_flips
from agentgate.protection.rules.drafts import Draft, check_one_form, checked, is_given, read_draft, result_of
from agentgate.protection.rules.effective import effective_of, managed_groups, server_document, server_rule_set
from agentgate.protection.rules.explain import explain
from agentgate.protection.rules.records import (
    CheckedRules,
    DraftInput,
    ManagedGroupList,
    RulesChange,
    RulesRequest,
    RulesView,
    StoredRules,
    ValidateResult,
)
from agentgate.protection.rules.replay_records import (
    BacktestInput,
    BacktestReport,
    SampleFacts,
    SampleRequest,
    TestInput,
    TestReport,
)
from agentgate.protection.rules.repositories import RuleStores

# What rows that take a draft answer when it is not valid.
INVALID: dict[int, type] = {422: ValidateResult}
# How far back `maxHumanFlips` looks.
GUARD_DAYS = 7


class Explainer(Protocol):
    """Makes labels and scores of a sample request, as it would of a real one."""

    async def observe(self, site_id: str, request: SampleRequest) -> SampleFacts:
        """Return what the service sees in the request."""
        ...


async def read_rules(call: SiteCall, store: Store[RuleStores]) -> RulesView:
    """Read a site's rules, the overrides, and what results."""
    return _view(call, await store.read.rules.find_rules(call.site_id))


async def replace_rules(
    call: SiteCall, body: RulesChange, store: Store[RuleStores], backtests: Backtests
) -> Reply[RulesView]:
    """Replace a site's rules and overrides.

    With neither `ruleSet` nor `ruleSetText` the site follows the server's rules. Rules that are not valid are answered
    with 422 and everything that is wrong with them.
    """
    draft = await _draft(body)
    if draft.effective is None:
        return _invalid(draft)
    revision = 0 if isinstance(body.revision, UnsetType) else body.revision
    if not isinstance(body.max_human_flips, UnsetType):
        # First, so that nobody waits for a backtest only to learn that the rules are old.
        editing.check_revision(await store.read.rules.find_rules(call.site_id), revision)
        await _guard_humans(call, draft, body.max_human_flips, backtests)
    await store.change(lambda stores: editing.replace_rules(stores, call, draft, revision=revision))
    return Reply(body=_view(call, await store.read.rules.find_rules(call.site_id)))


async def validate_rules(_call: SiteCall, body: RulesRequest) -> CheckedRules:
    """Check rules without storing them."""
    draft = await _draft(body)
    return await asyncio.to_thread(checked, draft)


async def list_managed_groups(_call: Call) -> ManagedGroupList:
    """List every version of every managed group."""
    return ManagedGroupList(items=list(managed_groups().values()))


async def test_rules(
    call: SiteCall, body: TestInput, store: Store[RuleStores], explainer: Explainer
) -> Reply[TestReport]:
    """Explain what rules make of one sample request.

    With neither `ruleSet` nor `ruleSetText` these are the site's present rules; `overrides` then replace its own.
    """
    check_one_form(body)
    stored = await store.read.rules.find_rules(call.site_id)
    effective = effective_of(stored)
    if is_given(body) or not isinstance(body.overrides, UnsetType):
        otherwise = None if stored is None or is_given(body) else stored.rule_set
        draft = await asyncio.to_thread(read_draft, body, otherwise=otherwise)
        if draft.effective is None:
            return _invalid(draft)
        effective = draft.effective
    sample = await explainer.observe(call.site_id, body.request)
    return Reply(body=explain(effective, sample))


async def backtest_rules(call: SiteCall, body: BacktestInput, backtests: Backtests) -> Reply[BacktestReport]:
    """Decide stored events again by other rules, and say what would change.

    With neither `ruleSet` nor `ruleSetText` these are the server's rules. Only decisions that rules made take part.
    """
    span = read_range(
        body.from_,
        body.to,
        now_ms=call.now,
        default_ms=TRAFFIC_RANGE_DEFAULT_HOURS * HOUR_MS,
        longest_ms=TRAFFIC_RANGE_MOST_DAYS * DAY_MS,
    )
    draft = await _draft(body)
    if draft.effective is None:
        return _invalid(draft)
    return Reply(body=await backtests.run(call.site_id, draft.effective, span))


async def _draft(body: DraftInput) -> Draft:
    check_one_form(body)
    # A large text takes longer to read than others should wait.
    return await asyncio.to_thread(read_draft, body)


async def _guard_humans(call: SiteCall, draft: Draft, most: int, backtests: Backtests) -> None:
    assert draft.effective is not None, "only a valid draft is tried"
    span = TimeRange(call.now - GUARD_DAYS * DAY_MS, call.now)
    flips = human_flips(await backtests.run(call.site_id, draft.effective, span))
    if flips > most:
        raise Refused(
            "backtest_refused",
            f"These rules would turn {flips} allowed decisions labelled human of the last {GUARD_DAYS} days into "
            f"something stricter; maxHumanFlips allows {most}.",
        )


def _invalid(draft: Draft) -> Reply[Any]:
    return Reply(body=result_of(draft), status=422)


def _view(call: SiteCall, stored: StoredRules | None) -> RulesView:
    return RulesView(
        site_key=call.site_key,
        source=RulesSource.SERVER if stored is None else stored.source,
        revision=0 if stored is None else stored.revision,
        server_version=server_rule_set().version,
        rule_set=server_document() if stored is None or stored.rule_set is None else stored.rule_set,
        overrides={} if stored is None else stored.overrides,
        effective=effective_of(stored),
        updated_at=optional(None if stored is None else Moment(stored.updated_ms)),
        updated_by=optional(None if stored is None else stored.updated_by),
    )
