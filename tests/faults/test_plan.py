"""A seed gives the same plan and the same draws every time, and another seed gives others."""

from tests.faults.faults import FAULTS
from tests.faults.plan import make_plan
from tests.faults.run import pairs
from tests.faults.workloads import WORKLOADS

FEW = ("kill worker", "disk full"), ("checks", "spends")


def test_a_seed_reproduces_the_plan_and_what_each_part_draws() -> None:
    one, again, other = make_plan(7, *FEW), make_plan(7, *FEW), make_plan(8, *FEW)

    assert one == again != other
    assert str(one) == "FAULT_SEED=7 kill worker + disk full x checks, spends"
    draws = [plan.draw("spends", 1).random() for plan in (one, again, other)]
    assert draws[0] == draws[1] != draws[2]
    assert one.draw("spends", 1).random() != one.draw("spends", 2).random()


def test_the_product_has_every_workload_under_every_fault() -> None:
    every = list(pairs())

    assert {(workload, fault) for workload, fault, _ in every} == {
        (workload, fault) for workload in WORKLOADS for fault in FAULTS
    }
    assert len(every) == len(set(every))
