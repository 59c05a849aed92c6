"""A model of 200 trees over the catalog's labels and numbers, for benches: random, the same for the same seed.

`python -m bench.model_trees model.json` writes it to a file.
"""

import argparse
import random
from pathlib import Path

from agentgate.decision.scoring.features import is_feature
from agentgate.decision.scoring.model_file import NONE, ModelFile, Tree, check_model
from agentgate.decision.signals.numbers import NUMBERS
from agentgate.lib.enums import ModelKind, ModelType
from agentgate.lib.records import to_json
from agentgate.sites.rules.labels import LABELS

TREES = 200
DEPTH = 4
FEATURES = 100
SEED = 1
# Numbers are split somewhere in this range; labels are present or absent.
FIGURE_MOST = 100.0
LABEL_THRESHOLD = 0.5


def bench_model(*, trees: int = TREES, depth: int = DEPTH, features: int = FEATURES, seed: int = SEED) -> ModelFile:
    """Return a checked model of full trees, each node asking for a random feature."""
    chance = random.Random(seed)
    names = feature_names(chance, features)
    model = ModelFile(
        version=f"bench-{trees}x{depth}",
        kind=ModelKind.BOT,
        type=ModelType.TREES,
        features=names,
        bias=-1.0,
        trees=[_tree(chance, names, depth) for _ in range(trees)],
        metadata={"madeBy": "bench.model_trees", "seed": seed},
    )
    check_model(model)
    return model


def feature_names(chance: random.Random, count: int) -> list[str]:
    """Return every figure, and labels of the catalog by chance; of families, none."""
    labels = sorted(label.name for label in LABELS if is_feature(label.name) and not label.name.endswith("*"))
    return [*NUMBERS, *sorted(chance.sample(labels, min(len(labels), count - len(NUMBERS))))]


def _tree(chance: random.Random, names: list[str], depth: int) -> Tree:
    inner = 2**depth - 1
    asked = [chance.randrange(len(names)) for _ in range(inner)]
    splits = [
        round(chance.uniform(0, FIGURE_MOST), 2) if names[feature] in NUMBERS else LABEL_THRESHOLD for feature in asked
    ]
    leaves = inner + 1
    return Tree(
        feature=[*asked, *[NONE] * leaves],
        threshold=[*splits, *[0.0] * leaves],
        left=[*(2 * node + 1 for node in range(inner)), *[NONE] * leaves],
        right=[*(2 * node + 2 for node in range(inner)), *[NONE] * leaves],
        value=[*[0.0] * inner, *(round(chance.gauss(0, 0.1), 4) for _ in range(leaves))],
    )


def main() -> None:
    """Write the model to a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="where the model file goes")
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    given.path.write_bytes(to_json(bench_model(seed=given.seed)) + b"\n")


if __name__ == "__main__":
    main()
