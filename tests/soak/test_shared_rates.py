"""One visitor at a steady rate and in bursts, over two to four workers without Redis: the limit holds within 5%."""

from pathlib import Path

import pytest

from tests.support.one_visitor import CONNECTIONS, LIMITED, OneVisitor, passed
from tests.support.processes import serving

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]

LEAST, MOST = 1_140, 1_260
UNEVEN = [1_500, 800, 400, 200, 50, 25, 15, 10]


@pytest.mark.parametrize("workers", [2, 3, 4])
def test_one_visitor_is_allowed_its_limit_whoever_serves(tmp_path: Path, workers: int) -> None:
    with serving(tmp_path, AGENTGATE_WORKERS=str(workers), AGENTGATE_DRAIN_SECONDS="0") as process:
        steady = {
            connections: OneVisitor(process, f"shop_steady_{connections}").steady(
                per_second=120, seconds=60, connections=connections
            )
            for connections in (1, CONNECTIONS)
        }
        bursts = {
            name: OneVisitor(process, f"shop_{name}").burst(shares)
            for name, shares in {"spread": [3_000 // CONNECTIONS] * CONNECTIONS, "uneven": UNEVEN}.items()
        }

    found = {name: passed(reasons) for name, reasons in (steady | bursts).items()}
    assert all(LEAST <= count <= MOST for count in found.values()), found
    assert all(reasons[LIMITED] for reasons in (steady | bursts).values())
