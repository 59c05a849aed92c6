"""classify: User-Agents of a site's own log, with their labels and the outcome of the server's rules.

A log has no headers, so only names and addresses are judged: programs with a browser's name pass here.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from agentgate.decision.engine import with_bands
from agentgate.decision.scoring.score import ModelView
from agentgate.decision.signals.facts import RequestFacts
from agentgate.decision.signals.observe import observe
from agentgate.decision.threat_data.intel import Intel
from agentgate.sites.rules.evaluate import CompiledRules

# Address, anything, the request, status, size, referrer and User-Agent, as Apache and nginx write them.
COMBINED = re.compile(r'(\S+) .*"[^"]*" \d{3} \S+ "(?:[^"\\]|\\.)*" "((?:[^"\\]|\\.)*)"')
COMMON = re.compile(r'\S+ \S+ \S+ \[[^\]]*\] "[^"]*" \d{3} \S+$')
AGENT_KEYS = frozenset(
    {"user_agent", "useragent", "http_user_agent", "user-agent", "agent", "request_user-agent", "request_user_agent"}
)
ADDRESS_KEYS = frozenset({"remote_addr", "remote_ip", "client_ip", "clientip", "clienthost", "ip", "address", "client"})
# Unknown networks are judged like a home's.
NO_ADDRESS = "192.0.2.1"
DEEPEST = 4


class LoggedClient(Struct, frozen=True):
    """A User-Agent of a log, and the address it came from, where the log has one."""

    user_agent: str
    address: str = NO_ADDRESS


class Classified(Struct, frozen=True, kw_only=True, rename="camel"):
    """A User-Agent with its labels and outcome."""

    user_agent: str
    count: int
    outcome: str
    # The rule that decided; None for the default action.
    rule: str | None
    labels: tuple[str, ...]
    claimed_agent: str | None


def read_line(line: str) -> LoggedClient | None:
    """Read a line of a log or a list of names; None where it has no User-Agent."""
    text = line.strip()
    if not text:
        return None
    if text.startswith("{"):
        return _read_json(text)
    combined = COMBINED.match(text)
    if combined:
        agent = re.sub(r"\\(.)", r"\1", combined[2])
        return LoggedClient("" if agent == "-" else agent, combined[1])
    return None if COMMON.match(text) else LoggedClient(text)


def classify(lines: Iterable[LoggedClient], intel: Intel, models: ModelView, rules: CompiledRules) -> list[Classified]:
    """Classify each User-Agent once, the most frequent first."""
    counted = Counter(lines)
    merged: dict[Classified, int] = {}
    for named, count in counted.items():
        found = _classify(named, intel, models, rules)
        merged[found] = merged.get(found, 0) + count
    ordered = sorted(merged.items(), key=lambda each: (-each[1], each[0].user_agent))
    return [replace(found, count=count) for found, count in ordered]


def _classify(named: LoggedClient, intel: Intel, models: ModelView, rules: CompiledRules) -> Classified:
    headers = (("user-agent", named.user_agent),) if named.user_agent else ()
    facts = RequestFacts(now_ms=0, method="GET", target="/", address=named.address, headers=headers)
    seen = observe(facts, intel)
    # Omit the `http.*` labels: a log does not contain the headers.
    observation = replace(seen, labels=tuple(label for label in seen.labels if not label.startswith("http.")))
    scores = models.score(observation, content=None)
    verdict = rules.evaluate(with_bands(observation.labels, scores.values), scores.values, route="*", action=None)
    return Classified(
        user_agent=named.user_agent,
        count=0,
        outcome=verdict.outcome.value,
        rule=verdict.rule,
        labels=observation.labels,
        claimed_agent=observation.claimed_agent,
    )


def _read_json(text: str) -> LoggedClient | None:
    try:
        entry = json.loads(text)
    except ValueError:
        return None
    found: dict[str, str] = {}
    for key, value in _flat(entry, 0):
        if key in AGENT_KEYS:
            found.setdefault("user_agent", value)
        elif key in ADDRESS_KEYS:
            found.setdefault("address", value)
    return LoggedClient(**found) if "user_agent" in found else None


def _flat(entry: Any, depth: int) -> Iterator[tuple[str, str]]:
    """Yield the texts of an entry by the last part of their name, in lower case; a list counts as its first."""
    if not isinstance(entry, Mapping) or depth > DEEPEST:
        return
    for name, value in entry.items():
        first = value[0] if isinstance(value, list) and value else value
        if isinstance(first, str):
            yield name.lower().rpartition(".")[2], first
        else:
            yield from _flat(first, depth + 1)
