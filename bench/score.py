"""`python -m bench.score`: CPU microseconds of one score, compared with a plain walk through the same trees."""

import random
import time
from collections.abc import Callable

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from agentgate.decision.scoring.model_file import ModelFile, Tree
from agentgate.decision.scoring.score import TreeScorer, make_scorer
from agentgate.decision.signals.numbers import NUMBERS
from agentgate.lib.enums import ModelType
from bench.model_trees import bench_model

LABELS_PER_REQUEST = 15
REQUESTS = 2_000
ROUNDS = 5
VALUES = (0.0, 1.0, 3.0, 7.0, 20.0, 30.0, 99.0)

Seen = tuple[tuple[str, ...], dict[str, float]]


def walk(model: ModelFile, trees: list[Tree], seen: Seen) -> float:
    """Follow every tree node by node."""
    labels, numbers = set(seen[0]), seen[1]
    margin = model.bias
    for tree in trees:
        node = 0
        while tree.feature[node] != -1:
            name = model.features[tree.feature[node]]
            value = numbers[name] if name in numbers else float(name in labels)
            node = tree.left[node] if value <= tree.threshold[node] else tree.right[node]
        margin += tree.value[node]
    return margin


def least_us(work: Callable[[], object], before: Callable[[], object] = lambda: None) -> float:
    """Return the CPU time of one request in the quickest round."""
    found = []
    for _ in range(ROUNDS):
        before()
        started = time.process_time_ns()
        work()
        found.append((time.process_time_ns() - started) / 1000 / REQUESTS)
    return min(found)


def measure() -> dict[str, float]:
    """Return the measurements."""
    chance = random.Random(1)
    forest = bench_model()
    trees = forest.trees
    assert not isinstance(trees, UnsetType)
    weights = [chance.uniform(-1, 1) for _ in forest.features]
    line = replace(forest, type=ModelType.LOGISTIC, trees=UNSET, weights=weights)
    labels = [name for name in forest.features if name not in NUMBERS]
    seen: list[Seen] = [
        (
            tuple(sorted(chance.sample(labels, LABELS_PER_REQUEST))),
            {name: chance.choice(VALUES) for name in NUMBERS},
        )
        for _ in range(REQUESTS)
    ]
    started = time.perf_counter()
    scorer = TreeScorer(forest)
    compiled_s = time.perf_counter() - started
    logistic = make_scorer(line)
    return {
        "compile_ms": compiled_s * 1000,
        "walk_us": least_us(lambda: [walk(forest, trees, each) for each in seen]),
        "trees_us": least_us(lambda: [scorer.score(*each) for each in seen], scorer.clear_cache),
        "trees_remembered_us": least_us(lambda: [scorer.score(*each) for each in seen]),
        "logistic_us": least_us(lambda: [logistic.score(*each) for each in seen]),
    }


if __name__ == "__main__":
    for figure, value in measure().items():
        print(f"{figure:<22}{value:>10.2f}")
