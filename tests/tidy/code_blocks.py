"""The fenced blocks of the documents, and the checks for each language."""

import ast
import contextlib
import importlib
import json
import re
import shlex
import subprocess
import textwrap
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from jsonschema import Draft202012Validator

from agentgate.server.cli import command_line
from tests.tidy.sources import ROOT, sources

PAGES = re.compile(r"README\.md|docs/(?:contributing/)?[^/]+\.md|(?:packages|deploy)/[^/]+/README\.md")
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<code>.*?)^(?P=indent)```$", re.DOTALL | re.MULTILINE)
SURFACES = ("public", "account", "console", "admin")
# Stands for what a page leaves out: a name that is yours, the rest of a list, of a text.
ELIDED = re.compile(r"\.\.\.|…")
PLACEHOLDER = re.compile(r"<([a-z-]+)>")
ASSIGNED = re.compile(r"^(?:export )?(?P<name>[A-Z]+)=(?P<quote>[\"']?)(?P<value>[^\"'$\s]+)(?P=quote)", re.MULTILINE)
ADDRESS = re.compile(r"https?://[^/\s]+(/[^?\s]*)")
OUR_PACKAGES = ("agentgate", "agentgate_client", "agentgate_tools")


class Block(NamedTuple):
    """One fenced block: page, position among the page's blocks from 1, language and code."""

    page: str
    number: int
    language: str
    code: str

    @property
    def name(self) -> str:
        """The key of the block in the tables."""
        return f"{self.page}#{self.number}"


@cache
def blocks() -> tuple[Block, ...]:
    """Return the blocks of every page."""
    return tuple(
        Block(page, number, found["language"], textwrap.dedent(found["code"]))
        for page, text in sources(".md").items()
        if PAGES.fullmatch(page)
        for number, found in enumerate(FENCE.finditer(text), 1)
    )


def shell_problems(block: Block) -> Iterator[str]:
    """Yield what is wrong with shell lines: syntax, commands and options of ours, calls of our API."""
    code = PLACEHOLDER.sub(r"\1", block.code)
    if block.language == "console":
        code = "".join(re.findall(r"^\$ (.*\n)", code, re.MULTILINE))
    parsed = subprocess.run(["bash", "-n"], input=code, capture_output=True, text=True, timeout=10, check=False)
    if parsed.returncode:
        yield parsed.stderr.strip()
        return
    for words in _simple_commands(code, _variables(block.page)):
        if words[0] == "agentgate":
            yield from command_problems(words[1:])
        elif words[0] == "curl":
            yield from call_problems(words[1:])


def _variables(page: str) -> dict[str, str]:
    """Return what the blocks of a page set to a fixed value."""
    texts = (block.code for block in blocks() if block.page == page and block.language == "sh")
    return {found["name"]: found["value"] for text in texts for found in ASSIGNED.finditer(text)}


def _simple_commands(code: str, variables: dict[str, str]) -> Iterator[list[str]]:
    """Yield the commands at the beginning of a script's lines, as words."""
    without_files = re.sub(r"<<(\w+)\n.*?^\1$", "", code.replace("\\\n", " "), flags=re.DOTALL | re.MULTILINE)
    for name, value in variables.items():
        without_files = re.sub(rf"\$\{{?{name}\b\}}?", value, without_files)
    without_files = re.sub(r"(?:^|[ \t]+)#.*$", "", without_files, flags=re.MULTILINE)
    lexer = shlex.shlex(without_files, posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace = " \t"
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    try:
        for word in lexer:
            if set(word) <= set("();<>|&\n"):
                yield from _command(words)
                # What follows a redirection is a file.
                words = ["to a file"] if set(word) & set("<>") else []
            else:
                words.append(word)
    except ValueError:
        # Quotes within `"$( )"`, which bash has parsed above; the test that runs the page judges the rest.
        return
    yield from _command(words)


def _command(words: list[str]) -> Iterator[list[str]]:
    while words and (words[0] in {"sudo", "env", "do", "then"} or re.match(r"[A-Z_]+=", words[0])):
        words = words[1:]
    if words:
        yield words


@cache
def _command_line() -> Any:
    return command_line()


def command_problems(words: list[str]) -> Iterator[str]:
    """Yield why our own parser does not take a command line. Files need not be there."""
    command = _command_line()
    context: Any = None
    rest = words
    try:
        while True:
            context = command.make_context(command.name, list(rest), parent=context)
            if not hasattr(command, "resolve_command"):
                return
            _, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
    except Exception as error:  # noqa: BLE001 - whatever the parser says of it
        told = str(getattr(error, "message", error))
        if "does not exist" not in told:
            yield f"agentgate {shlex.join(words)}: {type(error).__name__}: {told}"


def call_problems(words: list[str]) -> Iterator[str]:
    """Yield why a call with curl is none of our API: method, path or body."""
    given = list(words)
    method, body, path = "", None, None
    while given:
        word = given.pop(0)
        if word == "-X":
            method = given.pop(0)
        elif word in {"-d", "--data-binary"}:
            body = given.pop(0)
        elif word in {"-H", "-A", "-w", "-o", "-sD", "-b", "-c", "--retry", "--retry-delay", "--resolve"}:
            given.pop(0)
        elif found := ADDRESS.match(word):
            path = found[1]
    if path is None or not path.startswith(("/v1/", "/agent/", "/turnstile/")):
        return
    method = method or ("GET" if body is None else "POST")
    operation = _operation(method.lower(), path)
    if operation is None:
        yield f"curl: there is no {method} {path}"
        return
    document, described = operation
    schemas = [each.get("schema") for each in described.get("requestBody", {}).get("content", {}).values()]
    if body is not None and body.startswith("{") and schemas:
        yield from (f"curl {method} {path}: {each}" for each in schema_problems(read_json(body), document, schemas[0]))


def _operation(method: str, path: str) -> tuple[str, Any] | None:
    asked = path.split("/")
    for name in SURFACES:
        for template, operations in document_of(name)["paths"].items():
            parts = template.split("/")
            fits = len(parts) == len(asked) and all(
                part == each or part.startswith("{") for part, each in zip(parts, asked, strict=True)
            )
            if fits and method in operations:
                return name, operations[method]
    return None


@cache
def document_of(surface: str) -> Any:
    """Return the OpenAPI document of a surface."""
    return json.loads((ROOT / "docs" / "openapi" / f"{surface}.json").read_text(encoding="utf-8"))


def read_json(text: str) -> Any:
    """Read JSON in which `...` stands for the rest of a list."""
    return json.loads(re.sub(r",\s*\.\.\.(?=\s*[\]}])", "", text))


def component(name: str) -> dict[str, str]:
    """Return the schema of a named component."""
    return {"$ref": f"#/components/schemas/{name}"}


def schema_problems(value: Any, surface: str, schema: Any) -> Iterator[str]:
    """Yield where a value does not match the schema; parts that a page abbreviates may have any form."""
    document = {**document_of(surface), **schema}
    for error in Draft202012Validator(document).iter_errors(value):
        yield from _faults(error)


def _faults(error: Any) -> Iterator[str]:
    if error.context:
        # Of several forms, report the errors of the one that fits best.
        best = min(
            ({each.schema_path[0] for each in error.context}),
            key=lambda form: len([each for each in error.context if each.schema_path[0] == form]),
        )
        chosen = [list(_faults(each)) for each in error.context if each.schema_path[0] == best]
        if all(chosen):
            yield from (line for lines in chosen for line in lines)
        return
    elided = isinstance(error.instance, str) and ELIDED.search(error.instance)
    shortened = isinstance(error.instance, dict) and any(ELIDED.fullmatch(name) for name in error.instance)
    if not elided and not shortened:
        yield f"{error.json_path}: {error.message}"


def python_problems(block: Block) -> Iterator[str]:
    """Yield what is wrong with Python: syntax, and imports of packages of ours that have no such name."""
    try:
        tree = compile(block.code, block.name, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError as error:
        yield f"line {error.lineno}: {error.msg}"
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in OUR_PACKAGES:
            module = importlib.import_module(node.module or "")
            yield from (f"{node.module} has no {each.name}" for each in node.names if not hasattr(module, each.name))


def script_problems(scripts: Iterable[Block], folder: Path) -> list[str]:
    """Return esbuild's messages about JavaScript, all at once."""
    for block in scripts:
        (folder / f"{block.name.replace('/', '+')}.jsx").write_text(block.code, encoding="utf-8")
    files = [str(path) for path in sorted(folder.iterdir())]
    program = ROOT / "node_modules" / ".bin" / "esbuild"
    done = subprocess.run(
        [program, *files, "--log-level=error", "--color=false", "--jsx=automatic", f"--outdir={folder / 'out'}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stderr.splitlines()


def yaml_problems(block: Block) -> Iterator[str]:
    """Yield what is wrong with YAML; a site's file is compared with the admin API."""
    try:
        value = yaml.safe_load(block.code)
    except yaml.YAMLError as error:
        yield str(error)
        return
    if isinstance(value, dict) and "siteKey" in value:
        site = {name: each for name, each in value.items() if name not in {"rules", "agentPolicy"}}
        yield from schema_problems(site, "admin", component("SiteInput"))
        with contextlib.suppress(KeyError):
            yield from schema_problems(value["agentPolicy"], "admin", component("AgentPolicy"))


def inline_commands() -> Iterator[tuple[str, list[str]]]:
    """Yield page and words of each AgentGate command within a sentence or a table."""
    for page, text in sources(".md").items():
        if PAGES.fullmatch(page):
            prose = FENCE.sub("", text)
            yield from ((page, found.split()) for found in re.findall(r"`agentgate ([^`]+)`", prose))


def inline_problems(words: list[str]) -> Iterator[str]:
    """Yield the commands and options in a sentence that do not exist. Arguments may be omitted there."""
    command = _command_line()
    names = [word for word in words if not word.startswith("-")]
    while hasattr(command, "commands") and names and not names[0].startswith(("<", "...")):
        for name in names.pop(0).split("|"):
            if name not in command.commands:
                yield f"agentgate {' '.join(words)}: there is no {name}"
                return
            found = command.commands[name]
        command = found
    known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)} | {"--help", "--debug"}
    options = (word.partition("=")[0] for word in words if word.startswith("--"))
    yield from (f"agentgate {' '.join(words)}: there is no {option}" for option in options if option not in known)
