"""Cached or not, as it arrived or parsed: a check gets the same response and record, whatever changed before it."""

from pathlib import Path

import pytest

from agentgate.decision.scoring.models import ModelDirectory
from agentgate.decision.threat_data.intel_file import FILE_NAME, write_set
from agentgate.lib.keyring import load_keys, rotate_key
from agentgate.lib.limits import GATEWAY_REQUESTS_PER_MINUTE
from agentgate.server.application import Application
from agentgate_tools.threat_lists.imports import import_folder
from tests.api.public.cached_gateway import ADDRESSES, Proxy, Side, change_something, models_of, plain_request
from tests.support.gateway import ORIGIN, VISITOR, Gate
from tests.support.service import RunningService

ROUNDS, REQUESTS = 14, 280


def test_a_cached_check_is_handled_as_one_that_nothing_is_cached_for(
    service: RunningService, gate: Gate, tmp_path_factory: pytest.TempPathFactory
) -> None:
    application, clock = service.application, service.clock
    # One of the addresses is not like the others.
    block_addresses(application, tmp_path_factory.mktemp("lists"), f"{ADDRESSES[0]}/32")
    models = ModelDirectory()
    views = [models.view, models_of().view, models_of("figures").view]
    known, strange = Side(application, models), Side(application, models)
    proxy = Proxy(gate, known, 1)
    answers = set()

    async def compare() -> None:
        for _ in range(REQUESTS):
            sent = proxy.request()
            found = await known.ask(sent.data)
            expected = await strange.ask(sent.data, cached=False)
            assert found == expected, sent.data
            answers.add(found[0])
            clock.advance(ms=proxy.chance.choice((1, 5, 300)))
            is_late = proxy.chance.random() < 0.03
            for side in (known, strange):
                side.gate.budget.is_refusing = is_late

    for _ in range(ROUNDS):
        # They expire after an hour, in half of the rounds.
        proxy.clear(clock.now_ms())
        change_something(service, gate, proxy.chance)
        models._view = proxy.chance.choice(views)
        service.run(compare())
        clock.advance(seconds=proxy.chance.choice((1, 3_700)))
        service.run(compare())

    assert known.cached > ROUNDS * REQUESTS // 8
    assert len(answers) > 8


def test_a_cached_decision_does_not_outlive_the_rate_limit(service: RunningService, gate: Gate) -> None:
    side = Side(service.application, models_of())
    answers = []

    async def ask_often() -> None:
        data = plain_request(gate, "a=b", "/")
        answers.extend([(await side.ask(data))[0] for _ in range(GATEWAY_REQUESTS_PER_MINUTE + 2)])

    service.run(ask_often())

    assert side.cached > GATEWAY_REQUESTS_PER_MINUTE - 5
    limited = [b"x-service-reason: rate_limited" in answer for answer in answers]
    assert limited == [False] * GATEWAY_REQUESTS_PER_MINUTE + [True] * 2


@pytest.mark.parametrize("mode", ["enforce", "monitor"])
def test_whatever_goes_wrong_enforce_mode_fails_closed_and_monitor_mode_allows(
    service: RunningService, gate: Gate, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    service.operator.patch(f"/v1/admin/sites/{gate.site_key}", json={"mode": mode})
    service.run(service.application.refresher.sites.await_refresh())
    side = Side(service.application, models_of())

    def break_down(*_: object) -> None:
        raise RuntimeError("nobody is shown this")

    monkeypatch.setattr(side.gate._pages, "read", break_down)
    answer = service.run(side.ask(plain_request(gate, "a=b", "/another")))[0] or b""
    assert answer.startswith(b"HTTP/1.1 204" if mode == "monitor" else b"HTTP/1.1 503")
    assert b"nobody is shown this" not in answer
    assert "a check could not be decided" in service.log.getvalue()


@pytest.mark.parametrize("purpose", ["visitor", "clearance"])
def test_nothing_that_was_cached_outlives_a_rotated_key(service: RunningService, gate: Gate, purpose: str) -> None:
    side, application = Side(service.application, models_of()), service.application
    proxy = Proxy(gate, side, 3)
    proxy.clear(service.clock.now_ms())
    data = plain_request(gate, proxy.cookies[ADDRESSES[0]][2])

    async def ask() -> bytes:
        return (await side.ask(data))[0] or b""

    async def read_keys() -> None:
        application.keyring.replace(
            await load_keys(application.stores.store, application.sealer, service.clock.now_ms()),
            service.clock.now_ms(),
        )

    for _ in range(4):
        assert b"x-service-decision: allow" in service.run(ask())
    # The same keys, loaded again.
    service.run(read_keys())
    assert b"x-service-decision: allow" in service.run(ask())
    seen = side.cached
    assert seen == 4

    service.run(rotate_key(application.stores.store, application.sealer, purpose, service.clock.now_ms()))
    service.clock.advance(seconds=600)
    service.run(read_keys())

    answer = service.run(ask())
    assert side.cached == seen
    assert answer == service.run(Side(application, models_of()).ask(data, cached=False))[0]
    # A replaced clearance key still verifies for a day. Clearances do not contain pseudonyms.
    assert b"x-service-decision: allow" in answer


def block_addresses(application: Application, folder: Path, network: str = "203.0.113.0/24") -> None:
    """Let the threat data say from now on that addresses are blocked."""
    (folder / "block.txt").write_text(f"{network}\n")
    intel = application.refresher.intel
    assert intel._folder is not None
    intel._folder.mkdir(exist_ok=True)
    write_set(intel._folder / FILE_NAME, import_folder(folder, now_ms=1)[0])
    assert intel.refresh()


def test_nothing_that_was_cached_outlives_the_threat_data(
    service: RunningService, gate: Gate, tmp_path_factory: pytest.TempPathFactory
) -> None:
    side = Side(service.application, models_of())

    def labels() -> tuple[str, ...]:
        return service.run(side.ask(plain_request(gate, "a=b", "/")))[1][0].labels

    assert all("list.block" not in labels() for _ in range(4))
    seen = side.cached
    assert seen > 0

    block_addresses(service.application, tmp_path_factory.mktemp("lists"))

    assert "list.block" in labels()
    assert side.cached == seen


@pytest.mark.parametrize("query", ["?respond=denial&ok=200", "?ok=200&respond=denial"])
def test_the_description_applies_wherever_the_query_asks_for_it(
    service: RunningService, gate: Gate, query: str
) -> None:
    side = Side(service.application, models_of())

    def ask(*lines: str) -> bytes:
        own = ("Host: gate.example", *(f"{name}: {value}" for name, value in VISITOR.items()))
        secret = f"X-AgentGate-Secret: {gate.secret}"
        text = "\r\n".join((f"GET /v1/gateway/check{query} HTTP/1.1", secret, *own, *lines)) + "\r\n\r\n"
        return service.run(side.ask(text.encode()))[0] or b""

    visitors_own = (f"X-Original-URL: {ORIGIN}/", "X-Original-Address: 203.0.113.9", "X-Original-Method: GET")
    for method, path, word in (("GET", "/", b" 200 "), ("POST", "/login", b" 401 ")) * 3:
        line = f"X-AgentGate-Request: {method} {ADDRESSES[0]} {ORIGIN}{path}"
        assert word in ask(line, *visitors_own).partition(b"\r\n")[0]
    # Without a description.
    assert b"x-service-reason: invalid_request" in ask(*visitors_own)
