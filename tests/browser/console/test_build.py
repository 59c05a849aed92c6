"""The built files of the consoles: the same as their sources give, small enough, complete in every language."""

import gzip
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
STATIC = ROOT / "src" / "agentgate" / "pages" / "static"
SOURCES = ROOT / "console" / "src"
APPS = ("console", "operator")
FIRST_LOAD_BYTES = 60 * 1024
WORDS = (
    SOURCES / "words",
    SOURCES / "words" / "manage",
    ROOT / "src" / "agentgate" / "pages" / "account" / "words",
)
PLACE = re.compile(r"\{(\w+)\}")


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.*")}


def test_the_built_files_are_those_that_the_sources_give(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None or not (ROOT / "node_modules" / "preact").is_dir():
        if os.environ.get("REQUIRE_NODE") == "1":
            pytest.fail("node_modules/preact is missing; run: npm ci")
        pytest.skip("node_modules/preact is missing; run: npm ci")
    command = [node, str(ROOT / "console" / "build.mjs"), str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)

    assert (run.returncode, run.stderr) == (0, "")
    for app in APPS:
        built, again = files_of(STATIC / app), files_of(tmp_path / app)
        assert sorted(built) == sorted(again), "run: npm run build"
        assert [name for name in built if built[name] != again[name]] == [], "run: npm run build"


@pytest.mark.parametrize("app", APPS)
def test_a_first_load_is_small(app: str) -> None:
    manifest = json.loads((STATIC / app / "manifest.json").read_text("utf-8"))

    def size(name: str) -> int:
        return len(gzip.compress((STATIC / app / "assets" / name).read_bytes(), 9))

    # A page loads the words of one language only.
    always = sum(map(size, [*manifest["scripts"], manifest["style"]]))
    assert always + max(map(size, manifest["words"].values())) < FIRST_LOAD_BYTES


@pytest.mark.parametrize("folder", WORDS, ids=["console", "management", "account pages"])
def test_both_languages_have_the_same_keys_with_the_same_places(folder: Path) -> None:
    english, german = (json.loads((folder / f"{language}.json").read_text("utf-8")) for language in ("en", "de"))

    assert list(english) == list(german)
    assert [key for key in english if not english[key].strip() or not german[key].strip()] == []
    assert [key for key in english if sorted(PLACE.findall(english[key])) != sorted(PLACE.findall(german[key]))] == []


def test_every_word_that_a_page_asks_for_exists() -> None:
    packs = (SOURCES / "words" / "en.json", SOURCES / "words" / "manage" / "en.json")
    words = {key: text for path in packs for key, text in json.loads(path.read_text("utf-8")).items()}
    asked = {
        key
        for path in (*SOURCES.rglob("*.tsx"), *SOURCES.rglob("*.ts"))
        for key in re.findall(r'\bt\(\s*"([\w.]+)"', path.read_text("utf-8"))
    }

    assert len(asked) > 100
    assert sorted(asked - set(words)) == []


@pytest.mark.parametrize("app", ["customer", "operator"])
def test_every_page_of_the_navigation_has_its_own_letter(app: str) -> None:
    main, shared = (SOURCES / name for name in (f"{app}/main.tsx", "pages/of-site.tsx"))
    listed = re.findall(r'\bgo: "(\w)"', main.read_text("utf-8"))
    of_site = [
        letter
        for path in (main, shared)
        for letter in re.findall(r'sitePage\((?:\s*"\w+",){3}\s*"(\w)",', path.read_text("utf-8"))
    ]

    letters = listed + of_site
    assert len(listed) > 3
    assert len(of_site) > 9
    assert sorted(letters) == sorted(set(letters))


def test_no_page_writes_markup_or_styles_as_text() -> None:
    forbidden = re.compile(r"dangerouslySet|innerHTML|outerHTML|insertAdjacent|\bstyle=|\beval\(|new Function")
    found = [path.name for path in SOURCES.rglob("*.ts*") if forbidden.search(path.read_text("utf-8"))]

    assert found == []
