"""Every code block of the documents is run by a test, generated, or compared with the product; a few are only shown."""

import ast
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.tidy import code_blocks
from tests.tidy.code_blocks import Block, blocks, component, read_json, schema_problems
from tests.tidy.sources import ROOT, sources
from tools.generate import generated_files

GUIDES = "tests/browser/guides/test_quick_starts.py"
# Page and language -> the test that runs the blocks of this page in this language, to the letter.
RUN = {
    ("docs/start-proxy.md", "sh"): f"{GUIDES}::test_a_site_behind_a_proxy",
    ("docs/start-form.md", "sh"): f"{GUIDES}::test_a_form",
    ("docs/start-form.md", "python"): f"{GUIDES}::test_a_form",
    ("docs/install.md", "sh"): f"{GUIDES}::test_running_the_service",
    ("docs/start-agent.md", "sh"): f"{GUIDES}::test_an_agent_that_is_welcome",
    ("docs/databases.md", "sh"): (
        "tests/deploy/test_two_nodes_page.py::test_the_page_leads_to_two_nodes_with_a_front_metrics_and_a_backup"
    ),
    ("docs/http-apis.md", "sh"): "tests/examples/test_api_pages.py::test_the_page_of_the_apis",
    ("docs/build-agent.md", "python"): "tests/agents_clients/test_guide.py::test_a_program_of_the_guide_is_verified",
    ("docs/build-agent.md", "js"): "tests/agents_clients/test_guide.py::test_a_program_of_the_guide_is_verified",
    ("docs/agent-actions.md", "python"): (
        "tests/api/public/test_agent_submit_docs.py::test_the_example_submits_and_pays"
    ),
    ("docs/verify-tokens.md", "sh"): "tests/site_server/test_guide.py::test_the_call_with_curl_works",
    ("docs/webhooks.md", "python"): (
        "tests/unit/events/webhooks/test_signing.py::test_the_code_in_the_document_knows_genuine_deliveries"
    ),
    ("docs/allow-webhooks.md", "json"): (
        "tests/unit/sites/test_aliases.py::test_the_routes_of_the_page_cover_the_names_that_it_lists"
    ),
    ("docs/contract.md", ""): "tests/contract/test_contract_records.py::test_a_record_has_the_fields_of_the_contract",
}
# JSON -> the component of an OpenAPI document that it is one of.
ANSWERS = {
    "docs/agent-policy.md#4": ("admin", "ChargeStatement"),
    "docs/test-installation.md#2": ("admin", "AgentPolicy"),
    "docs/agent-actions.md#3": ("public", "SubmissionAnswer"),
    "docs/agent-actions.md#9": ("admin", "AgentPolicy"),
    "docs/allow-webhooks.md#4": ("admin", "SiteChange"),
    "docs/browser-check.md#1": ("public", "ChallengeInput"),
    "docs/browser-check.md#2": ("public", "Challenge"),
    "docs/browser-check.md#4": ("public", "VerifyInput"),
    "docs/browser-check.md#5": ("public", "VerifyResult"),
    "docs/browser-check.md#6": ("public", "VerifyResult"),
    "docs/agent-actions.md#5": ("public", "ErrorBody"),
    "docs/http-apis.md#5": ("admin", "InviteResult"),
    "docs/http-apis.md#8": ("admin", "ErrorBody"),
    "docs/migrate-captcha.md#2": ("public", "CompatAnswer"),
    "docs/score-form-text.md#2": ("public", "ContentScore"),
    "docs/train-model.md#7": ("admin", "ModelFile"),
    "docs/train-model.md#8": ("admin", "Tree"),
    "docs/verify-tokens.md#2": ("public", "SiteverifySuccess"),
    "docs/webhooks.md#2": ("console", "WebhookSecret"),
}
# Blocks that are only shown, and the reason.
SHOWN = {
    "README.md#3": "a drawing",
    "docs/contributing/architecture.md#1": "a drawing; tests/tidy/test_imports.py compares the source with it",
    "docs/agent-actions.md#8": "shortened; tests/api/public/test_agent_tools.py has the whole of it",
    "docs/browser-check.md#3": "shortened; tests/api/public/test_browser_script.py runs such a script",
    "docs/browser-check.md#7": "a part of a body; tests/api/public/test_browser_step_up.py sends such answers",
    "docs/contributing/events.md#1": "the form of a query; tests/store/test_events.py reads days by such",
    "docs/feed-firewall.md#3": "a unit of systemd; tests/cli/test_feed_command.py reads it",
    "docs/feed-firewall.md#4": "a timer of systemd; tests/cli/test_feed_command.py reads it",
    "docs/feed-firewall.md#7": "a jail of fail2ban; tests/cli/test_feed_command.py reads it",
    "docs/feed-firewall.md#8": "a filter of fail2ban; tests/cli/test_feed_command.py reads it",
    "docs/sdk.md#1": "markup; tests/browser/sdk/test_widgets.py opens such pages",
    "docs/sdk.md#2": "markup; tests/browser/sdk/test_widgets.py opens such pages",
    "docs/sdk.md#5": "a header; tests/browser/test_policies.py sends it",
    "docs/webhooks.md#3": "shortened; tests/whole/test_webhooks.py receives such bodies",
    "docs/webhooks.md#4": "shortened; tests/whole/test_webhooks.py receives such bodies",
    "packages/go-client/README.md#1": "two lines of a function; tests/soak/test_go_client.py has them in a program",
}
SCRIPTS = {"js", "jsx"}
# Whole files of proxies. tests/proxies/test_shipped.py compares them with what the command prints.
PRINTED = {"nginx", "caddy", "haproxy", "apache", "lua"}


def named_block(name: str) -> Block:
    """Return the block that a table names."""
    [found] = [block for block in blocks() if block.name == name]
    return found


def recipe_problems(block: Block) -> Iterator[str]:
    """Yield the lines of a recipe that are not in the source: a recipe shows existing code."""
    texts = "\n".join(sources(".py", under="src/agentgate/").values())
    yield from (line for line in block.code.splitlines() if line.strip() not in texts)


def python_problems(block: Block) -> Iterator[str]:
    yield from code_blocks.python_problems(block)
    if block.page == "docs/contributing/recipes.md":
        yield from recipe_problems(block)


def json_problems(block: Block) -> Iterator[str]:
    """Yield what is wrong with JSON: it is of a component, or the settings of an MCP client."""
    value = read_json(block.code)
    if block.name in ANSWERS:
        surface, name = ANSWERS[block.name]
        yield from schema_problems(value, surface, component(name))
    elif block.page == "docs/cli.md":
        [server] = value["mcpServers"].values()
        assert server["command"] == "agentgate"
        yield from code_blocks.command_problems(server["args"])
    elif block.name not in SHOWN:
        yield "name its component in ANSWERS"


def php_problems(block: Block) -> Iterator[str]:
    return _said_by(["php", "-l"], block)


def vue_problems(block: Block) -> Iterator[str]:
    program = (
        "const { parse, compileScript } = require('@vue/compiler-sfc');"
        "const { descriptor, errors } = parse(require('fs').readFileSync(0, 'utf8'));"
        "if (errors.length) throw errors[0]; compileScript(descriptor, { id: 'x', inlineTemplate: true });"
    )
    return _said_by(["node", "-e", program], block)


def _said_by(command: list[str], block: Block) -> Iterator[str]:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run(command, input=block.code, capture_output=True, text=True, timeout=30, check=False, cwd=ROOT)
    if done.returncode:
        yield done.stdout + done.stderr


CHECKED: dict[str, Callable[[Block], Iterator[str]]] = {
    "sh": code_blocks.shell_problems,
    "console": code_blocks.shell_problems,
    "json": json_problems,
    "python": python_problems,
    "yaml": code_blocks.yaml_problems,
    "php": php_problems,
    "vue": vue_problems,
}


@cache
def generated_pages() -> frozenset[str]:
    return frozenset(generated_files())


def is_covered(block: Block) -> bool:
    """Return whether a test or a generator covers a block, or `SHOWN` lists it."""
    return (
        (block.page, block.language) in RUN
        or block.page in generated_pages()
        or block.language in CHECKED
        or block.language in SCRIPTS
        or (block.page.startswith("docs/protect-") and block.language in PRINTED)
        or block.name in SHOWN
    )


def test_every_block_is_run_generated_checked_or_listed() -> None:
    assert len(blocks()) > 200
    assert [block.name for block in blocks() if not is_covered(block)] == []


@pytest.mark.parametrize("language", CHECKED)
def test_the_blocks_of_a_language_are_right(language: str) -> None:
    chosen = [block for block in blocks() if block.language == language]

    assert chosen
    assert [f"{block.name}: {problem}" for block in chosen for problem in CHECKED[language](block)] == []


def test_scripts_are_read_by_the_bundler(tmp_path: Path) -> None:
    chosen = [block for block in blocks() if block.language in SCRIPTS and block.name not in SHOWN]

    assert len(chosen) > 5
    assert code_blocks.script_problems(chosen, tmp_path) == []
    wrong = Block("docs/x.md", 1, "js", "const = 1;")
    assert code_blocks.script_problems([wrong], tmp_path) != []


def test_the_tests_that_run_pages_exist_and_name_them() -> None:
    tests = sources(".py", under="tests/")
    for (page, language), named in RUN.items():
        path, _, name = named.partition("::")
        functions = {node.name for node in ast.walk(ast.parse(tests[path])) if isinstance(node, ast.FunctionDef)}

        assert name in functions, named
        assert Path(page).name in tests[path], f"{path} does not read {page}"
        assert [block for block in blocks() if (block.page, block.language) == (page, language)], page


def test_the_tables_name_blocks_that_exist() -> None:
    existing = set(sources(".py", under="tests/"))

    for name in ANSWERS:
        assert named_block(name).language == "json"
    for name, reason in SHOWN.items():
        named_block(name)
        _, _, told = reason.partition("; ")
        assert reason == "a drawing" or told.split()[0] in existing, name


@pytest.mark.parametrize(
    ("language", "code", "problem"),
    [
        ("sh", "if true; then", "syntax error"),
        ("sh", "agentgate site moed site_shop1 enforce", "No such command 'moed'"),
        ("sh", "sudo env A=1 agentgate tail --outcom block", "No such option '--outcom'"),
        ("sh", "curl http://127.0.0.1:8081/v1/admin/site", "there is no GET /v1/admin/site"),
        ("sh", 'curl -X PATCH -d \'{"mode": "x"}\' http://h/v1/admin/sites/a', "$.mode: 'x' is not one of"),
        ("python", "from agentgate_client import Gone", "agentgate_client has no Gone"),
        ("python", "def", "invalid syntax"),
        ("yaml", "siteKey: site_shop1\nmodes: monitor\n", "'modes' was unexpected"),
        ("yaml", "a: [", "expected"),
    ],
)
def test_what_is_wrong_is_found(language: str, code: str, problem: str) -> None:
    block = Block("docs/x.md", 1, language, f"{code}\n")

    assert problem in "\n".join(CHECKED[language](block))


def test_a_response_that_lacks_a_field_is_found_and_a_shortened_one_passes() -> None:
    shown = json.loads(named_block("docs/browser-check.md#5").code)
    lacking = {name: value for name, value in shown.items() if name != "status"}

    assert list(schema_problems(lacking, "public", component("VerifyResult"))) == ["$: 'status' is a required property"]
    assert list(schema_problems({**shown, "expiresAt": "..."}, "public", component("VerifyResult"))) == []


def test_commands_within_sentences_exist() -> None:
    named = list(code_blocks.inline_commands())

    assert len(named) > 50
    assert [f"{page}: {problem}" for page, words in named for problem in code_blocks.inline_problems(words)] == []
    assert list(code_blocks.inline_problems(["rules", "lint|tset"])) == ["agentgate rules lint|tset: there is no tset"]
    assert list(code_blocks.inline_problems(["tail", "--lable"])) == ["agentgate tail --lable: there is no --lable"]
