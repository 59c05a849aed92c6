"""The gateway stopped and killed often, under load: no answer is broken, no event lost, no token opens twice."""

from pathlib import Path

import pytest

from tests.whole.test_gateway_stops import kill_often, stop_often

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1_800)]

STOPS = 200
# All of them within about the life of a token.
KILLS = 20


def test_two_hundred_stops_break_no_answer_and_lose_no_event(tmp_path: Path) -> None:
    stop_often(tmp_path, STOPS)


def test_twenty_kills_let_no_token_open_again(tmp_path: Path) -> None:
    kill_often(tmp_path, KILLS)
