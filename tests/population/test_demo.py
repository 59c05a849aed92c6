"""The demo's traffic is made of the population."""

from agentgate.server.demo.traffic import CLIENTS
from tests.population.demo import FILE, text


def test_the_demo_has_the_clients_of_the_population():
    assert FILE.read_text() == text(), "run python -m tests.population.demo"


def test_most_visits_are_people_s_and_the_rest_is_of_all_kinds():
    whole = sum(client.weight for client in CLIENTS)
    people = sum(client.weight for client in CLIENTS if client.solves)

    assert 0.5 < people / whole < 0.7
    assert len({client.headers for client in CLIENTS}) > 100
    assert {client.agent.verdict.value for client in CLIENTS if client.agent} == {"unsigned", "verified"}
