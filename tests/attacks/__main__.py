"""`python -m tests.attacks [--proxy NAME]`: run all attacks and print what they get; exit 1 if a bar is exceeded."""

import argparse
import sys
from functools import partial

import pytest

from tests.attacks.accounts import attack_accounts
from tests.attacks.gains import Gain, table
from tests.attacks.nodes import attack_nodes
from tests.attacks.pages import attack_networks, attack_pages
from tests.attacks.place import attacked_site
from tests.attacks.stalls import attack_stalls
from tests.proxies.running import STARTERS

FEW_REQUESTS, RESTARTS, REDEEMED = 20, 10, 100


def main() -> int:
    """Run the attacks behind each proxy that this machine has."""
    parser = argparse.ArgumentParser(prog="tests.attacks", description=__doc__)
    parser.add_argument("--proxy", choices=list(STARTERS), action="append", help="Default: all that are installed")
    parser.add_argument("--pages-only", action="store_true", help="Only the attacks behind proxies")
    chosen = parser.parse_args()
    exceeded = 0
    for proxy in chosen.proxy or STARTERS:
        try:
            with attacked_site(proxy) as site:
                exceeded += _show(f"behind {proxy}", attack_pages(site, attack_networks))
        except pytest.skip.Exception as absent:
            sys.stdout.write(f"-- behind {proxy}: not run, {absent}\n")
    if chosen.pages_only:
        return int(exceeded > 0)
    for title, attack in (
        ("without a proxy", partial(attack_stalls, FEW_REQUESTS)),
        ("accounts", attack_accounts),
        ("nodes", partial(attack_nodes, RESTARTS, REDEEMED)),
    ):
        exceeded += _show(title, attack())
    return int(exceeded > 0)


def _show(title: str, gains: list[Gain]) -> int:
    """Print the gains; return how many exceed their bar."""
    sys.stdout.write(table(title, gains) + "\n")
    sys.stdout.flush()
    return sum(gain.is_exceeded for gain in gains)


if __name__ == "__main__":
    sys.exit(main())
