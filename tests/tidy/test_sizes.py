"""Files, functions and parameter lists stay small enough to be read in one go."""

import ast

from tests.tidy.sources import sources

# Enough to keep one thing whole.
MOST_FILE_LINES = 500
MOST_FUNCTION_LINES = 70
MOST_PARAMETERS = 6


def file_problems(path, text):
    """Return a line about a file that is too long."""
    count = len(text.splitlines())
    return [f"{path}: {count} lines, at most {MOST_FILE_LINES}; split it"] if count > MOST_FILE_LINES else []


def function_problems(path, text):
    """Return a line about each Python function that is too long or takes too much."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        length = (node.end_lineno or node.lineno) - node.lineno + 1
        if length > MOST_FUNCTION_LINES:
            found.append(f"{path}:{node.lineno}: {node.name} has {length} lines, at most {MOST_FUNCTION_LINES}")
        taken = len(parameters(node.args))
        if taken > MOST_PARAMETERS:
            found.append(f"{path}:{node.lineno}: {node.name} takes {taken} parameters, at most {MOST_PARAMETERS}")
    return found


def parameters(arguments):
    """Return the names a caller may give; `self` and `cls` are not given."""
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    return [argument.arg for argument in named if argument is not None and argument.arg not in {"self", "cls"}]


def test_every_python_file_is_short_enough():
    assert [line for path, text in sources(".py").items() for line in file_problems(path, text)] == []


def test_every_typescript_file_that_people_write_is_short_enough():
    written = {path: text for path, text in sources(".ts", ".tsx").items() if not path.endswith(".gen.ts")}

    assert [line for path, text in written.items() for line in file_problems(path, text)] == []


def test_every_function_is_short_and_takes_few_parameters():
    assert [line for path, text in sources(".py").items() for line in function_problems(path, text)] == []


def test_a_file_one_line_too_long_is_found():
    assert file_problems("a.py", "x = 1\n" * 500) == []
    assert file_problems("a.py", "x = 1\n" * 501) == ["a.py: 501 lines, at most 500; split it"]


def test_a_function_one_line_too_long_is_found():
    assert function_problems("a.py", "def f():\n" + "    x = 1\n" * 69) == []
    assert function_problems("a.py", "async def f():\n" + "    x = 1\n" * 70) == ["a.py:1: f has 71 lines, at most 70"]


def test_parameter_7_is_found_and_self_is_not_counted():
    six = "class C:\n    def f(self, a, b, c, /, d, *, e, **f): ...\n"
    seven = "def f(a, b, c, d, *rest, e, **f): ...\n"

    assert function_problems("a.py", six) == []
    assert function_problems("a.py", seven) == ["a.py:1: f takes 7 parameters, at most 6"]
