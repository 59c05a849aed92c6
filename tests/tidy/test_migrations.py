"""A landed migration is never edited: databases that ran it would differ from databases that run it later."""

import hashlib

from tests.tidy.sources import ROOT, listed_paths

FOLDER = "src/agentgate/storage/migrations/"
LOCK = "tests/tidy/migrations.lock"


def read_lock(text):
    """Return path -> hash of the lock file's lines."""
    lines = [line.split() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    assert len({path for _, path in lines}) == len(lines), f"{LOCK} names a file twice"
    return {path: checksum for checksum, path in lines}


def migration_problems(files, lock):
    """Return a line about each file that was changed, removed, or not yet locked."""
    found = []
    for path, content in files.items():
        if path not in lock:
            found.append(f"{path} is new; once it is final run: sha256sum {path} >> {LOCK}")
        elif hashlib.sha256(content).hexdigest() != lock[path]:
            found.append(f"{path} has landed and was changed; undo that and add a migration with the next number")
    return found + [f"{path} has landed and was removed; bring it back" for path in lock if path not in files]


def names_by_number(paths):
    """Return the names of each folder's migrations, without the database's, by number."""
    found = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        number, _, rest = name.partition("_")
        found.setdefault((folder, number), set()).add(rest.split(".")[0])
    return found


def test_a_number_belongs_to_one_migration():
    chosen = [path for path in listed_paths() if path.startswith(FOLDER) and path.endswith(".sql")]

    # The service would not start.
    assert {key: names for key, names in names_by_number(chosen).items() if len(names) > 1} == {}
    assert names_by_number(["m/0001_a.sqlite.sql", "m/0001_a.postgres.sql", "m/0001_b.sql"]) == {
        ("m", "0001"): {"a", "b"}
    }


def test_every_landed_migration_is_unchanged():
    chosen = [path for path in listed_paths() if path.startswith(FOLDER) and path.endswith(".sql")]
    files = {path: (ROOT / path).read_bytes() for path in chosen}

    assert migration_problems(files, read_lock((ROOT / LOCK).read_text(encoding="utf-8"))) == []


def test_a_changed_a_new_and_a_removed_migration_are_found():
    landed = {"m/0001_a.sql": b"a", "m/0002_b.sql": b"b"}
    lock = {path: hashlib.sha256(content).hexdigest() for path, content in landed.items()}

    assert migration_problems(landed, lock) == []
    assert migration_problems({"m/0001_a.sql": b"changed", "m/0003_c.sql": b"c"}, lock) == [
        "m/0001_a.sql has landed and was changed; undo that and add a migration with the next number",
        f"m/0003_c.sql is new; once it is final run: sha256sum m/0003_c.sql >> {LOCK}",
        "m/0002_b.sql has landed and was removed; bring it back",
    ]


def test_the_command_that_adds_a_migration_writes_a_line_that_is_read():
    assert read_lock("# a comment\nabc  m/0001_a.sql\n") == {"m/0001_a.sql": "abc"}
