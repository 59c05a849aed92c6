"""Runs the self-test: each function of `functions` with the cases of `known_answers.json`.

The table maps the name of a function to its cases. A case is a list: the arguments, then the right result. An
exception is `{"refused": NAME}`.
"""

import json
import platform
import sys
import time
from collections.abc import Mapping
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from agentgate.server.selftest.functions import FUNCTIONS

TABLE = Path(__file__).with_name("known_answers.json")
WRONG_EXIT_CODE = 1
# An input longer than this is cut in a message.
SHOWN_CHARACTERS = 160


class SelfTestFailed(Exception):  # noqa: N818 - told in one line
    """A function gave a wrong result, so the service must not start."""


class WrongResult(NamedTuple):
    """A case whose result was wrong. All are JSON text."""

    given: str
    result: str
    right: str


class FunctionResult(NamedTuple):
    """The self-test of one function."""

    # `sites.targets.is_plain`
    name: str
    cases: int
    wrong: tuple[WrongResult, ...]
    # A package that this interpreter does not have; then nothing was checked.
    absent: str = ""


class SelfTestReport(NamedTuple):
    """The self-test of all functions."""

    results: tuple[FunctionResult, ...]
    took_ms: float

    @property
    def wrong(self) -> list[FunctionResult]:
        return [each for each in self.results if each.wrong]

    @property
    def absent(self) -> list[FunctionResult]:
        """The functions that could not be imported."""
        return [each for each in self.results if each.absent]


def main() -> int:
    """Run the self-test where the command line cannot be imported; print what is wrong and return the exit code."""
    report = run_selftest()
    lines = [
        f"{each.name}({wrong.given}) gave {wrong.result} instead of {wrong.right}"
        for each in report.wrong
        for wrong in each.wrong
    ]
    sys.stdout.write("\n".join([*lines, summary(report), ""]))
    return WRONG_EXIT_CODE if report.wrong else 0


def summary(report: SelfTestReport) -> str:
    """Return one line: how many functions and results were checked, how many are wrong, duration, and interpreter."""
    cases = sum(each.cases for each in report.results)
    wrong = sum(len(each.wrong) for each in report.results)
    checked = len(report.results) - len(report.absent)
    missing = sorted({each.absent for each in report.absent})
    absent = f", {len(report.absent)} functions not checked without {', '.join(missing)}" if missing else ""
    return f"{checked} functions, {cases} cases, {wrong} wrong{absent}, in {report.took_ms:.0f} ms on {interpreter()}"


def refuse_wrong_results() -> None:
    """Raise SelfTestFailed unless every function could be imported and returned every known result."""
    report = run_selftest()
    for each in report.absent:
        raise SelfTestFailed(f"self-test failed: {each.name} needs {each.absent}, which {interpreter()} does not have")
    for each in report.wrong:
        first = each.wrong[0]
        raise SelfTestFailed(
            f"self-test failed: {each.name} gave {first.result} instead of {first.right} for {first.given} on"
            f" {interpreter()}. Use another build of Python. `agentgate selftest` lists every wrong result."
        )


def run_selftest() -> SelfTestReport:
    """Check every function and return what was found."""
    table = known_answers()
    # The service imports these modules in any case, so that is not time of the self-test.
    modules = {name: _module_of(name) for name in FUNCTIONS}
    started_s = time.perf_counter()
    results = tuple(_check(name, module, table[name]) for name, module in modules.items())
    return SelfTestReport(results, (time.perf_counter() - started_s) * 1_000)


@cache
def known_answers() -> Mapping[str, list[list[Any]]]:
    """Return the table: cases by the name of the function."""
    found: dict[str, list[list[Any]]] = json.loads(TABLE.read_text("utf-8"))
    return found


def interpreter() -> str:
    """Return name, version, build and path of this interpreter."""
    build = " ".join(part for part in platform.python_build() if part)
    return f"{platform.python_implementation()} {platform.python_version()} ({build}) at {sys.executable}"


def _module_of(name: str) -> ModuleType | str:
    """Return the module of a function, or the name of a package that it lacks."""
    try:
        return import_module(f"agentgate.{name.partition(':')[0]}")
    except ModuleNotFoundError as error:
        return str(error.name)


def _check(name: str, module: ModuleType | str, cases: list[list[Any]]) -> FunctionResult:
    shown = name.replace(":", ".")
    if isinstance(module, str):
        return FunctionResult(shown, 0, (), absent=module)
    wrong = []
    for *given, right in cases:
        found = result_of(name, module, given)
        # As text: True is not 1.
        if _text(found) != _text(right):
            wrong.append(WrongResult(_cut(_text(given)[1:-1]), _cut(_text(found)), _cut(_text(right))))
    return FunctionResult(shown, len(cases), tuple(wrong))


def result_of(name: str, module: ModuleType, given: list[Any]) -> Any:
    """Return the result of a call, as JSON has it."""
    try:
        return _plain(FUNCTIONS[name](module, *given))
    except ValueError:
        # Versions of Python differ in the subclass.
        return {"refused": "ValueError"}
    except Exception as error:  # noqa: BLE001 - refusals have many classes, and a wrong one is a wrong result
        return {"refused": type(error).__name__}


def _plain(value: Any) -> Any:
    """Return a value as JSON has it, bytes as Latin-1."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(_plain(key)): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if fields := getattr(value, "__struct_fields__", None):
        return {name: _plain(getattr(value, name)) for name in fields}
    return value if value is None or isinstance(value, str | int | float) else repr(value)


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"
