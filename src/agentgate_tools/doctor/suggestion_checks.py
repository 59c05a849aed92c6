"""Suggestions of a site: senders of webhooks and other clients that enforce mode blocks."""

from collections.abc import Iterator, Sequence
from typing import Any

from agentgate_tools.doctor.findings import Finding, passed, skipped, warned

# The most that a finding names.
NAMED = 5


def waiting_in(suggestions: Sequence[Any]) -> list[Any]:
    return [each for each in suggestions if "acceptedAt" not in each]


def senders_in(suggestions: Sequence[Any]) -> list[Any]:
    """Return the suggestions whose requests come from the published networks of a known service."""
    return [each for each in waiting_in(suggestions) if each["proven"]]


def describe(suggestion: Any) -> str:
    """Return the client and its requests."""
    name = suggestion.get("sender") or suggestion.get("program") or "a client without a name"
    return f"{name} ({suggestion['method']} {suggestion['path']}, {suggestion['perDay']} a day)"


def check_suggestions(site_key: str, listed: Any) -> Iterator[Finding]:
    """Report verified senders of webhooks apart from clients that only claim a name."""
    if not listed["enabled"]:
        yield skipped("webhooks", "the site collects no suggestions", "Set `suggestions` of the site to true.")
        return
    proven, waiting = senders_in(listed["items"]), waiting_in(listed["items"])
    claimed = [each for each in waiting if each not in proven]
    if proven:
        accept = " ".join(f"--accept {each['id']}" for each in proven if "opens" in each)
        fix = f"If you expect them: agentgate site suggestions {site_key} {accept}".rstrip()
        yield warned("webhooks", f"enforce mode blocks verified senders: {_listed(proven)}", fix)
    else:
        yield passed("webhooks", "no requests of verified senders were blocked")
    if claimed:
        fix = f"Allow those you expect: agentgate site suggestions {site_key}"
        yield warned("clients", f"enforce mode blocks clients with unverified names: {_listed(claimed)}", fix)


def _listed(found: list[Any]) -> str:
    more = f", and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return ", ".join(map(describe, found[:NAMED])) + more
