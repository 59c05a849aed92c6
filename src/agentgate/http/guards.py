"""What a guard or scope says of itself, so that OpenAPI can say it of every route behind it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class DeclaredErrors:
    """The codes it refuses with, and the ways to satisfy it: each way is a set of security schemes."""

    refuses: tuple[str, ...] = ()
    security: tuple[tuple[str, ...], ...] = ()


def declares(*, refuses: tuple[str, ...] = (), security: tuple[tuple[str, ...], ...] = ()) -> Callable[[F], F]:
    """Declare the errors and the security schemes of a guard or scope."""

    def mark(function: F) -> F:
        function.declared = DeclaredErrors(refuses, security)  # type: ignore[attr-defined]
        return function

    return mark


def declared_errors(function: Callable[..., Any] | None) -> DeclaredErrors:
    """Return what a guard or scope declared."""
    return getattr(function, "declared", DeclaredErrors())
