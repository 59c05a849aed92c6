"""The list of security tests names every threat, and no test that does not exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "security-tests.md").read_text(encoding="utf-8")
FAMILIES = (("C", 15), ("N", 12), ("D", 11), ("V", 10))
THREATS = [f"{family}{number}" for family, last in FAMILIES for number in range(1, last + 1)]
NAME = re.compile(r"`(?:((?:\w+/)*\w+\.py)|…)(?:::(test_\w+))?`")


def test_every_threat_has_its_line() -> None:
    assert re.findall(r"^\| ([CNDV]\d+) ", TEXT, re.MULTILINE) == THREATS


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
