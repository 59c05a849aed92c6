"""Trees turned into one Python function. It is put together from syntax nodes: of the file only numbers get into it.

The function takes, in this order, one truth value per label ("it is present") and one rank per numeric feature, and
returns the sum of the leaves. A rank is the number of the feature's thresholds below its value, so a threshold becomes
a small integer.
"""

import ast
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agentgate.decision.scoring.model_file import NONE, Tree

Margin = Callable[..., float]
# A node of a tree.
TreeNode = tuple[Tree, int]


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Parameters of the function: positions of labels, and of numeric features with their thresholds, ascending."""

    labels: tuple[int, ...]
    figures: tuple[tuple[int, tuple[float, ...]], ...]


def inputs_of(trees: Sequence[Tree], is_figure: Sequence[bool]) -> Inputs:
    """Return which features the trees ask for, by position."""
    labels: set[int] = set()
    thresholds: dict[int, set[float]] = {}
    for tree in trees:
        for feature, threshold in zip(tree.feature, tree.threshold, strict=True):
            if feature == NONE:
                continue
            if is_figure[feature]:
                thresholds.setdefault(feature, set()).add(threshold)
            elif 0 <= threshold < 1:
                labels.add(feature)
    return Inputs(
        labels=tuple(sorted(labels)),
        figures=tuple((feature, tuple(sorted(found))) for feature, found in sorted(thresholds.items())),
    )


def compile_trees(trees: Sequence[Tree], inputs: Inputs) -> Margin:
    """Return the function from inputs to the sum of the leaves."""
    label_names = {feature: f"l{number}" for number, feature in enumerate(inputs.labels)}
    figures = {feature: (f"r{number}", found) for number, (feature, found) in enumerate(inputs.figures)}
    total = _Writer(label_names, figures).expression([(tree, 0) for tree in trees])
    names = [*label_names.values(), *(name for name, _ in figures.values())]
    arguments = ast.arguments(
        posonlyargs=[], args=[ast.arg(name) for name in names], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
    function = ast.FunctionDef("margin", arguments, [ast.Return(total)], [])
    module = ast.fix_missing_locations(ast.Module([function], []))
    namespace: dict[str, Margin] = {}
    exec(compile(module, "<trees>", "exec"), {"__builtins__": {}}, namespace)  # noqa: S102 - only numbers of the file are in it
    return namespace["margin"]


class _Writer:
    """Writes trees as one expression. Trees with the same condition share it, so that each is evaluated once."""

    def __init__(self, labels: dict[int, str], figures: dict[int, tuple[str, tuple[float, ...]]]) -> None:
        self._labels = labels
        self._figures = figures

    def expression(self, places: list[TreeNode]) -> ast.expr:
        """Return the sum of the leaves below these nodes."""
        constant = 0.0
        questions: dict[tuple[int, int], tuple[list[TreeNode], list[TreeNode]]] = {}
        for place in places:
            tree, node = self._decidable(*place)
            feature = tree.feature[node]
            if feature == NONE:
                constant += tree.value[node]
                continue
            lefts, rights = questions.setdefault((feature, self._rank(feature, tree.threshold[node])), ([], []))
            lefts.append((tree, tree.left[node]))
            rights.append((tree, tree.right[node]))
        parts: list[ast.expr] = [self._choice(question, *sides) for question, sides in questions.items()]
        return _sum([ast.Constant(constant), *parts] if constant or not parts else parts)

    def _decidable(self, tree: Tree, node: int) -> TreeNode:
        """Skip nodes that do not depend on the request: labels compared with a threshold outside 0 to 1."""
        while tree.feature[node] not in self._figures and tree.feature[node] != NONE:
            threshold = tree.threshold[node]
            if 0 <= threshold < 1:
                break
            node = tree.right[node] if threshold < 0 else tree.left[node]
        return tree, node

    def _rank(self, feature: int, threshold: float) -> int:
        return bisect_left(self._figures[feature][1], threshold) if feature in self._figures else 0

    def _choice(self, question: tuple[int, int], lefts: list[TreeNode], rights: list[TreeNode]) -> ast.expr:
        feature, rank = question
        left, right = self.expression(lefts), self.expression(rights)
        if feature not in self._figures:
            return ast.IfExp(_load(self._labels[feature]), right, left)
        # The value is at most the threshold if this many thresholds or fewer are below the value.
        is_left = ast.Compare(_load(self._figures[feature][0]), [ast.LtE()], [ast.Constant(rank)])
        return ast.IfExp(is_left, left, right)


def _sum(parts: list[ast.expr]) -> ast.expr:
    # In halves: the compiler goes as deep as the expression does, and would give up on a long chain.
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return ast.BinOp(_sum(parts[:half]), ast.Add(), _sum(parts[half:]))


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())
