"""The long fuzzing run, with a new seed each time and sequences of requests that use data of earlier responses."""

import os
import secrets
from pathlib import Path

import pytest

from tests.support.fuzzing import fuzz_admin_routes
from tests.support.processes import serving


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_the_admin_api_keeps_to_its_document_for_long(tmp_path: Path) -> None:
    seed = int(os.environ.get("FUZZ_SEED") or secrets.randbelow(2**32))
    with serving(tmp_path) as process:
        fuzzed = fuzz_admin_routes(process, requests=5_000, phases="coverage,fuzzing,stateful", seed=seed)

        assert fuzzed.exit_code == 0, f"FUZZ_SEED={seed}\n{fuzzed.said}"
        assert [each for each in fuzzed.reached if each[2] >= 500] == [], f"FUZZ_SEED={seed}"
        assert process.readiness() == 200
