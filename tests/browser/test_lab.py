"""Some of the lab's sessions: tools that must get no token, and a person who must. See docs/contributing/lab.md."""

import shutil
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from bench.adversaries import packages
from bench.adversaries.personas import HELD_OUT, PERSONAS, TUNING
from bench.adversaries.programs import PROGRAMS
from bench.adversaries.report import counts, halves, table
from bench.adversaries.runner import Result, Runner, plan_person, plan_program
from bench.adversaries.site import laboratory
from tests.browser.chromium import chromium_path, node_path

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run plans with the packages of the tests, in one laboratory."""
    folder = tmp_path_factory.mktemp("lab")
    with laboratory(folder, lanes=1) as lab:
        yield lambda plans, tools: Runner(lab, tools, folder, lambda *_: None).run(plans)


def own_tools(chromium=""):
    modules = str(ROOT) if (ROOT / "node_modules").exists() else ""
    return packages.Tools(python=sys.executable, node=node_path(), modules=modules, chromium=chromium, firefox="")


def plan(variant):
    return next(plan_program(program, 1) for program in PROGRAMS if program.variant == variant)


@pytest.mark.parametrize("variant", ["httpx headers signals", "jsdom shims"])
def test_who_runs_no_engine_gets_no_token(run, variant):
    [result] = run([plan(variant)], own_tools())

    assert not result.skipped, result
    assert result.tokens == 0, result


def test_a_driven_browser_gets_no_token(run):
    chromium = chromium_path()
    if not shutil.which("Xvfb"):
        pytest.skip("Xvfb: there is none on the PATH")

    [result] = run([plan("playwright")], own_tools(chromium))

    assert not result.skipped, result
    assert (result.tokens, result.refused) == (0, ["challenge_failed"]), result
    assert "browser.headless" in result.labels


def test_a_person_gets_a_token(run):
    tools = packages.find_tools()
    lacking = packages.missing("person", tools)
    if lacking:
        pytest.skip(f"the lab: {lacking}")

    [result] = run([plan_person(PERSONAS[0], 1)], tools)

    assert not result.skipped, result
    assert (result.tokens, result.asked) == (1, False), result


def test_a_tool_is_in_one_half_only():
    found = defaultdict(set)
    for program in PROGRAMS:
        if program.driver not in ("solver", "solver with an engine", "farm", "token sold"):
            found[program.driver].add(program.half)

    assert {driver: half for driver, half in found.items() if len(half) > 1} == {}
    assert len({persona.name for persona in PERSONAS}) == len(PERSONAS) >= 20
    for half in (TUNING, HELD_OUT):
        assert sum(persona.half == half for persona in PERSONAS) >= 10
        assert sum(program.half == half for program in PROGRAMS) >= 20


def test_sessions_that_never_happened_count_for_no_one():
    passed = Result("bot", "farm", "eight tabs", TUNING, 1, sessions=8, tokens=3)
    broken = Result("bot", "tool", "variant", HELD_OUT, 1, skipped="missing: Chromium")
    person = Result("person", "firefox", "curved", HELD_OUT, 1, tokens=1, asked=True)

    found = halves([passed, broken, person])

    assert found["bot"]["all"] == {"sessions": 8, "tokens": 3, "asked": 0, "untouched": 1}
    assert found["bot"][HELD_OUT]["sessions"] == 0
    assert found["person"]["all"] == {"sessions": 1, "tokens": 1, "asked": 1, "untouched": 0}
    assert counts([broken])["sessions"] == 0
    assert "missing: Chromium" in table([passed, broken, person])
