"""One test of a check on many things, where each takes less time than to tell so many tests apart."""

from collections.abc import Callable, Mapping
from typing import Any


def one_test_over(cases: Mapping[str, tuple[Any, ...]]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Make one test of a check that is called with each of the cases; a failure names its case."""

    def decorate(check: Callable[..., None]) -> Callable[[], None]:
        def test() -> None:
            assert cases
            for name, given in cases.items():
                try:
                    check(*given)
                except Exception as failure:
                    failure.add_note(f"of {name}")
                    raise

        test.__name__ = check.__name__
        return test

    return decorate
