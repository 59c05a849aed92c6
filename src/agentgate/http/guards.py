"""Declared errors and security schemes of guards and scopes; OpenAPI lists them at every route behind one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class DeclaredErrors:
    """Error codes, and alternatives to satisfy the guard: each is a set of security schemes."""

    refuses: tuple[str, ...] = ()
    security: tuple[tuple[str, ...], ...] = ()


def declares(*, refuses: tuple[str, ...] = (), security: tuple[tuple[str, ...], ...] = ()) -> Callable[[F], F]:
    """Declare the errors and the security schemes of a guard or scope."""

    def mark(function: F) -> F:
        function.declared = DeclaredErrors(refuses, security)  # type: ignore[attr-defined]
        return function

    return mark


def declared_errors(function: Callable[..., Any] | None) -> DeclaredErrors:
    """Return the declaration of a guard or scope."""
    return getattr(function, "declared", DeclaredErrors())
