"""The table: who got a token, by driver and variant, and both halves."""

from collections import Counter, defaultdict
from collections.abc import Iterable

from bench.adversaries.personas import HELD_OUT, TUNING
from bench.adversaries.runner import Result

USUAL = {"browser.evidence", "ua.browser"}


def counts(results: Iterable[Result]) -> dict[str, int]:
    """Count sessions, tokens, and sessions with an interactive challenge."""
    ran = [result for result in results if not result.skipped]
    return {
        "sessions": sum(result.sessions for result in ran),
        "tokens": sum(min(result.tokens, result.sessions) for result in ran),
        "asked": sum(result.asked for result in ran),
        "untouched": sum(bool(result.tokens) and not result.asked for result in ran),
    }


def halves(results: list[Result]) -> dict[str, dict[str, dict[str, int]]]:
    """Count by kind and half."""
    found: dict[str, dict[str, dict[str, int]]] = {}
    for kind in ("bot", "person"):
        of_kind = [result for result in results if result.kind == kind]
        found[kind] = {half: counts(r for r in of_kind if r.half == half) for half in (TUNING, HELD_OUT)}
        found[kind]["all"] = counts(of_kind)
    return found


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / whole:.0f}%)" if whole else "none"


def table(results: list[Result]) -> str:
    """Return the table as Markdown."""
    groups: dict[tuple[str, ...], list[Result]] = defaultdict(list)
    for result in results:
        groups[result.kind, result.driver, f"{result.variant} at {result.check}", result.half].append(result)
    lines = ["| kind | driver | variant | half | tokens | asked | bot score | labels | reasons |"]
    lines.append("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for (kind, driver, variant, half), members in groups.items():
        ran = [result for result in members if not result.skipped]
        if not ran:
            lines.append(f"| {kind} | {driver} | {variant} | {half} | skipped | | | {members[0].skipped[:80]} | |")
            continue
        found = counts(ran)
        labels = Counter(label for result in ran for label in result.labels if label not in USUAL)
        reasons = Counter(reason for result in ran for reason in {*result.reasons, *result.refused})
        score = max(result.scores.get("bot", 0) for result in ran)
        lines.append(
            f"| {kind} | {driver} | {variant} | {half} | {found['tokens']}/{found['sessions']} | {found['asked']} "
            f"| {score:.2f} | {', '.join(labels)} | {', '.join(reasons)} |"
        )
    return "\n".join(lines)


def summary(results: list[Result]) -> str:
    """Return both halves in a few lines."""
    found = halves(results)
    lines = []
    for half in (TUNING, HELD_OUT, "all"):
        bots, people = found["bot"][half], found["person"][half]
        lines.append(
            f"{half}: bots with a token {_share(bots['tokens'], bots['sessions'])}; "
            f"people with a token {_share(people['tokens'], people['sessions'])}, "
            f"untouched {_share(people['untouched'], people['sessions'])}"
        )
    times = sorted(r.answered_s for r in results if r.kind == "person" and r.answered_s)
    if times:
        lines.append(f"people at the shown check: median {times[len(times) // 2]:.1f} s, longest {times[-1]:.1f} s")
    skipped = sum(bool(result.skipped) for result in results)
    if skipped:
        lines.append(f"{skipped} sessions were skipped: their tool is missing or did not start")
    return "\n".join(lines)
