"""`agentgate probes`: make an installation's own pool of probes with the browsers on this machine, and show pools."""

import secrets
from functools import partial
from pathlib import Path
from typing import Annotated

import click

from agentgate.browser_check.probes.pool import (
    FILE_SUFFIX,
    FOLDER,
    SEED_BYTES,
    Pool,
    Pools,
    count_families,
    read_pool,
    write_pool,
)
from agentgate.lib.clock import SystemClock, to_rfc3339
from agentgate.lib.settings.schema import Settings
from agentgate_tools.commands.command import CommandAnswer, CommandRefused, PrintedTable, command
from agentgate_tools.commands.parameters import Option
from agentgate_tools.probe_making import make as making
from agentgate_tools.probe_making.browsers import Browser, browser_at, find_browsers

PROGRAMS = 5_000
LEAST_KEPT = 100

probes = click.Group(
    help="Generate a private probe pool with this machine's browsers, and show the active pools.",
    epilog="Example: agentgate probes make",
)


def probes_folder(settings: Settings) -> Path:
    """Return the folder of this installation's own pools."""
    return settings.probes_dir or settings.data_dir / FOLDER


@command(probes, "make", "agentgate probes make --programs 2000 --browser /opt/firefox/firefox")
def make(
    settings: Settings,
    *,
    programs: Annotated[int, Option(min=50, max=50_000, help="Number of programs to try.")] = PROGRAMS,
    browser: Annotated[list[str] | None, Option(help="Path of a further Chromium or Firefox; repeatable.")] = None,
    add: Annotated[
        Path | None,
        Option(help="Pool from another machine: run its programs in this machine's browsers and merge the results."),
    ] = None,
    apart: Annotated[
        bool, Option("--apart", help="Also keep programs that distinguish only the kinds of engines.")
    ] = False,
    out: Annotated[Path | None, Option(help="Output file. Default: a new file in the folder of probe pools.")] = None,
) -> CommandAnswer:
    """Generate programs, run them in every browser on this machine, and keep those with equal results.

    A running service loads the pool within a minute; the previous pool retires a day later. Uses only loopback.
    """
    today = to_rfc3339(SystemClock().now_ms())[:10]
    found = _browsers(browser or [])
    before = read_pool(add) if add is not None else None
    seed = before.seed if before else secrets.token_bytes(SEED_BYTES)
    numbers = list(before.programs) if before else list(range(programs))
    made = making.programs_of(seed, numbers)
    # Progress goes to standard error: the run takes minutes, and standard output is for the result.
    runs = making.run_all(found, making.ZOOMS, made, partial(click.echo, err=True))
    if not runs:
        raise CommandRefused("no browser returned results; nothing was written")
    pool = making.join(before, runs, numbers) if before else making.choose(seed, made, runs, made=today, apart=apart)
    if len(pool.programs) < LEAST_KEPT and len(pool.programs) < len(numbers) // 4:
        raise CommandRefused(f"the browsers agree on {len(pool.programs)} of {len(numbers)} programs; nothing written")
    target = out or probes_folder(settings) / f"{today}-{pool.key[:6]}{FILE_SUFFIX}"
    target.parent.mkdir(parents=True, exist_ok=True)
    write_pool(target, pool)
    kept, tried = count_families(pool.programs), count_families(numbers)
    rows = [(name, str(kept[name]), str(tried[name])) for name in tried]
    return CommandAnswer(
        {"file": str(target), "kept": kept, "tried": tried},
        [
            PrintedTable("Kept", ("Family", "Kept", "Of"), rows),
            f"Written: {target} ({target.stat().st_size:,} bytes)",
        ],
    )


@command(probes, "show", "agentgate probes show --json")
def show(settings: Settings) -> CommandAnswer:
    """Print the active pools of a service with these settings."""
    live = Pools(probes_folder(settings)).live(SystemClock().now_ms())
    people: list[str | PrintedTable] = []
    for pool in live:
        title = f"Pool {pool.key} of {pool.made}" + (", which comes with the service" if pool.shipped else "")
        seen = "; ".join(
            f"{engine} {', '.join(map(str, versions))}" for engine, versions in pool.seen.items() if versions
        )
        people.append(
            PrintedTable(title, ("Family", "Programs"), [(name, str(n)) for name, n in _families(pool).items()])
        )
        people.append(f"Versions: {seen or 'none'}")
    return CommandAnswer([_described(pool) for pool in live], people)


def _described(pool: Pool) -> dict[str, object]:
    return {
        "pool": pool.key,
        "made": pool.made,
        "shipped": pool.shipped,
        "seen": {engine: list(versions) for engine, versions in pool.seen.items()},
        "programs": _families(pool),
    }


def _families(pool: Pool) -> dict[str, int]:
    return count_families(pool.programs)


def _browsers(further: list[str]) -> list[Browser]:
    found = find_browsers()
    for path in further:
        one = browser_at(path)
        if one is None:
            raise CommandRefused(f"{path} is not an executable of Chromium or Firefox; give the path of one")
        found.append(one)
    if not found:
        raise CommandRefused("there is no browser on this machine; install chromium, firefox or WebKitGTK")
    return found
