"""The memory of a worker after checks of very many visitors: `python -m bench.memory [--visitors N]`.

Each visitor asks once. A gate that kept something of each of them without a bound would grow with a flood; what it
keeps, it keeps of so many visitors at most.
"""

import argparse
from pathlib import Path

from bench.gateway import bench
from bench.populations import POPULATIONS

VISITORS = 200_000
# Without a clearance, and with one each.
NAMES = ("first", "chromes")


def resident_mb(process_id: int) -> float:
    """Return the memory that a process has now."""
    pages = int(Path(f"/proc/{process_id}/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def measure(name: str, visitors: int) -> str:
    """Send the checks of a population to a separate service; return a line of the table."""
    with bench() as running:
        process_id = running.process.process_id
        before = resident_mb(process_id)
        done = running.ask(*running.prepare(POPULATIONS[name].checks(running.writer, visitors)))
        running.compare_events()
        after = resident_mb(process_id)
    return f"{name:<10}{done.answered:>10} visitors{before:9.0f} MB before{after:9.0f} MB after"


def main() -> None:
    """Measure both populations."""
    parser = argparse.ArgumentParser(description="Measure the memory of a worker after checks of many visitors.")
    parser.add_argument("--visitors", type=int, default=VISITORS)
    visitors = parser.parse_args().visitors
    for name in NAMES:
        print(measure(name, visitors), flush=True)


if __name__ == "__main__":
    main()
