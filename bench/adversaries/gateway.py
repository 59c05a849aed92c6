"""The population at the lab's gateway: the bot model scores requests without a browser check too."""

import random
import socket
import time
from collections.abc import Iterator
from itertools import islice
from urllib.parse import urlsplit

from bench.adversaries.personas import HELD_OUT, TUNING
from bench.adversaries.runner import Result
from bench.adversaries.site import Laboratory
from tests.population.gate import write_check
from tests.population.people import page_views
from tests.population.sent import Sent
from tests.population.unwanted import unwanted_requests

DRIVER = "gateway"
SEEDS = {TUNING: 331, HELD_OUT: 332}
# People come far apart here, as on a site: one request in so many of their page views.
ONE_IN = 40
PEOPLE = 400
UNWANTED = 30
DECISION = b"x-service-decision-id:"
# What tells these is left to rules: rates, headers and networks, of which the model learns nothing here.
LEFT_TO_RULES = ("fast", "Sec-Fetch-Dest", "rotating", "lying")
# The recorder has written by then.
WRITTEN_S = 5


def chosen(half: str) -> Iterator[tuple[str, Sent]]:
    """Yield who comes: `person` or `bot`, and the request."""
    seed = SEEDS[half]
    dice = random.Random(seed)
    views = (sent for group in page_views(seed, PEOPLE) for sent in group)
    people = (("person", sent) for sent in views if not dice.randrange(ONE_IN))
    yield from islice(people, PEOPLE)
    for kind in unwanted_requests(seed, UNWANTED):
        single = (("bot", sent) for sent in kind if not any(word in sent.kind for word in LEFT_TO_RULES))
        yield from islice(single, UNWANTED)


def visit(lab: Laboratory) -> list[Result]:
    """Put the population to the gateway; return who came, with their decisions."""
    parts = urlsplit(lab.service.public_url)
    results = []
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as connection:
        for half, seed in SEEDS.items():
            for kind, sent in chosen(half):
                connection.sendall(write_check(sent, lab.secret))
                results.append(Result(kind, DRIVER, sent.kind, half, seed, decisions=[_decision(connection)]))
    time.sleep(WRITTEN_S)
    return results


def _decision(connection: socket.socket) -> str:
    """Return the decision's ID of the next answer, and read that answer to its end."""
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += connection.recv(65_536)
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    length = next((int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:")), 0)
    while len(body) < length:
        body += connection.recv(65_536)
    found = next(line for line in head.split(b"\r\n") if line.lower().startswith(DECISION))
    return found.partition(b":")[2].strip().decode()
