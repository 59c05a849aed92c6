"""Decision labels with a known truth, as the admin API exports them: bots, people and agents that look the part."""

import json
import random

from agentgate.lib.moment import Moment

NOON_MS = 1_794_744_000_000  # 2026-11-15T12:00:00Z

# Signal label -> how often it is on decisions of a bot, a person, an agent.
CHANCES = {
    "net.datacenter": {"bot": 0.7, "human": 0.04, "agent": 0.8},
    "ua.headless": {"bot": 0.35, "human": 0.005, "agent": 0.1},
    "ua.browser": {"bot": 0.6, "human": 0.99, "agent": 0.2},
    "ua.ai_agent": {"bot": 0.02, "human": 0.0, "agent": 0.85},
    "agent.claimed": {"bot": 0.05, "human": 0.0, "agent": 0.8},
    "net.country.de": {"bot": 0.3, "human": 0.5, "agent": 0.4},
}
# Figure -> its mean for each of them.
MEANS = {"rate_visitor": {"bot": 30.0, "human": 3.0, "agent": 8.0}}


def made_labels(count, *, seed=7, kinds=("bot", "human"), visits=4, **options):
    """Return label objects of alternating kinds, several from each visitor; `options` apply to each label."""
    chance = random.Random(seed)
    return [
        made_label(
            number,
            kind=kinds[number // visits % len(kinds)],
            chance=chance,
            visitor=f"{number // visits:016x}",
            **options,
        )
        for number in range(count)
    ]


def made_label(number, *, kind, chance, visitor, **options):
    """Return one label object with signals drawn as its kind has them, and `extra` ones."""
    options = {"figures": True, "source": "operator", "extra": ()} | options
    labels = [name for name, chances in CHANCES.items() if chance.random() < chances[kind]]
    labels += [f"model.bot.{'likely' if kind == 'bot' else 'possible'}", *options["extra"]]
    time = Moment(NOON_MS + number * 60_000).text()
    features = {name: round(chance.expovariate(1 / means[kind]), 2) for name, means in MEANS.items()}
    evidence = {
        "time": time, "kind": "request", "route": "/login", "method": "POST", "outcome": "allow", "reasons": [],
        "labels": sorted(labels), "scores": {"bot": 0.5}, "modelVersions": {"bot": "shipped"}, "visitorId": visitor,
    }  # fmt: skip
    if options["figures"]:
        evidence["features"] = dict.fromkeys(labels, 1.0) | features
    return {
        "decisionId": f"dec_{number:08d}", "siteId": "site_id", "label": kind, "source": options["source"],
        "actor": "operator", "createdAt": time, "updatedAt": time, "evidence": evidence,
    }  # fmt: skip


def lines(items):
    """Return label objects as text, one a line."""
    return "".join(json.dumps(item) + "\n" for item in items)
