"""The table of seeded defects, read from the TOML files in this folder.

A mutant names a file, a text that occurs exactly once in it, the text that replaces it, and the test that must fail
then.
"""

import tomllib
from pathlib import Path

from msgspec import Struct, convert

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# The only folder that a temporary copy does not share with this checkout; defects are seeded only there.
COPIED = "src"


class Mutant(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One defect."""

    # Below the repository's root.
    file: str
    old: str
    new: str
    # As pytest names it, below `tests/`; several are parted by blanks.
    test: str
    # A description of the defect, if the texts do not show it.
    note: str = ""
    # The name of the TOML file that contains it, without the extension.
    area: str = ""

    @property
    def tests(self) -> list[str]:
        """Return the tests that may catch it, as pytest takes them."""
        return [f"tests/{name}" for name in self.test.split()]

    def problem(self, root: Path = ROOT) -> str | None:
        """Return why it cannot be seeded, or None."""
        path = root / self.file
        if not path.is_file():
            return f"{self.area}: there is no {self.file}"
        if not self.file.startswith(COPIED + "/"):
            return f"{self.area}: {self.file} is not below {COPIED}, of which a copy is changed"
        count = path.read_text(encoding="utf-8").count(self.old)
        if count != 1:
            return f"{self.area}: {self.old!r} occurs {count} times in {self.file}"
        return None if self.old != self.new else f"{self.area}: {self.old!r} is not changed"

    def seed(self, root: Path) -> str:
        """Put the defect into a copy; return the file's text as it was."""
        path = root / self.file
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(self.old, self.new), encoding="utf-8")
        return text


def read_mutants() -> list[Mutant]:
    """Return all mutants, by area."""
    found = []
    for path in sorted(HERE.glob("*.toml")):
        rows = tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]
        found += [convert({**row, "area": path.stem}, Mutant) for row in rows]
    return found
