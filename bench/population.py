"""What becomes of the population: `python -m bench.population --page-views 20000 --way process`.

Prints, for each kind of traffic, how many requests were let through and refused or challenged, and for people how many
page views were whole. `--out` writes the table as Markdown; docs/traffic-outcomes.md keeps it.
"""

import argparse
import sys
import time
from pathlib import Path

from tests.population.gate import run_in_process
from tests.population.outcomes import Outcomes
from tests.population.traffic import traffic

SEED = 31


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page-views", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--way", choices=("process", "nginx", "caddy", "haproxy"), default="process")
    parser.add_argument("--whole-site", action="store_true", help="with whole-site protection: nobody has a clearance")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    outcomes, started_s = Outcomes(), time.monotonic()
    site = {"wholeSite": True} if options.whole_site else {}
    stream = traffic(options.seed, options.page_views)
    if options.way == "process":
        run_in_process(stream, outcomes.tell, site=site)
    else:
        from bench.population_proxies import run_through_proxy  # noqa: PLC0415 - needs the proxies' fixtures

        run_through_proxy(options.way, stream, outcomes.tell, site=site)
    print(outcomes.table())
    print(f"\n{options.way}, seed {options.seed}, {time.monotonic() - started_s:.0f} s")
    for (kind, name), (count, first) in outcomes.wrong.items():
        print(f"  wrong: {kind} / {name}: {count} (first {first})", file=sys.stderr)
    if options.out is not None:
        options.out.write_text(outcomes.table() + "\n")
    return 0 if outcomes.is_good() else 1


if __name__ == "__main__":
    sys.exit(main())
