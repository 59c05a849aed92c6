"""Names and habits: no empty words, a docstring on each module, one place for the environment, one for the clock."""

import ast
import io
import re
import tokenize
from collections import defaultdict

import pytest

from tests.tidy.sources import PYTHON_SOURCES, sources

EMPTY_WORDS = frozenset(
    [
        "util",
        "utils",
        "helper",
        "helpers",
        "common",
        "base",
        "manager",
        "managers",
        "service",
        "services",
        "misc",
        "stuff",
        "mgr",
        "svc",
        "cfg",
        "ctx",
        "impl",
    ]
)
# The specification's own terms, in which such a word does say something.
SPECIFIED_TERMS = re.compile(r"base_?url", re.IGNORECASE)
MOST_DOCSTRING_LINES = 5
LATER = "TO" + "DO"
UNNUMBERED = re.compile(rf"\b(?:{LATER}(?!\(#\d+\): \S)|FIX" + r"ME\b|X" + r"XX\b)")
CLOCK_READS = {
    "time.time",
    "time.time_ns",
    "time.localtime",
    "time.gmtime",
    "datetime.datetime.now",
    "datetime.datetime.utcnow",
    "datetime.datetime.today",
    "datetime.date.today",
}
ENVIRONMENT_READS = {"os.environ", "os.environb", "os.getenv", "os.getenvb"}
IS_SQL = re.compile(r"\b(?:SELECT|FROM|RETURNING)\b", re.IGNORECASE)
ANY_COLUMN = re.compile(r"(?:\bSELECT\s+(?:DISTINCT\s+|ALL\s+)?|,\s*|\bRETURNING\s+)(?:\w+\.)?\*", re.IGNORECASE)


def words(name):
    """Split a name in snake_case or CamelCase into its lower-case words."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name)]


def name_problems(path, text):
    """Return a line about each module, class and function whose name holds a meaningless word.

    The name of a test is a sentence and may use any word.
    """
    module = [(1, part) for part in path.removesuffix(".py").split("/")]
    kinds = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
    defined = [(node.lineno, node.name) for node in nodes if not node.name.startswith("test_")]
    return [
        f"{path}:{line}: {name}: `{word}` says nothing; name what it is or does"
        for line, name in [*module, *defined]
        for word in words(SPECIFIED_TERMS.sub("", name))
        if word in EMPTY_WORDS
    ]


def classes_defined_twice(texts):
    """Return class name -> modules, of the names that several modules define: say of what (`GatewayAnswer`)."""
    places = defaultdict(list)
    for path, text in texts.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path)
    return {name: found for name, found in places.items() if len(found) > 1}


def docstring_problems(path, text):
    """Return a line about a module that does not open by saying in one to five lines what is in it."""
    docstring = ast.get_docstring(ast.parse(text))
    if not docstring:
        return [f"{path}: say in one to five lines what is here and what is not"]
    count = len([line for line in docstring.splitlines() if line.strip()])
    return [f"{path}: the docstring has {count} lines, at most 5"] if count > MOST_DOCSTRING_LINES else []


def later_problems(path, text):
    """Return a line about each note on later work that names no issue."""
    # To take a file apart costs a hundred times as much as to search it.
    if not UNNUMBERED.search(text):
        return []
    if path.endswith(".py"):
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        notes = [(token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT]
    else:
        notes = list(enumerate(text.splitlines(), start=1))
    return [f"{path}:{line}: write {LATER}(#12): and what" for line, note in notes if UNNUMBERED.search(note)]


def full_names(tree):
    """Yield line number and full dotted name of each use of an imported name, whatever it was imported as."""
    origins = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            origins.update({alias.asname or alias.name: alias.name for alias in node.names})
        elif isinstance(node, ast.ImportFrom) and node.module:
            origins.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute):
            first, *rest = ast.unparse(node).split(".")
            if first in origins:
                yield node.lineno, ".".join([origins[first], *rest])


def use_problems(path, text, *, forbidden, advice):
    """Return a line about each use of a forbidden name."""
    found = sorted({(line, name) for line, name in full_names(ast.parse(text)) if name in forbidden})
    return [f"{path}:{line}: {name}: {advice}" for line, name in found]


def clock_problems(path, text):
    """Return a line about each look at the machine's clock."""
    return use_problems(path, text, forbidden=CLOCK_READS, advice="ask the Clock that is handed in")


def environment_problems(path, text):
    """Return a line about each look at the environment."""
    return use_problems(path, text, forbidden=ENVIRONMENT_READS, advice="only the settings read the environment")


def select_problems(path, text):
    """Return a line about each statement that asks for whatever columns there are."""
    constants = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
    statements = [node for node in constants if isinstance(node.value, str) and IS_SQL.search(node.value)]
    return [f"{path}:{node.lineno}: name the columns" for node in statements if ANY_COLUMN.search(node.value)]


def problems(check, *suffixes, under="", but=()):
    return [
        line for path, text in sources(*suffixes, under=under).items() if path not in but for line in check(path, text)
    ]


def test_no_name_holds_a_word_that_shows_nothing():
    assert problems(name_problems, ".py", under=PYTHON_SOURCES) == []


def test_a_class_name_means_one_thing():
    assert classes_defined_twice(sources(".py", under="src/agentgate/")) == {}


def test_a_class_name_that_is_defined_twice_is_found():
    texts = {"a.py": "class Page: ...", "b.py": "class Page: ...\nclass Other: ..."}

    assert classes_defined_twice(texts) == {"Page": ["a.py", "b.py"]}


def test_every_module_opens_with_a_docstring():
    assert problems(docstring_problems, ".py") == []


def test_every_note_on_later_work_names_an_issue():
    assert problems(later_problems, ".py", ".ts", ".tsx", ".sql", ".md", ".toml", ".css", ".sh") == []


def test_only_the_clock_reads_the_time():
    clocks = {"src/agentgate/lib/clock.py", "packages/python-client/src/agentgate_client/clock.py"}

    assert clocks <= set(sources(".py", under=PYTHON_SOURCES))
    assert problems(clock_problems, ".py", under=PYTHON_SOURCES, but=clocks) == []


def test_only_the_settings_read_the_environment():
    readers = {"src/agentgate/lib/settings/schema.py", "src/agentgate/lib/settings/inherited.py"}

    assert readers <= set(sources(".py", under=PYTHON_SOURCES))
    assert problems(environment_problems, ".py", under=PYTHON_SOURCES, but=readers) == []


def test_every_select_names_its_columns():
    assert problems(select_problems, ".py", under=PYTHON_SOURCES) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/agentgate/http/utils.py", ""),
        ("src/agentgate/common/ids.py", ""),
        ("a.py", "class SessionManager: ..."),
        ("a.py", "class HTTPService: ..."),
        ("a.py", "async def load_base(): ..."),
    ],
)
def test_a_name_that_shows_nothing_is_found(path, text):
    assert len(name_problems(path, text)) == 1


def test_words_that_only_look_alike_pass():
    text = (
        "def base32_of(): ...\n"
        "def public_base_url(): ...\n"
        "class Database: ...\n"
        "def test_a_common_password_is_weak(): ...\n"
    )

    assert name_problems("src/agentgate/lib/database.py", text) == []


def test_a_missing_and_a_long_docstring_are_found():
    assert docstring_problems("a.py", "x = 1\n") == ["a.py: say in one to five lines what is here and what is not"]
    assert docstring_problems("a.py", '"""' + "x\n" * 6 + '"""') == ["a.py: the docstring has 6 lines, at most 5"]
    assert docstring_problems("a.py", '"""' + "x\n\n" * 5 + '"""') == []


def test_a_note_without_an_issue_is_found():
    assert later_problems("a.py", f"# {LATER}: tidy\n") == [f"a.py:1: write {LATER}(#12): and what"]
    assert len(later_problems("a.ts", f"\n// {LATER}(me): tidy\n")) == 1
    assert later_problems("a.py", f"# {LATER}(#7): tidy\nx = '{LATER}'\n") == []


@pytest.mark.parametrize(
    "text",
    [
        "import time\ntime.time()",
        "import time as t\nt.time_ns()",
        "from time import time as now\nnow()",
        "import datetime\ndatetime.datetime.now()",
        "from datetime import datetime\nclock = datetime.now",
        "from datetime import date\ndate.today()",
    ],
)
def test_a_look_at_the_clock_is_found(text):
    assert len(clock_problems("a.py", text)) == 1


def test_measuring_a_duration_passes():
    assert clock_problems("a.py", "import time\ntime.monotonic()\ntime.perf_counter()\nself.time.time()") == []


@pytest.mark.parametrize(
    "text", ["import os\nos.environ['X']", "import os\nos.getenv('X')", "from os import environ\nenviron.get('X')"]
)
def test_a_look_at_the_environment_is_found(text):
    assert len(environment_problems("a.py", text)) == 1


@pytest.mark.parametrize(
    "statement",
    ["SELECT * FROM site", "select\n  s.*\nfrom site s", "SELECT id, s.* FROM site s", "DELETE FROM site RETURNING *"],
)
def test_a_select_without_columns_is_found(statement):
    assert len(select_problems("a.py", f"Q = {statement!r}")) == 1


def test_counting_multiplying_and_media_types_pass():
    assert select_problems("a.py", "Q = 'SELECT count(*), 2 * amount FROM site'") == []
    assert select_problems("a.py", "ACCEPT = 'text/html, */*'") == []
