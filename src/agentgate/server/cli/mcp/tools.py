"""The tools: what each takes and does. All but one read; that one asks the person first."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from agentgate.server.cli.api_client import HttpApi, site_path
from agentgate.server.cli.command import CommandRefused

# Asks the person who sits before the client; None when the client cannot ask.
Ask = Callable[[str], bool | None]
# Calls the API with a tool's arguments; asks the person before a change.
Run = Callable[[HttpApi, dict[str, Any], Ask], Any]

_SITE = {"type": "string", "description": "The site's key, such as site_shop1; list_sites tells them."}
_TIME = {"type": "string", "format": "date-time", "description": "RFC 3339, such as 2026-01-31T00:00:00Z."}
_RULES = {"type": "object", "description": "A whole rule set, as read_rules shows it under ruleSet."}
_MOST_DECISIONS = 100


@dataclass(frozen=True)
class Tool:
    """One tool as it is listed, and what runs it."""

    name: str
    description: str
    properties: dict[str, Any]
    required: tuple[str, ...]
    run: Run
    reads_only: bool = True

    def listed(self) -> dict[str, Any]:
        """Return how the protocol lists it."""
        schema = {"type": "object", "properties": self.properties, "required": list(self.required)}
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": {**schema, "additionalProperties": False},
            "annotations": {
                "readOnlyHint": self.reads_only,
                "destructiveHint": not self.reads_only,
                "idempotentHint": True,
                "openWorldHint": False,
            },
        }


def _reads(*path: str, query: tuple[str, ...] = ()) -> Run:
    """Return what reads a route below the site."""
    return lambda api, given, _: api.get(
        site_path(given["siteKey"], *path), **{name: given.get(name) for name in query}
    )


def _tries(what: str) -> Run:
    """Return what has a draft of the rules checked or tried."""
    return lambda api, given, _: api.call(
        "POST", site_path(given["siteKey"], "rules", what), {"ruleSet": given["ruleSet"]}
    )


_check, _backtest = _tries("validate"), _tries("backtest")


def _list_decisions(api: HttpApi, given: dict[str, Any], _ask: Ask) -> Any:
    return api.get("/decisions", **{**given, "limit": min(int(given.get("limit", 20)), _MOST_DECISIONS)})


def _explain(api: HttpApi, given: dict[str, Any], _ask: Ask) -> Any:
    return api.get(f"/decisions/{quote(given['decisionId'], safe='')}", siteKey=given["siteKey"])


def _push(api: HttpApi, given: dict[str, Any], ask: Ask) -> Any:
    site, rules = given["siteKey"], given["ruleSet"]
    checked = _check(api, given, ask)
    if not checked["valid"]:
        return {"changed": False, "why": "The rule set is not valid.", "errors": checked["errors"]}
    report = _backtest(api, given, ask)
    present = api.get(site_path(site, "rules"))
    question = (
        f"Put a new rule set in force for {site} (revision {present['revision']} until now)?\n"
        f"Reason given: {given.get('reason', 'none')}\n"
        f"Of {report['evaluated']} decisions of the last day {report['changed']} would have been others."
    )
    answer = ask(question)
    if answer is None:
        raise CommandRefused(
            "This client cannot ask a person, so nothing was changed. Save the rule set as rules.json and let somebody "
            f"run: agentgate rules push {site} rules.json"
        )
    if not answer:
        return {"changed": False, "why": "The person said no."}
    # The revision is the one that the question named: what somebody else changed meanwhile is not overwritten.
    saved = api.call("PUT", site_path(site, "rules"), {"ruleSet": rules, "revision": present["revision"]})
    return {"changed": True, "revision": saved["revision"]}


_FILTERS = {
    "outcome": {"type": "string", "enum": ["allow", "challenge", "block", "drop"]},
    "label": {"type": "string", "description": "One label, such as net.tor."},
    "rule": {"type": "string", "description": "The rule that matched."},
    "visitor": {"type": "string"},
    "action": {"type": "string"},
    "from": _TIME,
    "to": _TIME,
    "limit": {"type": "integer", "minimum": 1, "maximum": _MOST_DECISIONS},
    "cursor": {"type": "string", "description": "nextCursor of the page before."},
}
_DRAFT = {"siteKey": _SITE, "ruleSet": _RULES}

TOOLS = (
    Tool("list_sites", "List the sites of the account with their modes.", {}, (), lambda api, *_: api.get("/sites")),
    Tool(
        "read_health",
        "Read whether a site's installation works, with each check.",
        {"siteKey": _SITE},
        ("siteKey",),
        _reads("health"),
    ),
    Tool(
        "read_analytics",
        "Read what became of a site's traffic: outcomes, checks, tokens, top lists.",
        {"siteKey": _SITE, "from": _TIME, "to": _TIME},
        ("siteKey",),
        _reads("analytics", query=("from", "to")),
    ),
    Tool(
        "list_decisions",
        "List decisions of a site, newest first.",
        {"siteKey": _SITE, **_FILTERS},
        ("siteKey",),
        _list_decisions,
    ),
    Tool(
        "explain_decision",
        "Tell all there is about one decision: labels, scores, the rule that matched, what enforce mode would do.",
        {"siteKey": _SITE, "decisionId": {"type": "string", "pattern": "^dec_[0-9a-z]{13}$"}},
        ("siteKey", "decisionId"),
        _explain,
    ),
    Tool("read_rules", "Read the rule set that a site follows.", {"siteKey": _SITE}, ("siteKey",), _reads("rules")),
    Tool(
        "check_rules",
        "Check a draft of a rule set: errors and lints. Changes nothing.",
        _DRAFT,
        ("siteKey", "ruleSet"),
        _check,
    ),
    Tool(
        "backtest_rules",
        "Decide stored requests again with a draft: which outcomes would change. Changes nothing.",
        _DRAFT,
        ("siteKey", "ruleSet"),
        _backtest,
    ),
    Tool(
        "push_rules",
        "Put a rule set in force. The person before the client is asked first and may say no.",
        {**_DRAFT, "reason": {"type": "string", "description": "Why, in a sentence: the person is shown it."}},
        ("siteKey", "ruleSet"),
        _push,
        reads_only=False,
    ),
)
