"""The models of chains against the results of engines, and the check of a claim of another engine."""

import json
from pathlib import Path

import pytest

from agentgate.browser_check.probes.chains import (
    CHAINS,
    blink_answer,
    draw_chains,
    fits,
    gecko_answer,
    is_mismatch,
)

# Chromium 156, Firefox 140 and WebKitGTK 2.50 on x86-64, by engine and zoom; 30 draws of three chains each.
STORED = json.loads((Path(__file__).parent / "chain_answers.json").read_text("utf-8"))
DRAWS = [draw_chains(b"seed%d" % number) for number in range(30)]
BLINK_OR_WEBKIT = ("blink", "webkit")


def draws_of(name):
    answers = STORED[name]
    return [(chains, answers[CHAINS * at : CHAINS * (at + 1)]) for at, chains in enumerate(DRAWS)]


@pytest.mark.parametrize("name", STORED)
def test_the_model_of_an_engine_gives_its_results(name):
    engine, _, zoom = name.partition("@")
    pairs = [pair for chains, answers in draws_of(name) for pair in zip(chains, answers, strict=True)]
    model = gecko_answer if engine == "gecko" else lambda chain: blink_answer(chain, float(zoom))

    assert sum(fits(model(chain), answer) for chain, answer in pairs) >= len(pairs) - 1


@pytest.mark.parametrize("name", STORED)
def test_the_other_unit_does_not_fit(name):
    engine, _, zoom = name.partition("@")
    pairs = [pair for chains, answers in draws_of(name) for pair in zip(chains, answers, strict=True)]
    other = (lambda chain: blink_answer(chain, float(zoom))) if engine == "gecko" else gecko_answer

    assert not any(fits(other(chain), answer) for chain, answer in pairs)


@pytest.mark.parametrize("name", STORED)
@pytest.mark.parametrize("claimed", ["blink", "gecko", "webkit"])
def test_a_claim_is_contradicted_by_gecko_alone(name, claimed):
    engine = name.partition("@")[0]
    told = sum(is_mismatch(claimed, chains, answers) for chains, answers in draws_of(name))

    if (engine == "gecko") is (claimed == "gecko"):
        assert told == 0
    else:
        # Blink at 75% on a screen of 125% counts as Gecko does, and some draws cannot tell the two apart.
        assert told >= len(DRAWS) - 3


@pytest.mark.parametrize("zoom", [0.25, 0.9375, 1.875, 2.625, 5.25, 7.875])
def test_blink_at_an_odd_zoom_is_never_taken_for_gecko(zoom):
    for number in range(200):
        chains = draw_chains(b"odd%d" % number)

        assert not is_mismatch("blink", chains, [blink_answer(chain, zoom) for chain in chains])


def test_without_a_result_to_each_chain_nothing_is_shown():
    chains = DRAWS[0]
    zeros = [[0] * len(gecko_answer(chain)) for chain in chains]

    assert not is_mismatch("gecko", chains, [None, *zeros[1:]])
    assert not is_mismatch(None, chains, zeros)
    assert not is_mismatch("blink", chains, zeros)
    assert is_mismatch("gecko", chains, zeros)


def test_chains_have_fresh_numbers():
    assert draw_chains(b"one") == draw_chains(b"one")
    assert not set(draw_chains(b"one")) & set(draw_chains(b"two"))
