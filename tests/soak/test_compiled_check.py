"""The compiled check against the check in Python for long, and damaged heads under the sanitizers."""

import os
import secrets
from pathlib import Path

import pytest

from tests.api.public.compiled_pair import compare_traffic
from tests.support.compiled import compiled_check, fuzz, need_compiler
from tests.support.service import RunningService

pytestmark = pytest.mark.soak

REQUESTS, FUZZ_S = 200_000, 600.0


@pytest.mark.timeout(3_600)
def test_both_checks_give_the_same_for_200_000_requests(service: RunningService) -> None:
    seed = int(os.environ.get("FUZZ_SEED") or secrets.randbelow(2**32))

    totals = compare_traffic(service, compiled_check(), requests=REQUESTS, seed=seed)

    assert totals.left < totals.requests / 3, f"FUZZ_SEED={seed}"
    assert totals.parts > totals.requests / 4, f"FUZZ_SEED={seed}"


@pytest.mark.timeout(1_800)
def test_no_damaged_head_makes_the_sanitizers_report_for_long(tmp_path: Path) -> None:
    need_compiler()
    seed = int(os.environ.get("FUZZ_SEED") or secrets.randbelow(2**32))

    asked, answered = fuzz(tmp_path, FUZZ_S, seed)

    assert asked > 100_000
    assert answered > asked / 10
