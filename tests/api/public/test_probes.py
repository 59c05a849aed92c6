"""Probes over HTTP: which clients get them, what their results mean, and the cost of wrong results."""

import itertools
from typing import Any

import pytest

from agentgate.browser_check.probes.checker import FAILED
from tests.support.browser_client import HEADERS, SIGNALS, BrowserClient, create_site, decision_of, some_interaction
from tests.support.service import RunningService

# The version that the shipped pool has seen, and so judges strictly.
CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36"
SEEN = {
    **HEADERS,
    "sec-ch-ua-platform": '"Linux"',
    "User-Agent": CHROME,
    "sec-ch-ua": '"Chromium";v="156", "Google Chrome";v="156", "Not_A Brand";v="99"',
}
FOUND = {**SIGNALS, "userAgent": CHROME, "platform": "Linux x86_64"}
for context in ("worker", "frame"):
    FOUND[context] = {**SIGNALS[context], "userAgent": CHROME, "platform": "Linux x86_64"}
# One more sign, of one family: page, worker and frame agree on a system that is not the header's.
ELSEWHERE = {**FOUND, "platform": "Win32"}
for context in ("worker", "frame"):
    ELSEWHERE[context] = {**FOUND[context], "platform": "Win32"}
USUAL, RAISED = 16, 128


_networks = itertools.count(1)


def new_network() -> str:
    """Return the first three parts of the addresses in an unused network."""
    number = next(_networks)
    return f"82.{number >> 8}.{number & 255}"


class Page(BrowserClient):
    """A page in a browser whose version the pool has seen."""

    agent: str = CHROME

    @property
    def headers(self) -> dict[str, str]:
        version = self.agent.partition("Chrome/")[2][:3]
        hints = SEEN["sec-ch-ua"].replace("156", version or "156")
        return {**super().headers, **SEEN, "User-Agent": self.agent, "sec-ch-ua": hints}

    def solution(self, challenge: dict[str, Any], **fields: Any) -> dict[str, Any]:
        worker = {**FOUND["worker"], "userAgent": self.agent}
        frame = {**FOUND["frame"], "userAgent": self.agent}
        signals = {**FOUND, "userAgent": self.agent, "worker": worker, "frame": frame}
        return super().solution(challenge, **{"signals": signals, **fields})

    def labels(self, challenge: dict[str, Any], **fields: Any) -> set[str]:
        """Verify and return the decision's labels about probes."""
        reply = self.verify(challenge, **fields).json()
        found = decision_of(self.service, self.site_key, reply["decisionId"])["labels"]
        return {label for label in found if label.startswith("probes.")}


@pytest.fixture(scope="module")
def site_key(shared_service: RunningService) -> str:
    return create_site(shared_service)


@pytest.fixture
def page(shared_service: RunningService, site_key: str) -> Page:
    return Page(shared_service, site_key, address=new_network() + ".7")


def zeros(probes: dict[str, Any]) -> dict[str, Any]:
    """Return the probe results of a document without layout."""
    return {**probes, "answers": [[0] * len(answer) for answer in probes["answers"]]}


def test_a_browser_gets_eight_programs_a_fresh_one_and_three_chains(page: Page) -> None:
    programs = page.challenge().json()["probes"]["programs"]

    assert len(programs) == 12
    assert [[measure[0] for measure in measures] for _, measures in programs[-3:]] == [
        ["e"] * len(measures) for _, measures in programs[-3:]
    ]


def test_right_results_are_recorded_and_give_a_token(page: Page) -> None:
    assert page.labels(page.challenge().json()) == {"probes.right"}


def asked(page: Page, **fields: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a challenge with probe results from a page without layout, and its step-up, after the required delay."""
    challenge = page.challenge().json()
    reply = page.verify(challenge, probes=zeros(page.probes(challenge)["probes"]), **fields).json()
    assert reply["status"] == "step_up"
    page.service.clock.advance(seconds=5)
    return challenge, reply["stepUp"]


def test_a_document_without_layout_must_give_other_programs(page: Page) -> None:
    challenge, step_up = asked(page)

    assert len(step_up["probes"]["programs"]) == 12
    known = [repr(program) for program in challenge["probes"]["programs"]]
    assert not any(repr(program) in known for program in step_up["probes"]["programs"])


def test_anyone_who_lays_out_the_shown_checks_programs_passes(page: Page) -> None:
    challenge, step_up = asked(page)
    right = page.probes_again(step_up, challenge["challengeId"])

    reply = page.verify(challenge, answer=page.answer(step_up, probes=right)).json()

    assert reply["status"] == "passed"
    labels = decision_of(page.service, page.site_key, reply["decisionId"])["labels"]
    assert {"probes.wrong", "probes.no_layout", "evidence.doubtful"} <= set(labels)


@pytest.mark.parametrize("sent", ["zeros", "none", "nothing", "the first ones"])
def test_no_presses_excuse_an_interactive_challenge_that_is_not_laid_out(page: Page, sent: str) -> None:
    challenge, step_up = asked(page)
    right = page.probes_again(step_up, challenge["challengeId"])
    probes = {
        "zeros": zeros(right),
        "none": {**right, "answers": "none"},
        "nothing": None,
        "the first ones": page.probes(challenge)["probes"],
    }[sent]
    given = {} if probes is None else {"probes": probes}

    reply = page.verify(challenge, answer=page.answer(step_up, **given))

    assert (reply.status_code, reply.json()["error"]) == (403, "challenge_failed")


def test_the_pages_own_check_needs_layout_too(page: Page) -> None:
    challenge = page.challenge(widget="interactive").json()
    page.service.clock.advance(seconds=5)
    answer = page.answer(challenge["stepUp"])

    wrong = zeros(page.probes(challenge)["probes"])
    assert page.verify(challenge, probes=wrong, answer=answer).json()["error"] == "challenge_failed"


def test_input_that_has_not_grown_since_the_check_was_requested_is_replayed(page: Page) -> None:
    interaction = some_interaction()
    challenge, step_up = asked(page, interaction=interaction)
    right = page.probes_again(step_up, challenge["challengeId"])

    reply = page.verify(challenge, interaction=interaction, answer=page.answer(step_up, probes=right))

    assert reply.json()["error"] == "challenge_failed"


@pytest.mark.parametrize("sent", ["wrong", "missing"])
def test_with_another_sign_no_one_passes(page: Page, sent: str) -> None:
    challenge = page.challenge().json()
    body = page.solution(challenge, signals=ELSEWHERE)
    if sent == "missing":
        del body["probes"]
    else:
        body["probes"] = zeros(body["probes"])

    assert page.post("verify", body).json()["error"] == "challenge_failed"
    # The same signal alone leads to no step-up.
    other = page.challenge().json()
    assert page.verify(other, signals=ELSEWHERE).json()["status"] == "passed"


def test_results_omitted_are_missing(page: Page) -> None:
    challenge = page.challenge().json()
    body = page.solution(challenge)
    del body["probes"]
    reply = page.post("verify", body).json()

    assert reply["status"] == "step_up"


def test_results_of_another_challenge_are_wrong(page: Page) -> None:
    first, second = page.challenge().json(), page.challenge().json()

    assert page.verify(second, **page.probes(first)).json()["status"] == "step_up"


UNPROVEN = {"probes.unproven", "evidence.doubtful"}


@pytest.mark.parametrize("first", ["error", "none"])
def test_where_no_program_could_run_the_interactive_challenge_and_its_own_programs_count(
    page: Page, first: str
) -> None:
    challenge, step_up = asked_without_evidence(page, first)
    right = page.probes_again(step_up, challenge["challengeId"])

    # If a challenge is verified several times, the probe results of the first verification apply.
    reply = page.verify(challenge, answer=page.answer(step_up, probes=right)).json()

    assert reply["status"] == "passed"
    labels = set(decision_of(page.service, page.site_key, reply["decisionId"])["labels"])
    assert labels >= UNPROVEN
    assert labels.isdisjoint({"probes.missing", "probes.no_layout", "evidence.contradictory"})


def test_a_page_that_lets_no_program_run_is_excused_once_in_an_hour(page: Page) -> None:
    page.service.clock.advance(seconds=3600)

    assert [answer_of_errors(page) for _ in range(3)] == ["passed", "challenge_failed", "challenge_failed"]


def test_a_program_that_throws_and_another_sign_are_not_a_rejection(page: Page) -> None:
    challenge = page.challenge().json()

    assert page.verify(challenge, **without(page, challenge, "error"), signals=ELSEWHERE).json()["status"] == "step_up"


def without(page: Page, challenge: dict[str, Any], said: str) -> dict[str, Any]:
    probes = {"probes": {**page.probes(challenge)["probes"], "answers": said}}
    if said == "error":
        return probes
    # A frame that is not displayed and got no pointer input.
    return {**probes, "interaction": {**some_interaction(), "pointerMoves": 0, "clicks": 0}}


def asked_without_evidence(page: Page, said: str) -> tuple[dict[str, Any], dict[str, Any]]:
    challenge = page.challenge().json()
    reply = page.verify(challenge, **without(page, challenge, said)).json()
    assert reply["status"] == "step_up"
    page.service.clock.advance(seconds=5)
    return challenge, reply["stepUp"]


def answer_of_errors(page: Page) -> str:
    challenge, step_up = asked_without_evidence(page, "error")
    error = {**page.probes_again(step_up, challenge["challengeId"]), "answers": "error"}
    reply = page.verify(challenge, **without(page, challenge, "error"), answer=page.answer(step_up, probes=error))
    said = reply.json()
    return str(said.get("status") or said["error"])


def test_a_page_that_lays_nothing_out_sends_no_result(page: Page) -> None:
    challenge = page.challenge().json()
    none = {**page.probes(challenge)["probes"], "answers": "none"}

    assert page.verify(challenge, probes=none, signals=ELSEWHERE).json()["error"] == "challenge_failed"


def test_the_results_of_the_first_verification_count(page: Page) -> None:
    challenge = page.challenge(widget="interactive").json()
    right = page.probes(challenge)["probes"]
    assert page.verify(challenge, probes=zeros(right)).json()["status"] == "step_up"
    page.service.clock.advance(seconds=5)
    answer = page.answer(challenge["stepUp"])
    reply = page.verify(challenge, probes=right, answer=answer).json()

    assert reply["error"] == "challenge_failed"
    assert "probes.wrong" in decision_of(page.service, page.site_key, reply["decisionId"])["labels"]


@pytest.mark.parametrize("version", ["157", "83"])
def test_a_version_that_no_one_has_seen_is_challenged_and_not_wrong(page: Page, version: str) -> None:
    page.agent = CHROME.replace("156", version)
    challenge = page.challenge().json()
    right = page.probes(challenge)["probes"]
    # The new program has no known result yet.
    known = next(at for at, answer in enumerate(right["answers"]) if answer)
    answers = [answer if at == known else [0] * len(answer) for at, answer in enumerate(right["answers"])]

    probes = {**right, "answers": answers}
    step_up = page.verify(challenge, probes=probes).json()["stepUp"]
    page.service.clock.advance(seconds=5)
    answer = page.answer(step_up, probes=page.probes_again(step_up, challenge["challengeId"]))
    reply = page.verify(challenge, probes=probes, answer=answer).json()
    assert reply["status"] == "passed"
    assert set(decision_of(page.service, page.site_key, reply["decisionId"])["labels"]) >= UNPROVEN


def test_another_browser_at_the_verification_is_a_mismatch(shared_service: RunningService) -> None:
    # In monitor mode every verification has a decision to look at.
    page = Page(shared_service, create_site(shared_service, mode="monitor"), address=new_network() + ".7")
    challenge = page.challenge().json()
    body = page.solution(challenge)
    page.agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
    decision = page.post("verify", body).json()["decisionId"]

    assert "probes.engine_mismatch" in decision_of(page.service, page.site_key, decision)["labels"]


@pytest.mark.parametrize("agent", ["curl/8.5.0", "AcmeShop/3.1 (iOS)"])
def test_who_claims_no_engine_gets_no_programs(page: Page, agent: str) -> None:
    page.agent = agent
    challenge = page.challenge().json()

    assert "probes" not in challenge


@pytest.mark.parametrize(
    "probes",
    [
        {"draw": 5, "answers": []},
        {"draw": "x", "answers": "all"},
        {"draw": "x", "answers": [["1"]]},
        {"draw": "x", "answers": [[0.5]]},
        {"draw": "x" * 3000, "answers": []},
        {"draw": "x", "answers": [[0] * 100]},
        {"draw": "x", "answers": [[]] * 100},
        {"answers": []},
    ],
)
def test_what_cannot_be_a_result_is_rejected_with_a_reason(page: Page, probes: Any) -> None:
    reply = page.verify(page.challenge().json(), probes=probes, work=[])

    assert reply.status_code == 400
    assert reply.json()["error"] == "bad_request"
    assert "probes" in reply.json()["message"]


@pytest.mark.parametrize("said", ["wrong", "error"])
def test_a_network_with_five_sessions_without_evidence_gets_raised_difficulty(
    shared_service: RunningService, site_key: str, said: str
) -> None:
    network = new_network()
    for host in range(FAILED.most):
        page = Page(shared_service, site_key, address=f"{network}.{host}")
        challenge = page.challenge().json()
        assert challenge["work"]["count"] == USUAL
        probes = page.probes(challenge)["probes"]
        page.verify(challenge, probes=zeros(probes) if said == "wrong" else {**probes, "answers": said})

    again = Page(shared_service, site_key, address=f"{network}.200")
    elsewhere = Page(shared_service, site_key, address=new_network() + ".9")
    assert again.challenge().json()["work"]["count"] == RAISED
    assert elsewhere.challenge().json()["work"]["count"] == USUAL


def test_operators_see_pools_and_what_responds_said(page: Page) -> None:
    page.labels(page.challenge().json())
    state = page.service.operator.get("/v1/admin/probes").json()

    assert [pool["shipped"] for pool in state["pools"]] == [True]
    assert state["pools"][0]["seen"] == {"blink": [156], "gecko": [140], "webkit": []}
    assert state["pools"][0]["programs"]["deep"] > 1000
    assert state["judged"]["right"] >= 1
    assert state["leftOut"] == state["waiting"] == []
    metrics = page.service.operator.get("/metrics").text
    assert 'agentgate_probes_judged_total{state="right"' in metrics
