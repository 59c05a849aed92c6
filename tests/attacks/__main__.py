"""`python -m tests.attacks [--proxy NAME] [--seconds N]`: run all attacks and print what each attacker gets."""

import argparse
import sys
from functools import partial

import pytest

from tests.attacks.accounts import attack_accounts
from tests.attacks.gains import table
from tests.attacks.nodes import attack_nodes
from tests.attacks.pages import attack_pages
from tests.attacks.place import attacked_site
from tests.attacks.stalls import attack_stalls
from tests.proxies.running import STARTERS

FEW_REQUESTS, RESTARTS, REDEEMED = 20, 10, 100


def main() -> int:
    """Run the attacks behind each proxy that this machine has."""
    parser = argparse.ArgumentParser(prog="tests.attacks", description=__doc__)
    parser.add_argument("--proxy", choices=list(STARTERS), action="append", help="Default: all that are installed")
    parser.add_argument("--seconds", type=float, default=10.0, help="Duration of each attack; default: 10")
    chosen = parser.parse_args()
    for proxy in chosen.proxy or STARTERS:
        try:
            with attacked_site(proxy) as site:
                sys.stdout.write(table(f"behind {proxy}", attack_pages(site, chosen.seconds)) + "\n")
        except pytest.skip.Exception as absent:
            sys.stdout.write(f"-- behind {proxy}: not run, {absent}\n")
    for title, attack in (
        ("without a proxy", partial(attack_stalls, FEW_REQUESTS)),
        ("accounts", attack_accounts),
        ("nodes", partial(attack_nodes, RESTARTS, REDEEMED)),
    ):
        sys.stdout.write(table(title, attack()) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
