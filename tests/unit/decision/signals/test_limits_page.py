"""The limits in docs/signals.md are the same as in the code."""

from pathlib import Path

from agentgate.decision.rates.part_budget import PER_PAGE
from agentgate.decision.rates.windows import (
    CALLS_PER_MINUTE,
    FILES_PER_MINUTE,
    FREE_FILES_PER_MINUTE,
    FREE_PARTS_PER_MINUTE,
    MOST_RESERVED,
    NAME_PER_MINUTE,
    REPEATS_PER_MINUTE,
)
from agentgate.decision.signals.facts import NETWORK_HIGH, VISITOR_EXTREME, VISITOR_HIGH
from agentgate.lib.limits import GATEWAY_REQUESTS_PER_MINUTE

PAGE = Path(__file__).parents[4] / "docs" / "signals.md"


def test_the_page_states_every_limit():
    text = PAGE.read_text("utf-8")
    section = text.partition("## Rate limits")[2].partition("\n## ")[0]
    rows = [line.strip("| \n").split(" | ") for line in section.splitlines() if line.startswith("| ")][2:]
    stated = [int(row[1].replace(",", "")) for row in rows]

    # The request that reaches a rate limit is blocked, so one less is allowed.
    allowed = [each - 1 for each in (VISITOR_HIGH, VISITOR_EXTREME, NETWORK_HIGH)]
    files = [FILES_PER_MINUTE, FREE_FILES_PER_MINUTE]
    parts = [PER_PAGE, CALLS_PER_MINUTE, FREE_PARTS_PER_MINUTE]
    assert stated == [*allowed, GATEWAY_REQUESTS_PER_MINUTE, *files, *parts, NAME_PER_MINUTE]
    assert f"up to {REPEATS_PER_MINUTE} repetitions" in section
    assert f"at most {MOST_RESERVED}." in section
    assert f"share {NAME_PER_MINUTE} requests a minute" in text
