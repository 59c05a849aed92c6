"""`agentgate selftest`: check that security-relevant functions return their known results on this interpreter."""

from agentgate.server.selftest.check import WRONG_EXIT_CODE, FunctionResult, interpreter, run_selftest, summary
from agentgate_tools.commands.command import CommandAnswer, PrintedTable


def selftest() -> CommandAnswer:
    """Test security-critical functions with known results. Exit code 1 if a result is wrong.

    `serve` does the same before it opens a listener, and does not start after a wrong result.
    """
    report = run_selftest()
    rows = [(each.name, _state(each), str(each.cases)) for each in report.results]
    details = [(each.name, wrong.given, wrong.result, wrong.right) for each in report.results for wrong in each.wrong]
    parts: list[str | PrintedTable] = [PrintedTable("Self-test", ("Function", "State", "Cases"), rows)]
    if details:
        parts.append(PrintedTable("Wrong results", ("Function", "Input", "Result", "Right result"), details))
    value = {
        "interpreter": interpreter(),
        "tookMs": round(report.took_ms, 1),
        "functions": [
            {
                "name": each.name,
                "state": _state(each),
                "cases": each.cases,
                "wrong": [wrong._asdict() for wrong in each.wrong],
            }
            for each in report.results
        ],
    }
    return CommandAnswer(value, [*parts, summary(report)], code=WRONG_EXIT_CODE if report.wrong else 0)


def _state(result: FunctionResult) -> str:
    if result.absent:
        return f"not checked: {result.absent} is not installed"
    return "wrong" if result.wrong else "right"
