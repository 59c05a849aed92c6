"""The demo's traffic is taken from the population."""

from agentgate.lib.clock import DAY_MS, HOUR_MS
from agentgate.server.demo.traffic import BURSTS, CLIENTS, activity, asks
from tests.population.demo import FILE, text


def test_the_demo_has_the_clients_of_the_population():
    assert FILE.read_text() == text(), "run python -m tests.population.demo"


def test_most_visits_are_people_s_and_the_rest_is_of_all_kinds():
    whole = sum(client.weight for client in CLIENTS)
    people = sum(client.weight for client in CLIENTS if client.solves)

    assert 0.5 < people / whole < 0.7
    assert len({client.headers for client in CLIENTS}) > 100
    assert {client.agent.verdict.value for client in CLIENTS if client.agent} == {"unsigned", "verified"}


def test_people_sleep_and_rest_at_weekends():
    saturday = 2 * DAY_MS  # 3 January 1970
    evening, night = 20 * HOUR_MS, 3 * HOUR_MS

    for day in (saturday, saturday + DAY_MS):
        assert 0 < activity(day + night) < activity(day + evening) < activity(saturday + 2 * DAY_MS + evening) <= 1


def test_the_attack_and_the_crawl_are_by_unwanted_clients_of_the_population():
    for burst in BURSTS:
        found = [client for client in CLIENTS if burst.program in str(client.headers) and asks(client, burst)]
        assert found
        assert not any(client.solves for client in found)
