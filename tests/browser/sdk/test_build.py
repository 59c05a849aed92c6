"""The built files of the SDK: the same as their sources give, small enough, in every language complete."""

import gzip
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BUILT = ROOT / "src" / "agentgate" / "pages" / "static" / "sdk" / "v1"
BUILD = (ROOT / "sdk" / "build.mjs").read_text("utf-8")
PACKS = ROOT / "sdk" / "src" / "i18n"
MOST_BYTES = {
    "agentgate.js": 8_192,
    "evidence.js": 4_150,
    "worker.js": 2_560,
    "plain.js": 2_900,
    "check.js": 5_800,
    "drop-in.js": 10_600,
}
MOST_PACK_BYTES = 500
LEAST_PACKS = 24
RIGHT_TO_LEFT = {"ar", "fa", "he", "ur"}
# Words that are the same in English and in the language named.
SAME_WORDS: set[tuple[str, str]] = set()


def english() -> dict[str, str]:
    """Return the words that are in the sources themselves."""
    source = (ROOT / "sdk" / "src" / "ui" / "strings.ts").read_text("utf-8")
    block = source.partition("ENGLISH = {")[2].partition("};")[0]
    return dict(re.findall(r'^  (\w+): "(.*)",$', block, re.MULTILINE))


def packs() -> dict[str, dict[str, str]]:
    """Return the words of every other language."""
    return {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(PACKS.glob("*.json"))}


def test_the_built_files_are_those_that_the_sources_give(tmp_path):
    node = shutil.which("node")
    if node is None or not (ROOT / "node_modules" / "esbuild").is_dir():
        if os.environ.get("REQUIRE_NODE") == "1":
            pytest.fail("node_modules/esbuild is missing; run: npm ci")
        pytest.skip("node_modules/esbuild is missing; run: npm ci")
    command = [node, str(ROOT / "sdk" / "build.mjs"), str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)

    assert run.stderr == ""
    assert run.returncode == 0
    built = {path.relative_to(BUILT).as_posix(): path.read_bytes() for path in BUILT.rglob("*.*")}
    again = {path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in tmp_path.rglob("*.*")}
    assert sorted(built) == sorted(again)
    assert [name for name in built if built[name] != again[name]] == [], "run: npm run build"


@pytest.mark.parametrize("name", MOST_BYTES)
def test_a_script_is_small_enough(name):
    content = (BUILT / name).read_bytes()

    assert len(gzip.compress(content, 9, mtime=0)) <= MOST_BYTES[name]
    assert f'["{name}", "src/' in BUILD
    assert f", {MOST_BYTES[name]}]" in BUILD.partition(f'["{name}"')[2].partition("\n")[0]
    assert b"sourceMappingURL" not in content


def test_no_script_makes_code_of_text_or_elements_of_markup():
    scripts = {name: (BUILT / name).read_text("utf-8") for name in MOST_BYTES}
    forbidden = re.compile(
        r"\beval\b|new Function|innerHTML|document\.write|insertAdjacentHTML|localStorage|sessionStorage"
    )

    assert {name: forbidden.findall(text) for name, text in scripts.items() if forbidden.search(text)} == {}


def test_there_are_enough_languages_also_from_right_to_left():
    assert len(packs()) >= LEAST_PACKS
    assert set(packs()) >= RIGHT_TO_LEFT


def test_every_pack_is_known_to_the_script_and_the_other_way_round():
    source = (ROOT / "sdk" / "src" / "ui" / "strings.ts").read_text("utf-8")
    known = re.search(r"PACKS =\s+/\^\(([\w|-]+)\)\$/", source)

    assert known is not None
    assert sorted(known[1].split("|")) == sorted(packs())


@pytest.mark.parametrize("code", packs())
def test_a_pack_has_every_word_in_order_and_nothing_left_in_english(code):
    pack = packs()[code]

    assert list(pack) == list(english())
    assert all(text.strip() == text != "" for text in pack.values())
    same = {word for word, text in pack.items() if text == english()[word]}
    assert same == {word for language, word in SAME_WORDS if language == code}
    assert [text.count("{id}") for text in pack.values()] == [text.count("{id}") for text in english().values()]
    assert "".join(pack.values()).count("{") == 1


@pytest.mark.parametrize("code", packs())
def test_a_built_pack_is_small_and_has_the_words_alone(code):
    content = (BUILT / "i18n" / f"{code}.json").read_bytes()

    assert len(gzip.compress(content, 9, mtime=0)) <= MOST_PACK_BYTES
    assert json.loads(content) == list(packs()[code].values())
