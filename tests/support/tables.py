"""All tables of the running service: copied, compared, and put back as they were."""

from typing import Any

from tests.support.service import RunningService

Rows = dict[str, list[tuple[Any, ...]]]

# What timed work writes by itself, whatever a test does.
OWN_TIME = frozenset({"job_lease", "job_result", "job_run", "schema_migration"})
# Table and column of each time of use, the only change that a rejected request may leave behind.
USE_COLUMNS = {"user_session": "last_used_ms", "operator_session": "last_used_ms", "api_token": "last_used_ms"}


def table_names(service: RunningService) -> list[str]:
    """Return the names of all tables, each behind the ones that it refers to."""
    database = service.application.stores.databases["config"]
    if database.dialect == "sqlite":
        sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY rowid"
    else:
        sql = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename"
    names = [name for (name,) in service.run(database.all(sql))]
    return [name for name in names if name not in OWN_TIME and "migration" not in name]


def dump(service: RunningService) -> Rows:
    """Copy all tables, once everything in the background is done."""
    names = table_names(service)
    database = service.application.stores.databases["config"]

    async def read() -> Rows:
        await service.application.background.finish()
        return {name: await database.all(f"SELECT * FROM {name}") for name in names}

    # In one go: each call from this thread waits for its turn with the service's loop.
    return service.run(read())


def contents(service: RunningService) -> Rows:
    """Copy all tables without the times of use, in a fixed order: for comparing."""
    database = service.application.stores.databases["config"]
    found = {}
    for name, rows in dump(service).items():
        skipped = USE_COLUMNS.get(name)
        if skipped is not None:
            rows = service.run(database.all(f"SELECT {_other_columns(service, name, skipped)} FROM {name}"))  # noqa: PLW2901
        found[name] = sorted(rows, key=repr)
    return found


def restore(service: RunningService, saved: Rows) -> None:
    """Put all tables back as they were. Only the embedded store allows it. The numbers of entries are not reset."""
    service.run(service.application.background.finish())

    async def work(transaction: Any) -> None:
        for name in reversed(saved):
            await transaction.run(f"DELETE FROM {name}")
        for name, rows in saved.items():
            if rows:
                places = ", ".join(f"${number}" for number in range(1, len(rows[0]) + 1))
                await transaction.run_many(f"INSERT INTO {name} VALUES ({places})", rows)

    service.run(service.application.stores.databases["config"].transaction(work))


def forget_counts(service: RunningService) -> None:
    """Restart every rate window. Only the store in memory discards its counts when it is closed, and continues to
    work."""
    service.run(service.application.stores.shared_cache.close())


def _other_columns(service: RunningService, table: str, skipped: str) -> str:
    database = service.application.stores.databases["config"]
    if database.dialect == "sqlite":
        rows = service.run(database.all(f"SELECT name FROM pragma_table_info('{table}') ORDER BY cid"))
    else:
        rows = service.run(
            database.all(
                "SELECT column_name FROM information_schema.columns WHERE table_name = $1 ORDER BY ordinal_position",
                table,
            )
        )
    return ", ".join(name for (name,) in rows if name != skipped)
