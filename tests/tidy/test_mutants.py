"""Every seeded defect can be seeded: its text occurs once in its file, and the test that must fail exists."""

import re

from tests.tidy.sources import ROOT
from tools.mutants.mutants import read_mutants

MUTANTS = read_mutants()


def test_every_defect_can_be_seeded():
    assert [problem for each in MUTANTS if (problem := each.problem())] == []


def test_every_test_that_must_fail_exists():
    missing = []
    for mutant in MUTANTS:
        for name in mutant.tests:
            file, _, test = name.partition("::")
            path = ROOT / file
            function = re.escape(test.partition("[")[0])
            if not path.is_file() or (test and not re.search(rf"def {function}\(", path.read_text(encoding="utf-8"))):
                missing.append(name)

    assert missing == []


def test_no_defect_is_listed_twice():
    listed = [(each.file, each.old, each.new) for each in MUTANTS]

    assert len(set(listed)) == len(listed)
