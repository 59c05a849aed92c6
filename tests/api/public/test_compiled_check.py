"""The compiled check returns and records the same as the check in Python, and both have one state."""

import time
from pathlib import Path

import pytest

from agentgate.decision.scoring.models import ModelDirectory
from agentgate.events.decision_ids import _LAST_COUNT, DecisionIds
from agentgate.lib.limits import GATEWAY_REQUESTS_PER_MINUTE
from tests.api.public.cached_gateway import ADDRESSES, Proxy, Side, plain_request
from tests.api.public.compiled_pair import compare_traffic
from tests.support.compiled import compiled_check, fuzz, need_compiler
from tests.support.gateway import Gate
from tests.support.service import RunningService

LEAST_S, REQUESTS, FUZZ_S = 20.0, 4_000, 20.0


@pytest.mark.timeout(400)
def test_both_checks_give_the_same_responses_events_and_counters(service: RunningService) -> None:
    module, began_s, seed = compiled_check(), time.monotonic(), 61
    while time.monotonic() - began_s < LEAST_S:
        totals = compare_traffic(service, module, requests=REQUESTS, seed=seed)
        seed += 1

        # It is the compiled check that was compared.
        assert totals.left < totals.requests / 3
        assert totals.parts > totals.requests / 4
        assert {status[9:] for status in totals.statuses} >= {b"204", b"401", b"403"}


@pytest.mark.timeout(400)
def test_no_damaged_head_makes_the_sanitizers_report(tmp_path: Path) -> None:
    need_compiler()

    asked, answered = fuzz(tmp_path, FUZZ_S, 61)

    assert asked > 1_000
    assert answered > asked / 10


def compiled_side(service: RunningService) -> Side:
    """Return a gateway that checks with the compiled module, and has read the sites."""
    service.run(service.application.refresher.sites.await_refresh())
    side = Side(service.application, ModelDirectory())
    side.gate.take = compiled_check().CompiledCheck(side.gate, side.gate.take_plainly).take
    return side


def ask(service: RunningService, side: Side, data: bytes) -> bytes:
    """Return the response to a check as it arrived."""
    return service.run(side.ask(data))[0] or b""


@pytest.mark.timeout(300)
def test_a_site_is_decided_by_its_new_rules_at_once_and_no_other_site_again(service: RunningService) -> None:
    changed, other, side = Gate(service), Gate(service), compiled_side(service)
    requests = [plain_request(gate, "a=b", "/") for gate in (changed, other)]
    assert all(b" 204 " in ask(service, side, data) for data in requests * 3)
    before = dict(side.gate.misses)
    site = f"/v1/admin/sites/{changed.site_key}"
    rules = {"version": "1", "default_action": "block", "rules": []}
    for rule_set, status in ((rules, b" 403 "), ({**rules, "default_action": "allow"}, b" 204 ")) * 2:
        revision = service.operator.get(f"{site}/rules").json()["revision"]
        done = service.operator.put(f"{site}/rules", json={"ruleSet": rule_set, "revision": revision})
        assert done.status_code == 200, done.text
        service.run(service.application.refresher.sites.await_refresh())

        assert status in ask(service, side, requests[0])
        misses = dict(side.gate.misses)
        assert misses["decisions"] > before["decisions"]
        assert b" 204 " in ask(service, side, requests[1])
        assert misses == side.gate.misses
        before = misses


@pytest.mark.timeout(300)
def test_both_checks_count_in_one_place(service: RunningService, gate: Gate) -> None:
    side, data = compiled_side(service), plain_request(gate, "a=b", "/")
    reasons = []

    async def ask_in_turns() -> None:
        for number in range(GATEWAY_REQUESTS_PER_MINUTE + 2):
            answer = side.gate.take(data) if number % 2 else side.gate.take_plainly(data)
            assert isinstance(answer, tuple)
            reasons.append(b"x-service-reason: rate_limited" in b"".join(answer))

    service.run(ask_in_turns())

    assert reasons == [False] * GATEWAY_REQUESTS_PER_MINUTE + [True] * 2
    events = side.recorder._queue
    assert len({event.id for event in events}) == len(events) == side.recorder.sent == len(reasons)


@pytest.mark.timeout(300)
def test_ids_of_one_millisecond_are_those_that_python_makes(service: RunningService, gate: Gate) -> None:
    side, data = compiled_side(service), plain_request(gate, "a=b", "/")
    ask(service, side, data)
    ids = side.gate._event_log._ids
    # Room for one more.
    ids._last = ids._last | _LAST_COUNT ^ 1
    expected = DecisionIds(service.clock, ids.worker)
    expected._last = ids._last

    async def ask_again() -> list[int]:
        for _ in range(4):
            side.gate.take(data)
        return [event.id for event in side.recorder._queue[-4:]]

    made = service.run(ask_again())
    assert made == [expected.next() for _ in range(4)]
    assert made[1] - made[0] > _LAST_COUNT > made[3] - made[1]


@pytest.mark.timeout(300)
def test_an_object_of_another_class_is_not_read(service: RunningService, gate: Gate) -> None:
    side, data = compiled_side(service), plain_request(gate, "a=b", "/")
    assert b" 204 " in ask(service, side, data)
    pages = side.gate._snapshot.pages.young

    pages.update(dict.fromkeys(pages, object()))
    assert b" 503 " in ask(service, side, data)

    pages.clear()
    assert b" 204 " in ask(service, side, data)


@pytest.mark.timeout(300)
def test_a_second_clearance_is_read(service: RunningService, gate: Gate) -> None:
    side = compiled_side(service)
    proxy = Proxy(gate, side, 1)
    proxy.clear(service.clock.now_ms())
    _, _, checked, low = proxy.cookies[ADDRESSES[0]]

    answers = [ask(service, side, plain_request(gate, cookies)) for cookies in (low, low, f"{low}; {checked}")]

    assert [answer[9:12] for answer in answers] == [b"401", b"401", b"204"]
