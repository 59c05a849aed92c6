"""Weak labels: decisions whose class follows from a proof, not from a person's look at them.

A verified agent is an agent. A client that uses the name of a search engine or AI operator from another network is a
bot. A visitor that passed an interactive challenge, or whose appeal an owner accepted, is a person. Each visitor
gives at most one label of a class, and evidence that contradicts `human` keeps a decision out: a bot that passes one
challenge after another teaches a model nothing.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from agentgate.decision.scoring.label_review import DOUBTFUL, contradiction
from agentgate.lib.enums import DecisionLabelValue, SolveType

# The signal labels that prove a class.
PROVEN = {
    "agent.verified": DecisionLabelValue.AGENT,
    "agent.operator_verified": DecisionLabelValue.AGENT,
    "agent.search_verified": DecisionLabelValue.AGENT,
    "agent.operator_forged": DecisionLabelValue.BOT,
    "agent.search_forged": DecisionLabelValue.BOT,
}
INTERACTIVE = frozenset((SolveType.INTERACTIVE.value, SolveType.STEP_UP.value))
PASSED, LET_IN = "interactive challenge passed", "appeal accepted"


class WeakLabel(NamedTuple):
    """A label to add, and the proof."""

    decision_id: str
    label: DecisionLabelValue
    proof: str


class WeakLabels:
    """Collects weak labels, one of each visitor and class."""

    def __init__(self, most: int, *, labeled: Iterable[str] = ()) -> None:
        self._labeled = frozenset(labeled)
        # For each proof: otherwise the visitors of a busy crawler would be most of what a model sees.
        self._most = most
        self._visitors: set[tuple[str, DecisionLabelValue]] = set()
        self.items: list[WeakLabel] = []

    def add(self, decisions: Iterable[Any], label: DecisionLabelValue, proof: str) -> None:
        """Take decisions as the API shows them, until there are enough for one proof."""
        room = self._most
        for each in decisions:
            if not room:
                return
            who = (each.get("visitorId", each["id"]), label)
            if who in self._visitors or each["id"] in self._labeled:
                continue
            if label is DecisionLabelValue.HUMAN and contradiction(each["labels"]) >= DOUBTFUL:
                continue
            room -= 1
            self._visitors.add(who)
            self.items.append(WeakLabel(each["id"], label, proof))


def passed_interactively(decision: Any) -> bool:
    """Return whether a visitor passed an interactive challenge, in enforce mode or as if in it."""
    return decision.get("solveType") in INTERACTIVE and "wouldDecision" not in decision
