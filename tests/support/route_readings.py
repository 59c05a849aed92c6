"""Holds what parsers read in odd spellings of random routes against what the route table returns."""

from collections import Counter
from random import Random

from agentgate.sites.records import SiteRoute
from agentgate.sites.route_table import RouteTable
from agentgate.sites.targets import is_plain
from tests.support.odd_spellings import odd_spelling, random_route
from tests.support.target_parsers import MODELS, REAL, node_parser

BATCH = 500
OTHERS = [
    SiteRoute(method="*", action="all", path_prefix="/"),
    SiteRoute(method="*", action="users", path="/admin/users/x"),
    SiteRoute(method="POST", action="orders", path_prefix="/orders"),
]


def read_odd_spellings(*, spellings: int, seed: int) -> Counter[str]:
    """Try so many spellings; return how many odd ones each parser read as the route."""
    read: Counter[str] = Counter()
    with node_parser() as node:
        for number in range(0, spellings, BATCH):
            random = Random(f"{seed} {number}")
            pairs = [(odd_spelling(random, route), route) for route in (random_route(random) for _ in range(BATCH))]
            by_node = [False] * BATCH if node is None else node(pairs)
            for (target, route), is_read in zip(pairs, by_node, strict=True):
                readers = [parser.__name__ for parser in (*REAL, *MODELS) if parser(target, route)]
                readers += ["node"] * is_read
                read.update([] if is_plain(target.partition(b"?")[0]) else readers)
                kind = random.choice(("path", "path_prefix"))
                table = RouteTable([*OTHERS, SiteRoute(method="GET", action="own", **{kind: route})])
                found = {matched.action for matched in table.matches(frozenset({"GET"}), target, b"h")}
                assert "own" in found or not readers, (target, route, readers, f"seed {seed}")
    return read
