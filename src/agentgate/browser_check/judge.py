"""The verdict on a verification, from the proofs, the rules and the result of the interactive challenge. Pure."""

from msgspec import Struct

from agentgate.browser_check.step_up import MOST_ROBOT_TRAITS
from agentgate.decision.engine import apply_mode
from agentgate.decision.signals.assistants import CHALLENGED
from agentgate.decision.signals.families import FAMILIES, OF_PROGRAMS, families_of
from agentgate.lib.enums import Mode, Outcome

# Labels of automated browsers: pressing a button does not make one a person. Nor does it where there is
# nothing to judge, or where independent parts of the evidence contradict a person.
DEFINITE = frozenset(
    (
        "browser.webdriver",
        "browser.automation",
        "browser.headless",
        "browser.instrument_failed",
        "behavior.untrusted_events",
        "evidence.missing",
        "evidence.contradictory",
        "input.synthetic",
        "cluster.spent",
    )
)
# Signs of an assistant that the site challenges: then a press can be the person's, if a device made it.
OF_ASSISTANTS = frozenset(
    ("browser.webdriver", "browser.automation", "behavior.untrusted_events", "evidence.contradictory")
)
# With one of these labels, the presses must look like a hand's.
ROBOTS = frozenset((*FAMILIES["path"], *FAMILIES["robotic"]))
# Programs by their own name. They run no scripts, so none of them can have run the check.
PROGRAMS = frozenset(
    (
        "ua.missing",
        "ua.http_library",
        "ua.headless",
        "ua.scanner",
        "ua.git",
        "ua.package_manager",
        "ua.feed_reader",
        "ua.webhook",
        "ua.bare",
    )
)
# Exceptions: programs that the site or operator wants, and browsers whose names look like a program's.
EXCUSED = frozenset(("ua.browser", "ua.claims_browser", "ua.wanted", "ua.webview", "list.allow"))


class Proof(Struct, frozen=True, kw_only=True):
    """Results of proof of work, instrument and interactive challenge, apart from the rules' verdict on the evidence."""

    # Every puzzle is solved, and the program's result is right.
    work: bool
    instrument: bool
    # The interactive challenge was required before this verification.
    asked: bool
    # Whether its response is right; None if there is no response, or if none was required.
    answer: bool | None
    # From the response: traits of presses that are not human-like, and whether assistive tools made all presses.
    traits: int = 0
    assistive: bool = False
    # Whether the times of the presses are a device's.
    by_device: bool = True


def judge(proof: Proof, outcome: Outcome, labels: tuple[str, ...]) -> Outcome:
    """Return the verdict of enforce mode: passed, an interactive challenge, or failed. `outcome` is the rules'."""
    if not (proof.work and proof.instrument) or outcome in {Outcome.BLOCK, Outcome.DROP} or proof.answer is False:
        return Outcome.BLOCK
    if is_program(labels):
        return Outcome.BLOCK
    if proof.answer is None:
        # Once required, the interactive challenge remains required, even if later evidence is clean.
        return Outcome.CHALLENGE if proof.asked or outcome is Outcome.CHALLENGE else Outcome.ALLOW
    still_challenged = outcome is Outcome.CHALLENGE and not is_excused(proof, labels)
    return Outcome.BLOCK if still_challenged else Outcome.ALLOW


def is_excused(proof: Proof, labels: tuple[str, ...]) -> bool:
    """Return whether a right response to the interactive challenge overrides the evidence."""
    definite = DEFINITE
    if CHALLENGED in labels:
        if not proof.by_device or proof.traits > MOST_ROBOT_TRAITS:
            return False
        definite = DEFINITE - OF_ASSISTANTS
    if not definite.isdisjoint(labels):
        return False
    # Presses of assistive tools cannot be judged, and such tools do not cause this evidence.
    if proof.assistive and not OF_PROGRAMS.isdisjoint(families_of(labels)):
        return False
    return ROBOTS.isdisjoint(labels) or proof.traits <= MOST_ROBOT_TRAITS


def is_program(labels: tuple[str, ...]) -> bool:
    """Return whether the User-Agent belongs to a program that runs no pages."""
    return not PROGRAMS.isdisjoint(labels) and EXCUSED.isdisjoint(labels)


def recorded(verdict: Outcome, outcome: Outcome, mode: Mode) -> tuple[Outcome, Outcome | None]:
    """Return the outcome to record and, in monitor mode, the one that enforce mode would have had.

    If the rules allow a check that the proofs or the response fail, the visitor was challenged and did not pass.
    """
    if verdict is not Outcome.ALLOW and outcome is Outcome.ALLOW:
        outcome = Outcome.CHALLENGE
    return apply_mode(outcome, mode)
