"""The bridge from databases of earlier builds, whose sets had one file for each change.

The last of these files left the tables that the files of today create, so such a database is up to date. A database
that lacks some of them is rejected: start the last build with those files once, then this one.
"""

from agentgate.lib.database import SqlSession

# The last file that each set had.
LAST_FILES = {
    "0061_model_versions.sql",
    "0009_growth.sql",
    "0004_counters.sql",
    "0005_visitor_runs.sqlite.sql",
    "0002_fewer_rows.postgres.sql",
}
# The files of today that replace all of them.
FOLDED = range(1, 3)

# Name and checksum of files, by number.
Files = dict[int, tuple[str, str]]


def folded(applied: Files, files: Files) -> Files:
    """Return the applied files, with today's files instead of those that were folded."""
    last = next((number for number, (name, _) in applied.items() if name in LAST_FILES), None)
    if last is None:
        return applied
    newer = {number: file for number, file in applied.items() if number > last}
    return {number: file for number, file in files.items() if number in FOLDED} | newer


async def rename(session: SqlSession, set_name: str, applied: Files) -> None:
    """Replace the lines of an earlier build by lines of the files of today, so that later numbers are free."""
    rows = await session.all("SELECT name FROM schema_migration WHERE set_name = $1", set_name)
    if LAST_FILES.isdisjoint(name for (name,) in rows):
        return
    await session.run("DELETE FROM schema_migration WHERE set_name = $1", set_name)
    await session.run_many(
        "INSERT INTO schema_migration (set_name, number, name, checksum, applied_ms) VALUES ($1, $2, $3, $4, 0)",
        [(set_name, number, *file) for number, file in applied.items()],
    )
