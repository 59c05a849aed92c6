"""The steps of the interactive challenge: where the time goes."""

from bench.adversaries.steps import durations, line

STEPS = [
    ["checking", 1000],
    ["challenge asked", 1010],
    ["challenge answered", 1100],
    ["interactive", 1200],
    ["press", 2200],
    ["press heard", 2210],
    ["press", 4000],
    ["press heard", 4002],
    ["checking", 4010],
    ["verify asked", 4500],
    ["verify answered", 4600],
    ["verified", 4620],
]


def test_the_parts_add_up_to_the_whole() -> None:
    found = durations(STEPS)

    parts = ("first press", "last press", "work", "answer")
    assert round(sum(found[name] for name in parts), 2) == found["all"] == 3.42
    assert found["load"] == 0.2
    assert found["page late"] == 0.01
    assert found["presses"] == 2
    assert "work 0.5 s" in line(STEPS)


def test_a_check_that_was_not_shown_has_none() -> None:
    assert durations([step for step in STEPS if step[0] != "interactive"]) == {}
    assert line([]) == ""
