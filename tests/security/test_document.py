"""The list of security tests names every threat, and no test that does not exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "contributing" / "security-tests.md").read_text(encoding="utf-8")
FAMILIES = (("C", 15), ("N", 12), ("D", 11), ("V", 10))
THREATS = [f"{family}{number}" for family, last in FAMILIES for number in range(1, last + 1)]
# Of these, one line may be about several, and several about one.
SHARED = (("B", 13), ("A", 12), ("G", 14), ("F", 32))
NAME = re.compile(r"`(?:((?:\w+/)*\w+\.py)|…)(?:::(test_\w+))?`")


def test_every_threat_has_its_line() -> None:
    assert re.findall(r"^\| ([CNDV]\d+) ", TEXT, re.MULTILINE) == THREATS


def test_every_threat_and_fault_of_the_other_parts_is_named_by_a_line() -> None:
    heads = "\n".join(re.findall(r"^\| ([^|]+) \|", TEXT, re.MULTILINE))
    named = set(re.findall(r"\b([BAGF]\d+)\b", heads))

    assert named == {f"{family}{number}" for family, last in SHARED for number in range(1, last + 1)}


def test_every_test_that_is_named_exists() -> None:
    missing, source = [], ""
    for file, test in NAME.findall(TEXT):
        # An ellipsis stands for the file that was named before it.
        if file:
            path = ROOT / "tests" / file
            source = path.read_text(encoding="utf-8") if path.exists() else ""
        if not source or (test and f"def {test}(" not in source):
            missing.append((file, test))

    assert missing == []
