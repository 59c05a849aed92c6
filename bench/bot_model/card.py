"""The card of the shipped bot model, as Markdown, and the bars that it must meet to be shipped."""

from pathlib import Path

from msgspec import UnsetType

from agentgate.decision.scoring.directions import INNOCENT_ALONE
from agentgate.decision.scoring.model_file import ModelFile
from agentgate.decision.scoring.score import make_scorer
from agentgate_tools.training.fit import USUAL
from agentgate_tools.training.result import Trained
from bench.bot_model.judge import Judged, allowed_bots
from bench.bot_model.rows import Row, decisive_rows

LEAST_DISGUISED, MOST_PEOPLE, MOST_OF_FAMILY, MOST_ALONE = 0.9, 0.0005, 0.005, 0.5
TOP = 15
PAGE = Path(__file__).with_name("card.template")
ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "src/agentgate/decision/scoring/shipped/bot.json"
CARD = ROOT / "docs/contributing/bot-model.md"
FRESH_PART = Path(__file__).with_name("fresh.template")
FRESH, AFTER_FRESH = "## Results on a fresh split\n", "## Known failures\n"


def highest_alone(model: ModelFile) -> tuple[float, str]:
    """Return the highest score of a usual visitor with one trait that has benign causes, and the trait."""
    scorer = make_scorer(model)
    return max((scorer.score((*usual, name), {}), name) for usual in USUAL for name in INNOCENT_ALONE)


def bars_missed(model: ModelFile, found: Judged) -> list[str]:
    """Return why a model must not be shipped."""
    missed = []
    if found.disguised.value < LEAST_DISGUISED:
        missed.append(f"disguised bots: {found.disguised.text}")
    if found.people.value > MOST_PEOPLE or found.session_people.found:
        missed.append(f"people: {found.people.text}, in the lab {found.session_people.text}")
    missed += [f"{name}: {share.text}" for name, share in found.by_family.items() if share.value > MOST_OF_FAMILY]
    alone, name = highest_alone(model)
    if alone >= MOST_ALONE:
        missed.append(f"{name} alone: {alone}")
    return missed


def card(model: ModelFile, trained: Trained, found: Judged) -> str:
    """Return the page."""
    alone, name = highest_alone(model)
    sources, combined = trained.ground.sources, len(decisive_rows())
    return PAGE.read_text("utf-8").format(
        version=model.version,
        trees=0 if isinstance(model.trees, UnsetType) else len(model.trees),
        calibration=trained.calibration,
        features=len(model.features),
        rows=f"{sources.get('synthetic', 0) - combined:,}",
        combined=f"{combined:,}",
        sessions=f"{sources.get('probe', 0):,} (each counted 20 times)",
        disguised=found.disguised.text,
        copies=found.copies.text,
        other_bots=found.other_bots.text,
        session_bots=found.sessions.text,
        people=found.people.text,
        session_people=found.session_people.text,
        programs=found.programs.text,
        families="\n".join(f"| {family} | {share.text} |" for family, share in found.by_family.items()),
        missed="\n".join(f"| {kind} | {share.text} |" for kind, share in found.missed.items()) or "| none | |",
        alone=alone,
        alone_name=name,
        top=", ".join(f"`{fact.name}` ({fact.share:.0%})" for fact in trained.features[:TOP] if fact.share >= 0.005),
    )


def fresh_part(found: Judged, known: list[Row], model: ModelFile, kinds: int) -> str:
    """Return the section about the fresh split; `known` are people and bots of known kinds."""
    let_in, alike = allowed_bots(model, known)
    worst, share = max(found.by_family.items(), key=lambda each: each[1].value, default=("none", found.people))
    return FRESH_PART.read_text("utf-8").format(
        kinds=kinds,
        disguised=found.disguised.text,
        let_in=let_in.text,
        alike=alike.text,
        people=found.people.text,
        worst=worst,
        worst_share=share.text,
        missed=", ".join(f"{kind.partition(': ')[2]} ({each.text})" for kind, each in found.missed.items()) or "none",
    )


def with_fresh_part(page: str, part: str) -> str:
    """Return the page with the section about the fresh split before the known failures."""
    before, _, rest = page.partition(FRESH)
    after = (rest or page).partition(AFTER_FRESH)[2]
    return before.partition(AFTER_FRESH)[0] + part + AFTER_FRESH + after
