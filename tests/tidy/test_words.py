"""No tracked text names a developer's machine or a package registry, or talks about how the code was written.

The forbidden words are put together from pieces, so that this file passes its own check.
"""

import re

import pytest

from tests.tidy.sources import ROOT, listed_paths


def word(start, rest):
    """Return a pattern of a word that begins with a plain text, which is found ten times as fast as a boundary."""
    return rf"{start}(?<=\b{start}){rest}"


MACHINE_PATHS = [
    r"/(?<![\w.}]/)" + folder for folder in ("wo" + r"rk/\w", "ro" + r"ot(?:/|\b)", "ho" + r"me/\w", "us" + r"ers/\w")
]
REGISTRY_HOSTS = [
    word(name, rf"\.{ending}\b")
    for name, ending in (
        ("py" + "pi", "org"),
        ("python" + "hosted", "org"),
        ("npm" + "js", "(?:org|com)"),
        ("yarn" + "pkg", "com"),
        ("cra" + "tes", "io"),
    )
]
NEW_LINE = "\n"
# Names of products that write code are allowed: they are also names of agents and crawlers that visit sites.
AUTHORSHIP = [
    "co-" + "authored-by",
    word("ai-", r"(?:generated|written|assisted)\b"),
    r"\b(?:generated|written|created|made) (?:by|with) (?:an? )?(?:ai|llm|language model|assistant|chat ?bot)\b",
    word("as a", r"n? (?:ai|llm|(?:large )?language model)\b"),
    word("vibe", r"[- ]cod"),
    word("sub", r"-?agents?\b.{0,40}\bwrote\b"),
    word("the ", r"(?:brief|prompt) (?:says|asks|said|asked)\b"),
    word("in this ", r"(?:session|conversation|chat)\b"),
]
# Each by itself and for small letters only, which is quicker than one for all.
FORBIDDEN = [re.compile(pattern) for pattern in (*MACHINE_PATHS, *REGISTRY_HOSTS, *AUTHORSHIP)]


def word_problems(path, text):
    """Return a line about each forbidden word."""
    content = text.lower()
    return [
        f"{path}:{content.count(NEW_LINE, 0, match.start()) + 1}: {match[0].strip()!r} has no place here"
        for pattern in FORBIDDEN
        for match in pattern.finditer(content)
    ]


def readable(content):
    """Return the text of a file, or nothing when it is not text."""
    if b"\0" in content:
        return ""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return ""


def test_no_tracked_text_holds_a_forbidden_word():
    texts = {path: readable((ROOT / path).read_bytes()) for path in listed_paths()}

    assert [line for path, text in texts.items() for line in word_problems(path, text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "see /wo" + "rk/x/notes",
        "cache in /ro" + "ot/.cache",
        "open('/ho" + "me/ann/x')",
        "https://py" + "pi.org/simple",
        '"resolved": "https://registry.npm' + 'js.org/x"',
        "Co-" + "Authored-By: someone",
        "This was generated " + "by an AI.",
        "As a " + "language model",
    ],
)
def test_a_forbidden_word_is_found(text):
    assert len(word_problems("a.md", f"fine\n{text}\n")) == 1
    assert word_problems("a.md", f"fine\n{text}\n")[0].startswith("a.md:2: ")


@pytest.mark.parametrize(
    "text",
    [
        'import { solve } from "../work/solve"',
        "sdk/src/work/worker.ts",
        "GET /v1/browser/work",
        "claims to be an AI agent or crawler",
        "the root of the tree, and at home",
    ],
)
def test_ordinary_words_pass(text):
    assert word_problems("a.md", text) == []


def test_a_binary_file_has_no_text():
    assert readable(b"\x89PNG\0") == ""
    assert readable(b"\xff\xfe") == ""
