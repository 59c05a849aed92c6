"""`python -m bench.decide`: CPU cost of one decision in process: signals, 30 rules, a model of 200 trees.

The reference in the same run is one HMAC-SHA-256 of 200 bytes, the minimum cost of a signed cookie.
"""

import hmac
import random
import time
from collections.abc import Callable
from typing import Any

from agentgate.decision.engine import Views, decide
from agentgate.decision.scoring.score import ModelView
from agentgate.decision.signals.facts import Rates, RequestFacts
from agentgate.decision.threat_data.intel import Intel, load_intel
from agentgate.lib.enums import Mode, ModelKind, WidgetMode
from agentgate.server.demo.traffic import CLIENTS
from agentgate.sites.directory import SiteView
from agentgate.sites.route_table import RouteTable
from agentgate.sites.rules.compile import compile_rules
from agentgate.sites.rules.effective import effective_set
from agentgate.sites.rules.labels import EXACT_NAMES
from agentgate.sites.rules.records import RuleSet
from bench.model_trees import bench_model

RULES = 30
REQUESTS = 2_000
ROUNDS = 9
SEED = 3


def bench_rules(count: int = RULES) -> RuleSet:
    """Return rules of every kind that nearly no request matches, so that all of them are evaluated."""
    chance = random.Random(SEED)
    names = sorted(name for name in EXACT_NAMES if not name.startswith("ua."))
    rules: list[dict[str, Any]] = []
    for number in range(count):
        one, two, three = chance.sample(names, 3)
        match: dict[str, Any] = [
            {"all_labels": [one, two], "none_labels": ["list.allow"]},
            {"any_labels": [one, two], "all_labels": [three]},
            {"any_prefix": ["list", "content"], "all_labels": [one]},
            {"all_labels": [one], "score": "bot", "min_score": 0.99},
        ][number % 4]
        rules.append({"name": f"rule-{number}", "match": match, "action": "block", "routes": ["/login", "/api/*"]})
    return RuleSet(version="bench", rules=rules, default_action="allow")


def bench_site() -> SiteView:
    """Return a site with the bench's rules."""
    return SiteView(
        id="st_bench",
        number=1,
        site_key="site_bench",
        account_id="acc_bench",
        mode=Mode.ENFORCE,
        widget_mode=WidgetMode.INVISIBLE,
        origins=frozenset(),
        actions={},
        routes=RouteTable([]),
        rules=compile_rules(effective_set(bench_rules(), {})),
        captures_features=False,
    )


def requests(count: int = REQUESTS, *, strange: bool) -> list[RequestFacts]:
    """Return requests of many clients; each strange client has a unique, new User-Agent."""
    chance = random.Random(SEED)
    made = []
    for number in range(count):
        client = CLIENTS[number % len(CLIENTS)]
        headers = client.headers
        if strange:
            headers = tuple(
                (name, f"{value} x{number}") if name == "user-agent" else (name, value) for name, value in headers
            )
        made.append(
            RequestFacts(
                now_ms=0,
                method="POST",
                target=f"/login?n={number}",
                address=f"203.0.{number // 250}.{number % 250}",
                headers=headers,
                route="/login",
                action="login",
                rates=Rates(visitor=chance.randrange(1, 200), network=chance.randrange(1, 400)),
                agent=client.agent,
            )
        )
    return made


def cpu_us(work: Callable[[], object], count: int, *, before: Callable[[], object] = lambda: None) -> float:
    """Return the CPU time of one of `count` in the quickest round."""
    found = []
    for _ in range(ROUNDS):
        before()
        started = time.process_time()
        work()
        found.append((time.process_time() - started) / count * 1e6)
    return min(found)


def measure() -> dict[str, float]:
    """Measure decisions about usual and about strange requests, and the reference."""
    site = bench_site()
    figures = {}
    for name, strange in (("usual", False), ("strange", True)):
        made = requests(strange=strange)
        state: dict[str, Any] = {}

        def fresh(state: dict[str, Any] = state) -> None:
            # Nothing remembered: neither the threat data's views nor the model's results.
            state["models"] = ModelView({ModelKind.BOT: bench_model()}, {})
            state["intel"] = load_intel(None)

        def run(made: list[RequestFacts] = made, state: dict[str, Any] = state) -> None:
            models: ModelView = state["models"]
            intel: Intel = state["intel"]
            for facts in made:
                decide(facts, site, Views(intel, models))

        fresh()
        run()
        if not strange:
            figures[f"{name}_us"] = cpu_us(run, len(made))
        figures[f"{name}_first_time_us"] = cpu_us(run, len(made), before=fresh)
    key, message = b"k" * 32, b"m" * 200
    digests = [message] * 20_000
    figures["hmac_us"] = cpu_us(lambda: [hmac.digest(key, each, "sha256") for each in digests], len(digests))
    figures["ratio_to_hmac"] = figures["usual_us"] / figures["hmac_us"]
    return figures


if __name__ == "__main__":
    for figure, value in measure().items():
        print(f"{figure:24} {value:8.2f}")
