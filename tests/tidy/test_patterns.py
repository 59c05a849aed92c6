"""No regular expression has a possessive quantifier or an atomic group.

Python 3.11.0 to 3.11.4 matches them wrongly (CPython issue 106052). Debian 12 ships 3.11.2 both with and without the
correction, under the same version number. Delete this test when 3.11.5 is the oldest supported version.
"""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.tidy.sources import PYTHON_SOURCES, sources

# Text that could be one of both. Whether it is, the parser decides: `[*+]` is a set of two characters.
SUSPECT = re.compile(r"[*+?}]\+|\(\?>")
FAULTY = {"POSSESSIVE_REPEAT", "ATOMIC_GROUP"}


def is_faulty(pattern: str | bytes) -> bool:
    """Return whether an expression has either. A part of an expression that does not parse alone counts as faulty."""
    try:
        parsed = re._parser.parse(pattern)
    except re.error:
        return True
    return bool(FAULTY & set(re.findall(r"[A-Z_]+", repr(parsed))))


def pattern_parts(tree: ast.Module) -> Iterator[ast.Constant]:
    """Return the texts in the arguments of `re` functions and `pattern=`, and in the names that these use."""
    assigned: dict[str, list[ast.expr]] = {}
    waiting: list[ast.expr] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for name in (name for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)):
                assigned.setdefault(name.id, []).append(node.value)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re."):
            waiting += node.args
        elif isinstance(node, ast.keyword) and node.arg == "pattern":
            waiting.append(node.value)
    while waiting:
        for node in ast.walk(waiting.pop()):
            if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
                yield node
            elif isinstance(node, ast.Name):
                waiting += assigned.pop(node.id, [])


def pattern_problems(path: str, text: str) -> Iterator[str]:
    for node in pattern_parts(ast.parse(text)):
        shown = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
        if SUSPECT.search(shown) and is_faulty(node.value):
            yield f"{path}:{node.lineno}: use no possessive quantifier and no atomic group: {node.value!r}"


def test_no_pattern_needs_a_possessive_quantifier_or_an_atomic_group():
    found = sources(".py", under=PYTHON_SOURCES)

    assert [line for path, text in found.items() for line in pattern_problems(path, text)] == []


@pytest.mark.parametrize(
    "line",
    [
        "re.compile('a++b')",
        "re.match(b'(?:ab)*+', x)",
        "re.search('a?+', x)",
        "re.search('a{2,3}+', x)",
        "re.search('(?>a|b)c', x)",
        "FIRST, NAME = '[a-z]', '[a-z]++'; HEAD = NAME + ':'; re.compile(f'{HEAD} ')",
        "re.compile(f'{NAME})++')",
    ],
)
def test_a_faulty_pattern_is_found(line: str):
    assert len(list(pattern_problems("a.py", f"import re\n{line}\n"))) == 1


@pytest.mark.parametrize(
    "text",
    [
        r"import re; re.compile('[*+]+(?:a+)+\\+')",
        "import re; re.compile('a+?b*?[+]?')",
        "STEP = 'i++'",
        "import re; SAFE = '()*+'; re.match('a', text)",
    ],
)
def test_ordinary_text_passes(text: str):
    assert list(pattern_problems("a.py", text)) == []


def test_the_pattern_of_a_field_is_checked_in_a_module_without_re():
    assert len(list(pattern_problems("a.py", "Name = Annotated[str, Meta(pattern='a++')]"))) == 1
