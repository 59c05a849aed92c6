"""Suggestions that an owner must accept before all wanted programs pass."""

import sys

import pytest

from tests.population.suggested import run_programs

pytestmark = pytest.mark.timeout(300)

# A crawler by its own name, in a browser's User-Agent: the agent policy and `wantedPrograms` decide about it.
BY_OTHER_SETTINGS = ["checkers of pages: Siteimprove"]

MOST_ACCEPTANCES = 6


def test_every_program_passes_after_its_suggestion_is_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    found = run_programs()

    with capsys.disabled():
        sys.stdout.write(f"\n{found.line}\n")
    assert found.after == BY_OTHER_SETTINGS
    # One for each program, or fewer where programs share a path and a name.
    assert 0 < len(found.accepted) < len(found.before)
    assert found.clicks <= MOST_ACCEPTANCES
    assert found.feeds == ["/blog/feed/", "/?feed=rss2", "/feed.json", "/comments/feed/", "/news.rss", "/rss"]
