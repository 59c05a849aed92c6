"""One customer sends every expensive request at once. It delays neither other customers nor the checks of any site."""

import sys
from pathlib import Path
from statistics import median

import pytest

from bench.fairness import Delays, fairness

PAGE_MS, WEBHOOK_MS, CHECK_MS = 500, 5_000, 5
# Other tests use the machine too: they delay the run without the other customer as much.
TIMES_ALONE = 5
EVENTS = 20_000


def _is_fair(alone: Delays, meanwhile: Delays) -> bool:
    return (
        median(meanwhile.page_ms) <= max(PAGE_MS, TIMES_ALONE * median(alone.page_ms))
        and min(meanwhile.checks_ms) <= max(CHECK_MS, TIMES_ALONE * min(alone.checks_ms))
        and meanwhile.webhook_ms <= WEBHOOK_MS
    )


def test_one_customer_does_not_delay_the_pages_webhooks_and_checks_of_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone, meanwhile = fairness(tmp_path, events=EVENTS)
    with capsys.disabled():
        sys.stdout.write(f"\n{alone.line('alone')}\n{meanwhile.line('meanwhile')} {meanwhile.webhook_ms:,.0f} ms\n")

    assert _is_fair(alone, meanwhile)
