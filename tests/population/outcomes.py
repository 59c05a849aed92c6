"""Outcomes: results of the population by kind of traffic, and whether the bars are met."""

from collections import Counter
from dataclasses import dataclass, field

from tests.population.sent import Sent, Should

LEAST_STOPPED = 0.95


@dataclass
class Outcomes:
    """What became of all requests."""

    passed: Counter[str] = field(default_factory=Counter)
    stopped: Counter[str] = field(default_factory=Counter)
    views: dict[int, str] = field(default_factory=dict)
    broken: dict[int, str] = field(default_factory=dict)
    should: dict[str, Should] = field(default_factory=dict)
    challenged: Counter[str] = field(default_factory=Counter)
    # Challenges of a person.
    challenges: Counter[int] = field(default_factory=Counter)
    # Blocked subresources of pages that the person had reached.
    parts_refused: Counter[str] = field(default_factory=Counter)
    # The first of what should not have been, by kind and name.
    wrong: dict[tuple[str, str], tuple[int, str]] = field(default_factory=dict)

    def tell(self, sent: Sent, passed: bool) -> None:
        """Note what became of a request."""
        self.should[sent.kind] = sent.should
        (self.passed if passed else self.stopped)[sent.kind] += 1
        if sent.view:
            self.views.setdefault(sent.view, sent.kind)
            if sent.challenged:
                self.challenged[sent.kind] += 1
                self.challenges[sent.person] += 1
            if not passed and sent.is_navigation:
                self.broken.setdefault(sent.view, sent.kind)
            elif not passed:
                self.parts_refused[sent.kind] += 1
        if passed is not (sent.should is Should.PASS):
            count, first = self.wrong.get((sent.kind, sent.name), (0, f"{sent.method} {sent.url}"))
            self.wrong[sent.kind, sent.name] = (count + 1, first)

    @property
    def refused_programs(self) -> int:
        """Requests of wanted programs that were blocked or challenged."""
        return sum(
            self.stopped[kind]
            for kind, should in self.should.items()
            if should is Should.PASS and not kind.startswith("people")
        )

    @property
    def share_stopped(self) -> float:
        """The share of unwanted requests that were blocked or challenged."""
        kinds = [kind for kind, should in self.should.items() if should is Should.STOP]
        stopped = sum(self.stopped[kind] for kind in kinds)
        return stopped / max(1, stopped + sum(self.passed[kind] for kind in kinds))

    def is_good(self) -> bool:
        """Say whether every bar is met."""
        return not self.broken and not self.refused_programs and self.share_stopped >= LEAST_STOPPED

    def table(self) -> str:
        """Return the table as Markdown."""
        rows = [
            "| Traffic | Requests | Let through | Refused or challenged | Page views | Challenged | Broken |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        ]
        views, broken = Counter(self.views.values()), Counter(self.broken.values())
        for kind in self.should:
            passed, stopped = self.passed[kind], self.stopped[kind]
            seen = f"{views[kind]:,} | {self.challenged[kind]:,} | {broken[kind]:,}" if views[kind] else " |  | "
            rows.append(f"| {kind} | {passed + stopped:,} | {passed:,} | {stopped:,} | {seen} |")
        rows.append("")
        rows.append(
            f"People: {len(self.broken):,} of {len(self.views):,} page views broken, "
            f"{self.challenged.total() / max(1, len(self.views)):.2%} challenged, "
            f"at most {max(self.challenges.values(), default=0)} times for each person; "
            f"{self.parts_refused.total():,} subresources blocked. "
            f"Programs: {self.refused_programs:,} requests refused. "
            f"Not wanted: {self.share_stopped:.1%} refused or challenged."
        )
        return "\n".join(rows)
