"""The checker of prose: its rules on good and bad sentences, what it reads of each kind of file, and budgets."""

import pytest

from tools import prose

RULES = prose.read_rules()


def found(text, path="docs/a.md"):
    blocks = [block for each in prose.prose_of(path, text).values() for block in each]
    return [(hit.line, hit.rule) for hit in prose.find_hits(RULES, path, blocks)]


@pytest.mark.parametrize(("rule", "sentence"), [(rule, each) for rule in RULES for each in rule.bad])
def test_bad_sentence_matches_its_rule(rule, sentence):
    assert rule.name in [hit.rule for hit in prose.find_hits((rule,), "a.md", [prose.Block(1, sentence)])]


@pytest.mark.parametrize(("rule", "sentence"), [(rule, each) for rule in RULES for each in rule.good])
def test_good_sentence_matches_no_rule(rule, sentence):
    assert prose.find_hits(RULES, "a.md", [prose.Block(1, sentence)]) == []
    assert rule.hint


def test_markdown_phrase_across_a_line_break_has_its_line():
    assert found("# Title\n\nThe visitor\nis\nasked for a token.\n") == [(4, "asked")]


def test_markdown_code_addresses_and_front_matter_are_skipped():
    text = "---\ntitle: nobody\n---\n`nobody` [nobody.example](https://a.example/nobody)\n\n```sh\nnobody\n```\n"

    assert found(text) == [(4, "nobody")]


def test_markdown_table_cell_and_list_item_begin_a_sentence():
    assert [rule for _, rule in found("| Who sends it | yes |\n- Whose key it is\n")] == ["who-subject", "who-subject"]


def test_python_messages_docstrings_comments_and_test_names_are_read():
    text = '"""Nobody."""\n# Nobody\nx = f"nobody has {y} keys"\n\n\ndef test_nobody_is_blocked(): ...\n'

    kinds = prose.prose_of("tests/a.py", text)

    assert {kind: [block.line for block in blocks] for kind, blocks in kinds.items()} == {
        "strings": [3],
        "comments": [1, 2],
        "names": [6],
    }
    assert len(found(text, "tests/a.py")) == 4


def test_python_comment_over_two_lines_is_one_sentence():
    assert found("# The visitor is\n# asked for a token.\n", "src/a.py") == [(1, "asked")]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("console/src/words/en.json", '{\n  "a": "Nobody is blocked."\n}\n'),
        ("docs/openapi/a.json", '{\n  "summary": "Nobody is blocked."\n}\n'),
        ("sdk/src/a.ts", '// Nobody.\nconst a = "Nobody is blocked now"; // "Nobody is there"\n'),
        ("packages/wordpress/a.php", "<?php\n$a = __( 'Nobody is blocked now', 'agentgate' );\n"),
    ],
)
def test_strings_of_other_languages_are_read(path, text):
    assert found(text, path) == [(2, "nobody")]


def test_code_in_strings_is_no_prose():
    assert found('x = "SELECT nobody FROM somebody WHERE a"\ny = "a < nobody and b"\n', "src/a.py") == []


def test_folder_above_its_budget_fails():
    above, below = prose.judge({"docs: markdown": 3, "src: strings": 1}, {"docs: markdown": 2, "src: strings": 1})

    assert above == ["docs: markdown: 3 odd phrases, and the budget is 2"]
    assert below == []


def test_folder_without_a_budget_has_none():
    assert prose.judge({"new: markdown": 1}, {})[0] == ["new: markdown: 1 odd phrases, and the budget is 0"]


def test_folder_below_its_budget_requests_a_lower_one():
    above, below = prose.judge({}, {"docs: markdown": 2})

    assert above == []
    assert below == ["docs: markdown: 0 odd phrases; lower the budget from 2: python tools/prose.py --lower"]
