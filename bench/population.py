"""Outcomes of simulated traffic: `python -m bench.population --page-views 20000 --way process`.

Prints allowed, blocked and challenged requests of each kind of traffic; for people, challenged page views and broken
ones: not reached after the challenge, which people pass; page loads with one changed header that were challenged; and
how many suggestions the owner of a new site accepts before all wanted programs pass. `--out` writes it as Markdown.
"""

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.population_proxies import UNORDERED, run_through_proxy
from tests.population.changes import ChangeOutcomes, changed_page_loads
from tests.population.gate import run_in_process
from tests.population.outcomes import Outcomes
from tests.population.suggested import run_programs
from tests.population.traffic import traffic
from tests.proxies.running import STARTERS

SEED = 31


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page-views", type=int, default=2_000)
    parser.add_argument("--changed", type=int, default=500, help="people whose page loads are changed in one way")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--way", choices=("process", *STARTERS), default="process", help="in the process, or a proxy")
    parser.add_argument("--whole-site", action="store_true", help="with whole-site protection")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    outcomes, changes, started_s = Outcomes(), ChangeOutcomes(), time.monotonic()
    site = {"wholeSite": True} if options.whole_site else {}
    run = _runner(options.way)
    run(traffic(options.seed, options.page_views), outcomes.tell, site=site)
    if not options.whole_site:
        run(changed_page_loads(options.seed, options.changed), changes.tell)
    found = run_programs(whole_site=options.whole_site)
    tables = f"{outcomes.table()}\n\n{changes.table()}\n\n{found.line}\n"
    print(tables)
    print(f"{options.way}, seed {options.seed}, {time.monotonic() - started_s:.0f} s")
    for (kind, name), (count, first) in outcomes.wrong.items():
        print(f"  wrong: {kind} / {name}: {count} (first {first})", file=sys.stderr)
    below = changes.below(keeps_order=options.way not in UNORDERED)
    for name in below:
        print(f"  wrong: page loads, {name}", file=sys.stderr)
    if options.out is not None:
        options.out.write_text(tables)
    return 0 if outcomes.is_good() and not below else 1


def _runner(way: str) -> Callable[..., None]:
    if way == "process":
        return run_in_process
    return partial(run_through_proxy, way)


if __name__ == "__main__":
    sys.exit(main())
