"""Checks before rules are saved: unknown conditions, and stored requests that the rules would newly challenge or block.

`endpoints.replace_rules` asks before it stores anything.
"""

import asyncio
from typing import Any

from agentgate.events.time_ranges import TimeRange
from agentgate.http.call import SiteCall
from agentgate.lib.clock import DAY_MS
from agentgate.lib.database import StoreUnavailable
from agentgate.lib.errors import Refused
from agentgate.lib.records import to_builtins
from agentgate.sites.rules.backtest import Backtests, human_flips
from agentgate.sites.rules.drafts import Draft, warnings_of
from agentgate.sites.rules.records import RuleSet

# How far back `maxHumanFlips` looks.
HUMAN_DAYS = 7
# `guard` asks if the rules would challenge or block more than this share of allowed requests, of at least 200 in all.
MOST_REFUSED_PERCENT = 5
LEAST_REQUESTS = 200

_UNAVAILABLE = "Stored requests are unavailable, so the rules were not replayed against them."


async def guard_humans(call: SiteCall, draft: Draft, most: int, backtests: Backtests) -> None:
    """Reject rules that would make more decisions labeled human stricter."""
    assert draft.effective is not None, "only a valid draft is replayed"
    span = TimeRange(call.now - HUMAN_DAYS * DAY_MS, call.now)
    try:
        flips = human_flips(await backtests.run(call.site_id, draft.effective, span, call.account_id))
    except StoreUnavailable:
        raise Refused("backtest_refused", f"{_UNAVAILABLE} To save the rules, omit maxHumanFlips.") from None
    if flips > most:
        raise Refused(
            "backtest_refused",
            f"These rules would make {flips} decisions labeled human of the last {HUMAN_DAYS} days stricter; "
            f"maxHumanFlips allows {most}.",
        )


async def ask_to_confirm(call: SiteCall, draft: Draft, present: RuleSet, backtests: Backtests) -> None:
    """Reject rules with warnings, and rules that newly challenge or block many requests, unless acknowledged."""
    assert draft.effective is not None, "only a valid draft is replayed"
    warnings = await asyncio.to_thread(warnings_of, draft)
    reasons = [each.message for each in warnings]
    figures: dict[str, Any] = {}
    try:
        span = TimeRange(call.now - DAY_MS, call.now)
        found = await backtests.newly_refused(call.site_id, (present, draft.effective), span, call.account_id)
    except StoreUnavailable:
        # Rules must be changeable while events are unavailable, but not unasked.
        reasons.append(_UNAVAILABLE)
    else:
        figures = {"evaluated": found.evaluated, "allowed": found.allowed, "newlyRefused": found.refused}
        if found.evaluated >= LEAST_REQUESTS and found.refused * 100 > found.allowed * MOST_REFUSED_PERCENT:
            reasons.append(
                f"These rules would challenge or block {found.refused} of {found.allowed} requests of the last 24 "
                f"hours that the present rules allow."
            )
    if reasons:
        message = " ".join([*reasons, "To save them anyway, send acknowledge: true."])
        raise Refused("confirmation_required", message, **figures, warnings=to_builtins(warnings))
