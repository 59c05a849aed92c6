"""The flood of sign-ins on a machine without other load: 99% of the other requests get their responses in time."""

from pathlib import Path

import pytest

from tests.security.floods import Flood, probe_times
from tests.support.processes import serving

MOST_S = 0.05
SAMPLES = 1_000


@pytest.mark.soak
def test_a_flood_of_sign_ins_delays_hardly_anyone(tmp_path: Path) -> None:
    with serving(tmp_path) as process, Flood(process.public_url):
        times = probe_times(process.public_url, SAMPLES)

    assert times[SAMPLES * 99 // 100] < MOST_S
