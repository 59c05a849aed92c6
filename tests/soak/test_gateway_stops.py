"""The gateway stopped often, under load: no response is broken and no event lost."""

from pathlib import Path

import pytest

from tests.whole.gateway_stops import stop_often

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1_800)]

STOPS = 200


def test_two_hundred_stops_break_no_response_and_lose_no_event(tmp_path: Path) -> None:
    stop_often(tmp_path, STOPS)
