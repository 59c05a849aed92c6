"""Routing: which endpoint a method and raw path mean. Paths are matched as they came, never decoded."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")
# The row for methods of no other row.
ANY_METHOD = "*"


@dataclass
class _Node(Generic[T]):
    fixed: dict[str, "_Node[T]"] = field(default_factory=dict)
    any: "_Node[T] | None" = None
    by_method: dict[str, tuple[T, tuple[str, ...]]] = field(default_factory=dict)


@dataclass(frozen=True)
class RouteMatch(Generic[T]):
    """A path that exists: its endpoint for the method, its parameters, and its methods."""

    target: T | None
    params: dict[str, str]
    methods: tuple[str, ...]


class Routes(Generic[T]):
    """A tree of path segments. A fixed segment wins over a `{name}`."""

    def __init__(self, table: Iterable[tuple[str, str, T]]) -> None:
        self._root: _Node[T] = _Node()
        for method, path, target in table:
            self._add(method, path, target)

    def _add(self, method: str, path: str, target: T) -> None:
        node, names = self._root, []
        for segment in path.split("/")[1:]:
            if segment.startswith("{"):
                names.append(segment[1:-1])
                node.any = node.any or _Node()
                node = node.any
            else:
                node = node.fixed.setdefault(segment, _Node())
        if method in node.by_method:
            raise ValueError(f"{method} {path} is in the route tables twice")
        node.by_method[method] = (target, tuple(names))

    def find(self, method: str, path: str) -> RouteMatch[T] | None:
        """Return the match, with target None when the path exists but not the method; None for an unknown path."""
        found = self._walk(self._root, path.split("/")[1:], ())
        if found is None:
            return None
        node, values = found
        methods = tuple(sorted({*node.by_method, *(["HEAD"] if "GET" in node.by_method else [])} - {ANY_METHOD}))
        others = node.by_method.get(ANY_METHOD, (None, ()))
        target, names = node.by_method.get("GET" if method == "HEAD" else method, others)
        return RouteMatch(target, dict(zip(names, values, strict=False)), methods)

    def _walk(
        self, node: _Node[T], segments: list[str], values: tuple[str, ...]
    ) -> tuple[_Node[T], tuple[str, ...]] | None:
        if not segments:
            return (node, values) if node.by_method else None
        head, rest = segments[0], segments[1:]
        if head in node.fixed:
            found = self._walk(node.fixed[head], rest, values)
            if found is not None:
                return found
        if node.any is not None and head:
            return self._walk(node.any, rest, (*values, head))
        return None
