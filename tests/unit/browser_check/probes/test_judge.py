"""The table of judgments, and who never is right."""

import pytest

from agentgate.browser_check.probes.chains import blink_answer, draw_chains, gecko_answer
from agentgate.browser_check.probes.checker import fresh_of, judge_answers
from agentgate.browser_check.probes.draw import draw_programs
from agentgate.browser_check.probes.engines import BrowserClaim, claim_of
from agentgate.browser_check.probes.judge import ProbeState, is_right, state_of
from agentgate.browser_check.probes.pool import Pools
from agentgate.browser_check.probes.ticket import AskedProgram, ProbeTicket, seal, unseal
from agentgate.browser_check.records import ProbesInput
from agentgate.browser_check.repository import StoredChallenge
from agentgate.lib.enums import WidgetMode

POOL = Pools(None).shipped
CHROME = BrowserClaim("blink", POOL.seen["blink"][0])
NEWER = BrowserClaim("blink", 999)


def challenge(number):
    seed = number.to_bytes(16, "big")
    return StoredChallenge(
        id=f"ch_{number:026d}",
        site=1,
        action="login",
        origin="https://shop.example",
        visitor="0" * 16,
        seed=seed,
        level=0,
        widget=WidgetMode.INVISIBLE,
        c_data=None,
        issued_ms=0,
        expires_ms=300_000,
        attempts=1,
    )


def ticket_of(asked, claim):
    drawn = draw_programs([POOL], asked.seed, engine=claim.engine)
    return ProbeTicket(
        engine=claim.engine,
        version=claim.version,
        seen=POOL.has_seen(claim.engine, claim.version),
        asked=tuple(AskedProgram(one.known.family, one.known.answer_of(claim.engine)) for one in drawn),
    )


def right_answers(asked, ticket):
    chains = [blink_answer(chain, 1.25) for chain in draw_chains(asked.seed)]
    return [[*one.answer] for one in ticket.asked] + chains


def judged(answers, *, number=1, claim=CHROME, sealed_for=None, sent_by=None):
    asked = challenge(number)
    ticket = ticket_of(sealed_for or asked, claim)
    bound = sealed_for or asked
    given = ProbesInput(draw=seal(ticket, bound.seed, bound.id), answers=answers(bound, ticket))
    return judge_answers(asked, given, sent_by or claim)


def with_wrong(count):
    def answers(asked, ticket):
        given = right_answers(asked, ticket)
        for place in range(count):
            given[place][-1] += 9
        return given

    return answers


@pytest.mark.parametrize(
    ("wrong", "seen", "unseen"),
    [
        (0, ProbeState.RIGHT, ProbeState.RIGHT),
        (1, ProbeState.RIGHT, ProbeState.RIGHT),
        (2, ProbeState.DRIFT, ProbeState.RIGHT),
        (3, ProbeState.DRIFT, ProbeState.RIGHT),
        (4, ProbeState.WRONG, ProbeState.UNPROVEN),
        (7, ProbeState.WRONG, ProbeState.UNPROVEN),
        # Right about nothing: no engine, of whatever version.
        (8, ProbeState.WRONG, ProbeState.WRONG),
    ],
)
def test_the_table(wrong, seen, unseen):
    assert judged(with_wrong(wrong)).state is seen
    assert judged(with_wrong(wrong), claim=NEWER).state is unseen
    assert judged(with_wrong(wrong)).right == 8 - wrong


def test_no_version_that_the_pool_has_not_seen_is_wrong_while_it_is_right_about_anything():
    states = {state_of(right, of, is_seen=False) for of in range(9) for right in range(1, of + 1)}

    assert states == {ProbeState.RIGHT, ProbeState.UNPROVEN, ProbeState.NONE}


def test_too_few_programs_say_nothing():
    assert {state_of(right, 4, is_seen=True) for right in range(5)} == {ProbeState.NONE}
    assert state_of(4, 5, is_seen=True) is ProbeState.RIGHT


def test_a_program_counts_as_a_whole_within_half_a_pixel():
    assert is_right((0, 16), [8, 8])
    assert not is_right((0, 16), [8, 25])
    assert not is_right((0, 16), [0])
    assert not is_right((0, 16), [0, 16, 16])
    assert not is_right((0, 16), None)


@pytest.mark.parametrize("number", [0, 16, -16, 100])
def test_who_lays_nothing_out_has_no_program_right(number):
    def constant(_asked, ticket):
        return [[number] * len(one.answer) for one in ticket.asked] + [[number] * 8] * 3

    assert {judged(constant, number=seed).right for seed in range(300)} == {0}


def test_not_one_program_of_the_pool_is_solved_by_a_constant():
    for known in POOL.programs.values():
        for number in range(-64, 512, 16):
            assert not is_right(known.answers[""], [number] * len(known.answers[""])), known


def test_results_of_another_challenge_are_wrong():
    result = judged(right_answers, number=1, sealed_for=challenge(2))

    assert result.state is ProbeState.WRONG
    assert result.right == 0


def test_a_made_up_ticket_is_wrong():
    asked = challenge(1)
    own = ProbeTicket(engine="blink", version=CHROME.version, seen=True, asked=(AskedProgram("deep", (1, 2, 3)),) * 8)
    forged = seal(own, bytes(16), asked.id)

    for draw in (forged, "", "AAAA", "=", "ä", "A" * 2048):
        given = ProbesInput(draw=draw, answers=[[1, 2, 3]] * 11)
        assert judge_answers(asked, given, CHROME).state is ProbeState.WRONG


def test_a_ticket_gives_nothing_away_and_opens_for_its_challenge_alone():
    asked = challenge(3)
    ticket = ticket_of(asked, CHROME)
    sealed = seal(ticket, asked.seed, asked.id)

    assert unseal(sealed, asked.seed, asked.id) == ticket
    assert unseal(sealed, asked.seed, "ch_other") is None
    assert unseal(sealed, bytes(16), asked.id) is None
    assert unseal(sealed[:-4] + "AAAA", asked.seed, asked.id) is None


def test_other_numbers_of_results_are_wrong():
    assert judged(lambda asked, ticket: right_answers(asked, ticket)[:-1]).state is ProbeState.WRONG
    assert judged(lambda _asked, _ticket: []).state is ProbeState.WRONG


def test_no_layout_is_no_evidence_of_a_frame_that_is_not_displayed():
    asked = challenge(1)
    given = ProbesInput(draw=seal(ticket_of(asked, CHROME), asked.seed, asked.id), answers="none")

    assert judge_answers(asked, given, CHROME).state is ProbeState.NONE
    shown = judge_answers(asked, given, CHROME, is_displayed=True)
    assert (shown.state, shown.no_layout) == (ProbeState.MISSING, True)


@pytest.mark.parametrize(("deep", "no_layout"), [(0, True), (1, False)])
def test_a_solver_of_all_closed_forms_has_no_deep_program_right(deep, no_layout):
    def closed_forms(asked, ticket):
        left = deep
        given = right_answers(asked, ticket)
        for one, answer in zip(ticket.asked, given, strict=False):
            if one.family == "deep":
                left -= 1
                answer[-1] += 9 if left < 0 else 0
            # Four of eight would be drift where all simple ones are right.
            elif deep:
                answer[-1] += 9
        return given

    results = [judged(closed_forms, number=seed) for seed in range(100)]
    assert {(result.state, result.no_layout) for result in results} == {(ProbeState.WRONG, no_layout)}


def test_the_shown_checks_programs_are_others():
    asked = challenge(1)

    assert fresh_of(asked) == fresh_of(asked)
    assert ticket_of(fresh_of(asked), CHROME) != ticket_of(asked, CHROME)


def test_a_small_window_omits_hit_tests_alone():
    def without(*families):
        def answers(asked, ticket):
            own, chains = right_answers(asked, ticket)[:8], right_answers(asked, ticket)[8:]
            shown = zip(ticket.asked, own, strict=True)
            return [None if one.family in families else answer for one, answer in shown] + chains

        return answers

    number = next(n for n in range(99) if "hit" in {one.family for one in ticket_of(challenge(n), CHROME).asked})
    assert (judged(without("hit"), number=number).right, judged(without("hit"), number=number).of) == (7, 7)
    assert judged(without("deep"), number=number).state is ProbeState.WRONG


def test_nothing_from_a_browser_that_can_is_missing():
    asked = challenge(1)

    assert judge_answers(asked, None, CHROME).state is ProbeState.MISSING
    assert judge_answers(asked, None, BrowserClaim("blink", 83)).state is ProbeState.UNABLE
    assert judge_answers(asked, None, BrowserClaim()).state is ProbeState.UNABLE


def test_another_engine_or_another_name_is_a_mismatch():
    def as_gecko(asked, ticket):
        return right_answers(asked, ticket)[:8] + [gecko_answer(chain) for chain in draw_chains(asked.seed)]

    assert judged(as_gecko).engine_mismatch
    assert not judged(right_answers).engine_mismatch
    assert judged(right_answers, claim=BrowserClaim("gecko", 140)).engine_mismatch
    assert judged(right_answers, sent_by=BrowserClaim("gecko", 140)).engine_mismatch


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        (
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36",
            CHROME,
        ),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", BrowserClaim("gecko", 140)),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 CriOS/142.0",
            BrowserClaim("webkit", 17),
        ),
        ("curl/8.5.0", BrowserClaim()),
        (None, BrowserClaim()),
    ],
)
def test_what_a_name_claims(text, claim):
    assert claim_of(text) == claim
