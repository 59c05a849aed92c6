"""`python -m bench.bot_model`: train the shipped bot model, judge it on sources it has not seen, and write its card.

Two models are trained by the product's own pipeline. The first learns from half of the sources and is judged on the
other half; the card has its results. The second learns from all, and is shipped if the first meets the bars.
"""

import argparse
import pickle
import sys
from pathlib import Path

from agentgate.decision.scoring.model_file import ModelFile
from agentgate.lib.enums import ModelKind, ModelType
from agentgate.lib.records import json_decoder, to_json
from agentgate_tools.training.fit import LearnerOptions
from agentgate_tools.training.labels import LabeledDecision, read_labels
from agentgate_tools.training.result import Trained
from agentgate_tools.training.rows import RowOptions
from agentgate_tools.training.train import Plan, train
from bench.bot_model.card import CARD, SHIPPED, bars_missed, card, with_fresh_part
from bench.bot_model.fresh import judged_part
from bench.bot_model.judge import judge
from bench.bot_model.rows import Row, decisive_rows, gateway_rows, session_rows

LEARNED_SEED, JUDGED_SEED = 61, 62
# When the sessions were recorded; the same data gives the same file.
MADE_AT = "2026-11-19T00:00:00.000Z"
# Of one installation, what a site's own settings say, and labels that have separate rules.
EXCLUDED = ("list", "net", "path", "rate", "receipt.missing", "ua.wanted")
TUNING = "tuning"
# A session of the lab is one of a hundred, a request of the population one of ten thousand.
SESSION_COPIES, PROGRAM_COPIES = 20, 5
# A kind of change is held out whole, every second of each group.
HELD_OUT_EVERY = 2


def plan() -> Plan:
    """Return how it is trained: as `agentgate train` does."""
    return Plan(
        kind=ModelKind.BOT,
        learner=LearnerOptions(type=ModelType.TREES, trees=120, depth=4, seed=1, kind=ModelKind.BOT),
        rows=RowOptions(excluded=EXCLUDED, weight_synthetic=1.0, weight_probe=1.0),
        folds=5,
        least_labels=1_000,
    )


def usable(rows: list[Row]) -> list[Row]:
    """Leave out programs that the rules stop, and those that pass by their path: their sender is unknown."""
    return [
        row
        for row in rows
        if row.source != "programs" or not (row.is_stopped or any(label.startswith("path.") for label in row.labels))
    ]


def teachable(rows: list[Row]) -> list[Row]:
    """Leave out exact copies of a browser's headers: nothing can be learned from what looks like a person."""
    return [row for row in rows if not row.is_copy]


def held_out(rows: list[Row]) -> set[tuple[str, str]]:
    """Return every second kind of unwanted traffic, by name: a split by request shows nothing about new kinds."""
    kinds = sorted({(row.source, row.family) for row in rows if row.is_bot})
    return set(kinds[1::HELD_OUT_EVERY])


def exported(rows: list[Row], sessions: list[Row]) -> list[LabeledDecision]:
    """Return rows as training reads labels."""
    programs = [row for row in rows if row.source == "programs"] * (PROGRAM_COPIES - 1)
    numbered = [*rows, *programs, *(row for row in sessions for _ in range(SESSION_COPIES))]
    text = "".join(to_json(row.exported(number)).decode() + "\n" for number, row in enumerate(numbered))
    return read_labels(text)


def learn(rows: list[Row], sessions: list[Row]) -> Trained:
    """Train on rows of the population and of the lab."""
    return train(exported([*teachable(rows), *decisive_rows()], sessions), plan())


def shipped(trained: Trained) -> ModelFile:
    """Return the file as the package has it."""
    content = json_decoder(dict).decode(to_json(trained.model))
    metadata = content["metadata"]
    content["version"] = f"bot-{MADE_AT[:10].replace('-', '.')}-{trained.model.version.rpartition('-')[2]}"
    content["metadata"] = {
        "madeAt": MADE_AT,
        "meaning": "whether automation instead of a person sent this",
        "madeBy": "make model",
        "card": "docs/contributing/bot-model.md",
        "data": "synthetic population at the gateway; recorded sessions of the lab",
        "labels": metadata["labels"],
        "options": metadata["options"],
        "calibration": metadata["calibration"],
    }
    model: ModelFile = json_decoder(ModelFile).decode(to_json(content))
    return model


def main() -> int:
    """Train, judge, write."""
    parser = argparse.ArgumentParser(prog="python -m bench.bot_model", description=__doc__)
    parser.add_argument("--views", type=int, default=4_000, help="page views of people in each half (4000)")
    parser.add_argument("--changed", type=int, default=100, help="people whose page loads are changed (100)")
    parser.add_argument("--unwanted", type=int, default=150, help="requests of each kind of unwanted traffic (150)")
    parser.add_argument("--kept", type=Path, help="file that keeps the population's rows for the next run")
    parser.add_argument("--dry", action="store_true", help="write nothing")
    options = parser.parse_args()
    sizes = {"views": options.views, "changed": options.changed, "unwanted": options.unwanted}
    if options.kept is not None and options.kept.exists():
        learned, judged = pickle.loads(options.kept.read_bytes())
    else:
        learned, judged = (gateway_rows(seed, **sizes) for seed in (LEARNED_SEED, JUDGED_SEED))
        if options.kept is not None:
            options.kept.write_bytes(pickle.dumps((learned, judged)))
    learned, judged = usable(learned), usable(judged)
    sessions = session_rows()
    kinds = held_out(learned)
    first = learn(
        [row for row in learned if (row.source, row.family) not in kinds],
        [row for half, row in sessions if half == TUNING],
    )
    figures = judge(
        first.model,
        [row for row in judged if not row.is_bot or (row.source, row.family) in kinds],
        [row for half, row in sessions if half != TUNING],
    )
    final = learn(learned, [row for _, row in sessions])
    page = card(shipped(final), final, figures)
    print(page)
    missed = bars_missed(shipped(final), figures)
    for each in missed:
        print(f"missed: {each}", file=sys.stderr)
    if not missed and not options.dry:
        SHIPPED.write_bytes(to_json(shipped(final)) + b"\n")
        CARD.write_text(with_fresh_part(page, judged_part(shipped(final))))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
