# ruff: noqa: INP001 - a script next to the package
"""Reports odd English: `python tools/prose.py [PATH...]` prints file:line, rule and hint.

Without paths it compares every folder with its budget in tools/prose_budget.toml: more hits fail, fewer request a lower
budget. `--lower` writes lower budgets, `--rates` prints hits per 1,000 words. No text can be exempted.
"""

import argparse
import ast
import json
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
RULES = ROOT / "tools/prose.toml"
BUDGETS = ROOT / "tools/prose_budget.toml"
COMMAND = "python tools/prose.py"
# The specification and its decisions keep their words; the rules' own examples are odd by design.
NOT_OURS = ("docs/spec.md", "docs/contract.md", "tools/prose.toml", "tests/unit/tools/test_prose.py", "tests/vectors/")
WORD = re.compile(r"[A-Za-z][A-Za-z'-]+")
SCRIPT_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`""", re.DOTALL
)
# Strings, so that `#` in a string is not a comment, and comments.
PYTHON_TOKEN = re.compile(
    r'''"""(?:[^"\\]|\\.|"(?!""))*"""|\'{3}(?:[^\'\\]|\\.|\'(?!\'\'))*\'{3}'''
    r"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|(\#[^\n]*)""",
    re.DOTALL,
)
FUNCTIONS = {ast.FunctionDef, ast.AsyncFunctionDef}
WITH_DOCSTRING = {ast.Module, ast.ClassDef, *FUNCTIONS}
PLAIN_FIELDS = {"ctx", "op", "ops", "lineno", "col_offset", "end_lineno", "end_col_offset", "id", "attr", "arg"}
CODE_SIGNS = re.compile(r"[<>{}\\]|[=;](?=\S|$)|\b(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER) |\(\)")
DESCRIBED = re.compile(r'"(?:description|summary|title)": ("(?:[^"\\]|\\.)*")')
VALUE = re.compile(r'^\s*(?:"(?:[^"\\]|\\.)*"\s*:\s*)?("(?:[^"\\]|\\.)*")\s*,?\s*$', re.MULTILINE)


class Block(NamedTuple):
    """A piece of prose and the line on which it begins."""

    line: int
    text: str


class Hit(NamedTuple):
    """An odd phrase."""

    path: str
    line: int
    rule: str
    found: str
    hint: str

    def __str__(self) -> str:
        """Return the line of the report."""
        return f"{self.path}:{self.line}: {self.rule} {self.found!r}: {self.hint}"


class Rule(NamedTuple):
    """A pattern of odd English."""

    name: str
    pattern: re.Pattern[str]
    hint: str
    bad: tuple[str, ...]
    good: tuple[str, ...]


def read_rules() -> tuple[Rule, ...]:
    """Return the rules of the data file."""
    listed = tomllib.loads(RULES.read_text(encoding="utf-8"))["rule"]
    return tuple(
        Rule(
            name=each["name"],
            pattern=re.compile(each["pattern"].replace(" ", r"\s"), re.IGNORECASE),
            hint=each["hint"],
            bad=tuple(each["bad"]),
            good=tuple(each["good"]),
        )
        for each in listed
    )


def find_hits(rules: tuple[Rule, ...], path: str, blocks: list[Block]) -> list[Hit]:
    """Return the odd phrases of some prose, in order."""
    return [
        Hit(path, block.line + block.text.count("\n", 0, match.start()), rule.name, match[0].strip(), rule.hint)
        for block in blocks
        for rule in rules
        for match in rule.pattern.finditer(block.text)
    ]


def prose_of(path: str, text: str) -> dict[str, list[Block]]:
    """Return the prose of a file by kind, such as `strings` and `comments` of Python."""
    suffix = path.rpartition(".")[2]
    if suffix == "md":
        return {"markdown": list(markdown(text))}
    if suffix == "json" and path.startswith("docs/openapi/"):
        return {"descriptions": list(_quoted(DESCRIBED, text))}
    if suffix == "json" and (path.endswith("/en.json") or "/en/" in path):
        return {"catalogs": list(_quoted(VALUE, text))}
    if suffix == "py":
        return python(path, text)
    if suffix in {"ts", "tsx", "php"}:
        return {"strings": list(script(text))}
    return {}


def markdown(text: str) -> Iterator[Block]:
    """Yield paragraphs, list items, headings and table rows without code, addresses and tags."""
    fence, front, lines, start = "", text.startswith("---\n"), [], 1
    for number, line in enumerate(text.split("\n"), 1):
        if front:
            front = number == 1 or line != "---"
            continue
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark:
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        begins = re.match(r"\s*(?:[-*+] |\d+\. |#|\||>|$)", line)
        if lines and (mark or fence or begins):
            yield Block(start, "\n".join(lines))
            lines = []
        if mark or fence or not line.strip():
            continue
        start = start if lines else number
        lines.append(re.sub(r"^\s*(?:[-*+] |\d+\. |> ?|\|)\s*(?:\*\*)?", "", _without_code(line)))
    if lines:
        yield Block(start, "\n".join(lines))


def python(path: str, text: str) -> dict[str, list[Block]]:
    """Return messages, docstrings and comments, and names of tests."""
    opening: list[ast.Constant] = []
    written: list[ast.expr] = []
    tests: list[ast.stmt] = []
    inner: set[int] = set()
    for node in _nodes(ast.parse(text)):
        kind = type(node)
        if kind in WITH_DOCSTRING and (first := _docstring(node)):
            opening.append(first)
        if kind in FUNCTIONS and node.name.startswith("test_"):
            tests.append(node)
        elif kind is ast.JoinedStr:
            inner |= {id(part) for part in node.values}
            written.append(node)
        elif kind is ast.Constant and type(node.value) is str:
            written.append(node)
    inner |= {id(node) for node in opening}
    strings = []
    for node in written:
        message = _written(node)
        if " " in message and id(node) not in inner and _is_prose(message):
            strings.append(Block(node.lineno, _without_code(message)))
    docstrings = (Block(node.lineno, _without_code(_written(node))) for node in opening)
    found = {"strings": strings, "comments": [*docstrings, *_comments(text)]}
    if path.startswith("tests/"):
        found["names"] = [Block(node.lineno, node.name.removeprefix("test_").replace("_", " ")) for node in tests]
    return found


def script(text: str) -> Iterator[Block]:
    """Yield the messages of TypeScript and PHP: strings of three words and more that do not look like code."""
    for token in SCRIPT_TOKEN.finditer(text):
        if token[0][0] in "\"'`":
            written = re.sub(r"\$?\{[^{}]*\}", "X", token[0][1:-1])
            if _is_prose(written):
                yield Block(text.count("\n", 0, token.start()) + 1, written)


def _quoted(pattern: re.Pattern[str], text: str) -> Iterator[Block]:
    for match in pattern.finditer(text):
        plain = re.sub(r"\{[^{}]*\}", "X", json.loads(match[1]))
        yield Block(text.count("\n", 0, match.start(1)) + 1, _without_code(plain).replace("\n", " "))


def _without_code(line: str) -> str:
    line = re.sub(r"`[^`]*`", "X", line)
    line = re.sub(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", line)
    return re.sub(r"<[^<>]*>|https?://\S+", "", line)


def _written(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "X" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _is_prose(written: str) -> bool:
    return " " in written and len(WORD.findall(written)) > 2 and not CODE_SIGNS.search(written)


def _nodes(tree: ast.Module) -> Iterator[Any]:
    """Yield the nodes of a tree; `ast.walk` takes five times as long, because it yields contexts and operators too."""
    waiting: list[Any] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for name, value in vars(node).items():
            if name in PLAIN_FIELDS:
                continue
            if type(value) is list:
                waiting += [each for each in value if isinstance(each, ast.AST)]
            elif isinstance(value, ast.AST):
                waiting.append(value)


def _docstring(node: Any) -> ast.Constant | None:
    first = node.body[0] if node.body else None
    value = first.value if isinstance(first, ast.Expr) else None
    return value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None


def _comments(text: str) -> Iterator[Block]:
    """Yield comments; those on consecutive lines are one sentence."""
    lines: list[str] = []
    start, line, position = 0, 1, 0
    for token in PYTHON_TOKEN.finditer(text):
        comment = token[1]
        if comment is None or re.match(r"#\s*(?:noqa|type:|!|ruff:)", comment):
            continue
        line += text.count("\n", position, token.start())
        position = token.start()
        if lines and line != start + len(lines):
            yield Block(start, _without_code("\n".join(lines)))
            lines = []
        start = start if lines else line
        lines.append(comment.lstrip("# "))
    if lines:
        yield Block(start, _without_code("\n".join(lines)))


def budget_key(path: str, kind: str) -> str:
    """Return the budget that a file's prose belongs to: its folder, two levels deep for sources, and the kind."""
    parts = path.split("/")[:-1]
    depth = 2 if parts[:1] in (["docs"], ["src"], ["packages"], ["console"]) else 1
    return f"{'/'.join(parts[:depth]) or '.'}: {kind}"


def listed_paths() -> list[str]:
    """Return the tracked and the new files."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, check=True, capture_output=True, text=True, timeout=30).stdout.split("\0")  # noqa: S603
    return sorted(name for name in set(names) - {""} if (ROOT / name).is_file() and not name.startswith(NOT_OURS))


def check(paths: list[str]) -> tuple[dict[str, list[Hit]], dict[str, int]]:
    """Return hits and words of files by budget."""
    rules, hits, words = read_rules(), defaultdict[str, list[Hit]](list), defaultdict[str, int](int)
    for path in paths:
        if path.endswith((".md", ".json", ".py", ".ts", ".tsx", ".php")):
            for kind, blocks in prose_of(path, (ROOT / path).read_text(encoding="utf-8")).items():
                key = budget_key(path, kind)
                words[key] += sum(len(WORD.findall(block.text)) for block in blocks)
                hits[key] += find_hits(rules, path, blocks)
    return hits, words


def judge(counts: dict[str, int], budgets: dict[str, int]) -> tuple[list[str], list[str]]:
    """Return what is above its budget, and what is below."""
    above = [
        f"{key}: {count} odd phrases, and the budget is {budgets.get(key, 0)}"
        for key, count in counts.items()
        if count > budgets.get(key, 0)
    ]
    below = [
        f"{key}: {counts.get(key, 0)} odd phrases; lower the budget from {budget}: {COMMAND} --lower"
        for key, budget in budgets.items()
        if counts.get(key, 0) < budget
    ]
    return above, below


def budgets_text(budgets: dict[str, int]) -> str:
    """Return the budgets as TOML."""
    head = f"# Odd phrases that `{COMMAND}` still finds, by folder and kind of text. A budget only goes down.\n"
    return head + "".join(f"{json.dumps(key)} = {count}\n" for key, count in sorted(budgets.items()) if count)


def main(arguments: list[str]) -> int:
    """Report and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", help="files or folders; default: all, against the budgets")
    parser.add_argument("--lower", action="store_true", help="write the budgets that are lower now")
    parser.add_argument("--rates", action="store_true", help="print hits per 1,000 words instead of hits")
    options = parser.parse_args(arguments)
    chosen = tuple(Path(each).resolve().relative_to(ROOT).as_posix() for each in options.paths)
    paths = [path for path in listed_paths() if not chosen or any(f"{path}/".startswith(f"{one}/") for one in chosen)]
    hits, words = check(paths)
    if options.rates:
        sys.stdout.write("per 1,000    hits    words  folder: kind\n")
        for key in sorted(hits):
            rate = 1000 * len(hits[key]) / max(words[key], 1)
            sys.stdout.write(f"{rate:9.1f} {len(hits[key]):7} {words[key]:8}  {key}\n")
        return 0
    if chosen:
        sys.stdout.writelines(f"{hit}\n" for key in sorted(hits) for hit in hits[key])
        return 1 if any(hits.values()) else 0
    counts = {key: len(found) for key, found in hits.items() if found}
    budgets = tomllib.loads(BUDGETS.read_text(encoding="utf-8")) if BUDGETS.exists() else {}
    if options.lower:
        lower = {key: min(counts.get(key, 0), budget) for key, budget in budgets.items()}
        BUDGETS.write_text(budgets_text(lower if BUDGETS.exists() else counts), encoding="utf-8")
        return 0
    above, below = judge(counts, budgets)
    for key, count in counts.items():
        if count > budgets.get(key, 0):
            sys.stdout.writelines(f"{hit}\n" for hit in hits[key])
    sys.stdout.writelines(f"prose: {line}\n" for line in (*above, *below))
    return 1 if above else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
