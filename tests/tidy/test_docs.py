"""Every relative link in a document leads somewhere: to a listed file, a folder, or a heading."""

import posixpath
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.tidy.import_table import CONCEPT_ROOMS
from tests.tidy.sources import listed_paths, sources

FENCE = re.compile(r"^(?P<fence>```+|~~~+).*?^(?P=fence)\s*$", re.DOTALL | re.MULTILINE)
INLINE_CODE = re.compile(r"(`+).+?\1", re.DOTALL)
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(<?([^()\s<>]+(?:\([^()\s]*\))?)>?(?:\s+\"[^\"]*\")?\)")
REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s+<?(\S+?)>?(?:\s|$)", re.MULTILINE)
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
MARKED_ANCHOR = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"|\{#([\w-]+)\}")
NAMED_TEST = re.compile(r"`((?:\w+/)+test_\w+\.py)(?:::(test_\w+))?`")
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//|/", re.IGNORECASE)


def links(text):
    """Return the targets of all links outside code."""
    prose = INLINE_CODE.sub("", FENCE.sub("", text))
    return LINK.findall(prose) + REFERENCE.findall(prose)


def anchors(text):
    """Return the anchors of a document; a heading that occurs again gets a number."""
    prose = FENCE.sub("", text)
    found = {first or second for first, second in MARKED_ANCHOR.findall(prose)}
    seen = {}
    for heading in HEADING.findall(prose):
        plain = re.sub(r"\{#[\w-]+\}|[`*]|\]\([^)]*\)|!?\[", "", heading).strip()
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        # The site generator joins runs of hyphens where the repository's web view keeps them; both count.
        for form, mark in ((slug, "-"), (re.sub(r"-+", "-", slug), "_")):
            count = seen[form, mark] = seen.get((form, mark), -1) + 1
            found.add(f"{form}{mark}{count}" if count else form)
    return found


def link_problems(path, documents, *, existing):
    """Return a line about each link of a document that leads nowhere."""
    found = []
    for target in links(documents[path]):
        if ELSEWHERE.match(target):
            continue
        name, _, anchor = unquote(target).partition("#")
        goal = posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) if name else path
        if goal not in existing:
            found.append(f"{path}: {target}: there is no {goal}")
        elif anchor and goal in documents and anchor not in anchors(documents[goal]):
            found.append(f"{path}: {target}: {goal} has no heading #{anchor}")
    return found


def with_folders(paths):
    """Return the paths and every folder above one of them."""
    folders = {"/".join(path.split("/")[:depth]) for path in paths for depth in range(1, path.count("/") + 1)}
    return {*paths, *folders, "."}


def test_every_relative_link_leads_somewhere():
    documents = sources(".md")
    existing = with_folders(listed_paths())

    assert "docs/spec.md" in documents
    assert [line for path in documents for line in link_problems(path, documents, existing=existing)] == []


def test_every_test_that_the_list_of_attacks_names_exists():
    documents = sources(".md")
    named = NAMED_TEST.findall(documents["docs/contributing/security-tests.md"] + documents["docs/security-privacy.md"])
    tests = sources(".py", under="tests/")
    texts = [(f"{path}::{name}", tests.get(f"tests/{path}"), f"def {name}(" if name else "") for path, name in named]
    missing = [shown for shown, text, definition in texts if text is None or definition not in text]

    assert len(named) > 100
    assert missing == []


@pytest.mark.parametrize(
    ("link", "problem"),
    [
        ("[x](gone.md)", "docs/a.md: gone.md: there is no docs/gone.md"),
        ("[x](../gone/)", "docs/a.md: ../gone/: there is no gone"),
        ("[x](b.md#gone)", "docs/a.md: b.md#gone: docs/b.md has no heading #gone"),
        ("[x](#gone)", "docs/a.md: #gone: docs/a.md has no heading #gone"),
        ("![picture](gone.svg)", "docs/a.md: gone.svg: there is no docs/gone.svg"),
        ("[x]\n\n[x]: gone.md\n", "docs/a.md: gone.md: there is no docs/gone.md"),
    ],
)
def test_a_link_that_leads_nowhere_is_found(link, problem):
    documents = {"docs/a.md": link, "docs/b.md": "# Title\n"}

    assert link_problems("docs/a.md", documents, existing=with_folders(documents)) == [problem]


def test_good_links_and_links_in_code_pass():
    text = (
        "# Run it\n## The `serve` command: start\n## Run it\n"
        "[a](b.md#title) [b](#the-serve-command-start) [c](#run-it-1) [d](..) [e](https://example.org/x.md) [f](b.md)\n"
        "`[x](gone.md)`\n```\n[x](gone.md)\n```\n"
    )
    documents = {"docs/a.md": text, "docs/b.md": "# Title\n"}

    assert link_problems("docs/a.md", documents, existing=with_folders(documents)) == []


# Pages say what is. The specification and the contract are given, decisions and the changelog are of their day.
NOT_TRUE_YET = re.compile(r"\b(?:planned|not built yet|still to come|Today)\b")
OF_THEIR_DAY = ("docs/spec.md", "docs/contract.md", "docs/decisions/", "CHANGELOG.md")


def promises(documents):
    """Return a line for each sentence about something that does not exist yet."""
    lines = [
        f"{path}:{number}: {line.strip()}"
        for path, text in documents.items()
        if not path.startswith(OF_THEIR_DAY)
        for number, line in enumerate(FENCE.sub("", text).splitlines(), 1)
        if NOT_TRUE_YET.search(INLINE_CODE.sub("", line))
    ]
    return sorted(lines)


def test_no_page_reports_what_is_not_there():
    assert promises({"docs/x.md": "A\n\nThis is planned.\n"}) == ["docs/x.md:3: This is planned."]
    assert promises(sources(".md")) == []


def test_the_architecture_names_every_folder_of_the_rooms():
    page = sources(".md")["docs/contributing/architecture.md"]
    folders = {
        parts[3]
        for path in sources(".py", under="src/agentgate/")
        if len(parts := path.split("/")) > 4 and parts[2] in CONCEPT_ROOMS
    }

    assert len(folders) > 15
    assert sorted(folder for folder in folders if folder not in page) == []


def test_links_of_the_consoles_lead_to_a_heading():
    text = (Path(__file__).parents[2] / "console/src/lib/docs.ts").read_text(encoding="utf-8")
    targets = set(re.findall(r'(?:: |\| )"([a-z-]+(?:#[a-z-]+)?)"', text))

    assert len(targets) > 20
    for target in targets:
        name, _, anchor = target.partition("#")
        document = (Path(__file__).parents[2] / "docs" / f"{name}.md").read_text(encoding="utf-8")
        assert not anchor or anchor in anchors(document), target
