"""The routes below one site, which operators and customers share.

A row names the permission that the console asks for. `operators_rows` gives the same rows the operators' guard.
"""

from collections.abc import Iterator
from dataclasses import replace

from agentgate.agents import endpoints as agents
from agentgate.events.queries import ai_traffic_endpoints as ai_traffic
from agentgate.events.queries import endpoints as traffic
from agentgate.events.queries import export_endpoints as export
from agentgate.events.webhooks import endpoints as webhooks
from agentgate.gateway.appeals import endpoints as appeals
from agentgate.gateway.suggestions import endpoints as suggestions
from agentgate.http.endpoint import Guard
from agentgate.http.surface import RowMaker, delete, get, patch, post, put
from agentgate.lib import limits
from agentgate.lib.enums import ConsolePermission
from agentgate.people.accounts.guards import member
from agentgate.people.audit import endpoints as audit
from agentgate.people.identity.guards import operator
from agentgate.sites import endpoints as sites
from agentgate.sites.credentials import endpoints as credentials
from agentgate.sites.guards import site_in_path, site_in_query
from agentgate.sites.lists import endpoints as lists
from agentgate.sites.lists import network_endpoints as networks
from agentgate.sites.rules import decision_endpoints as decisions
from agentgate.sites.rules import endpoints as rules

SITE = "/sites/{siteKey}"

SITES_READ = member(ConsolePermission.SITES_READ)
SITES_WRITE = member(ConsolePermission.SITES_WRITE)
ANALYTICS_READ = member(ConsolePermission.ANALYTICS_READ)


def scoped(path: str, scope: Guard, *table: RowMaker) -> tuple[RowMaker, ...]:
    """Return rows below a path, each with the scope that finds what the path names."""

    def place(row: RowMaker) -> RowMaker:
        return lambda prefix, guard: replace(row(prefix + path, guard), scope=scope)

    return tuple(place(row) for row in table)


def operators_rows(*tables: tuple[RowMaker, ...]) -> Iterator[RowMaker]:
    """Return the rows of these tables with the operators' guard."""

    def place(row: RowMaker) -> RowMaker:
        return lambda prefix, guard: replace(row(prefix, guard), guard=operator)

    return (place(row) for table in tables for row in table)


HISTORY_AND_CREDENTIALS = scoped(
    SITE,
    site_in_path,
    get("/changes", audit.list_site_changes, guard=SITES_READ),
    post("/credentials", credentials.create_credential, guard=SITES_WRITE, status=201, refuses=("credential_limit",)),
    post(
        "/credentials/{credId}/rotate",
        credentials.rotate_credential,
        guard=SITES_WRITE,
        status=201,
        refuses=("not_found", "credential_limit", "invalid_state"),
    ),
    post("/credentials/{credId}/revoke", credentials.revoke_credential, guard=SITES_WRITE, refuses=("not_found",)),
)

INSTALLATION = scoped(
    SITE,
    site_in_path,
    get("/install", sites.read_install, guard=SITES_READ),
    get("/health", sites.read_health, guard=SITES_READ),
    get("/analytics", traffic.read_analytics, guard=ANALYTICS_READ),
    get("/ai-traffic", ai_traffic.read_ai_traffic, guard=ANALYTICS_READ),
    get(
        "/agent-prompt", sites.read_agent_prompt, guard=SITES_READ, media_type="text/markdown", texts=sites.PROMPT_TEXTS
    ),
    post("/test", sites.test_site, guard=SITES_WRITE, refuses=("rate_limited",)),
    get("/adapters/{proxy}", sites.read_adapter, guard=SITES_READ, refuses=("not_found", "invalid_filter")),
)

RULES = scoped(
    SITE,
    site_in_path,
    get("/rules", rules.read_rules, guard=SITES_READ),
    put(
        "/rules",
        rules.replace_rules,
        guard=SITES_WRITE,
        body_limit=limits.RULES_BODY_BYTES,
        refuses=("revision_conflict", "backtest_refused", "confirmation_required", "rate_limited"),
        other_replies=rules.INVALID,
    ),
    post("/rules/validate", rules.validate_rules, guard=SITES_READ, body_limit=limits.RULES_BODY_BYTES),
    post(
        "/rules/test",
        rules.test_rules,
        guard=SITES_READ,
        body_limit=limits.RULES_BODY_BYTES,
        other_replies=rules.INVALID,
    ),
    post(
        "/rules/backtest",
        rules.backtest_rules,
        guard=ANALYTICS_READ,
        body_limit=limits.RULES_BODY_BYTES,
        refuses=("invalid_range", "rate_limited"),
        other_replies=rules.INVALID,
    ),
)

LISTS = scoped(
    SITE,
    site_in_path,
    get("/list-entries", lists.list_list_entries, guard=SITES_READ),
    post("/list-entries", lists.create_list_entry, guard=SITES_WRITE, status=201, refuses=("invalid_state",)),
    post(
        "/list-entries/backtest",
        lists.backtest_list_entry,
        guard=ANALYTICS_READ,
        refuses=("invalid_range", "rate_limited"),
    ),
    put("/list-entries/{entryId}", lists.replace_list_entry, guard=SITES_WRITE, refuses=("not_found", "invalid_state")),
    delete("/list-entries/{entryId}", lists.end_list_entry, guard=SITES_WRITE, status=204, refuses=("not_found",)),
    get("/network-lists", networks.list_network_lists, guard=SITES_READ),
    put("/network-lists/{listName}", networks.save_network_list, guard=SITES_WRITE, refuses=("invalid_state",)),
    delete(
        "/network-lists/{listName}",
        networks.delete_network_list,
        guard=SITES_WRITE,
        status=204,
        refuses=("not_found", "invalid_state"),
    ),
    get("/network-lists/{listName}/networks", networks.list_networks, guard=SITES_READ, refuses=("not_found",)),
    post(
        "/network-lists/{listName}/networks",
        networks.change_networks,
        guard=SITES_WRITE,
        refuses=("not_found", "invalid_state"),
    ),
    post(
        "/network-lists/{listName}/refresh",
        networks.refresh_network_list,
        guard=SITES_WRITE,
        refuses=("not_found", "invalid_state"),
    ),
)

APPEALS = scoped(
    SITE,
    site_in_path,
    get("/appeals", appeals.list_appeals, guard=ANALYTICS_READ),
    get("/appeals/{appealId}", appeals.read_appeal, guard=ANALYTICS_READ, refuses=("not_found",)),
    post(
        "/appeals/{appealId}/answer", appeals.answer_appeal, guard=SITES_WRITE, refuses=("not_found", "invalid_state")
    ),
    delete(
        "/appeals/{appealId}/answer", appeals.reopen_appeal, guard=SITES_WRITE, refuses=("not_found", "invalid_state")
    ),
    put("/appeals/{appealId}/label", appeals.label_appeal, guard=SITES_WRITE, refuses=("not_found", "invalid_state")),
)

SUGGESTIONS = scoped(
    SITE,
    site_in_path,
    get("/suggestions", suggestions.list_suggestions, guard=ANALYTICS_READ),
    post(
        "/suggestions/{suggestionId}/accept",
        suggestions.accept_suggestion,
        guard=SITES_WRITE,
        refuses=("not_found", "invalid_state"),
    ),
    delete(
        "/suggestions/{suggestionId}/accept",
        suggestions.withdraw_suggestion,
        guard=SITES_WRITE,
        refuses=("not_found", "invalid_state"),
    ),
)

AGENT_POLICY = scoped(
    SITE,
    site_in_path,
    get("/agent-policy", agents.read_agent_policy, guard=SITES_READ),
    put("/agent-policy", agents.replace_agent_policy, guard=SITES_WRITE, refuses=("revision_conflict",)),
    get("/agent-charges", agents.read_agent_charges, guard=ANALYTICS_READ),
    get(
        "/agent-charges.csv",
        agents.export_agent_charges,
        guard=ANALYTICS_READ,
        media_type="text/csv",
        texts=agents.TEXTS,
    ),
)

AGENT_GRANTS = scoped(
    SITE,
    site_in_path,
    get("/agent-grants", agents.list_agent_grants, guard=SITES_READ),
    delete("/agent-grants/{grantId}", agents.revoke_agent_grant, guard=SITES_WRITE, status=204, refuses=("not_found",)),
)

WEBHOOKS = scoped(
    SITE,
    site_in_path,
    get("/webhooks", webhooks.list_webhooks, guard=SITES_READ),
    post("/webhooks", webhooks.create_webhook, guard=SITES_WRITE, status=201, refuses=("invalid_state",)),
    patch("/webhooks/{webhookId}", webhooks.change_webhook, guard=SITES_WRITE, refuses=("not_found",)),
    delete("/webhooks/{webhookId}", webhooks.delete_webhook, guard=SITES_WRITE, status=204, refuses=("not_found",)),
    post(
        "/webhooks/{webhookId}/rotate", webhooks.rotate_webhook, guard=SITES_WRITE, status=201, refuses=("not_found",)
    ),
    post("/webhooks/{webhookId}/test", webhooks.test_webhook, guard=SITES_WRITE, refuses=("not_found", "rate_limited")),
    get("/webhooks/{webhookId}/deliveries", webhooks.list_deliveries, guard=SITES_READ, refuses=("not_found",)),
)

TRAFFIC = scoped(
    "",
    site_in_query,
    get("/metrics", traffic.read_metrics, guard=ANALYTICS_READ),
    get("/visitors", traffic.list_visitors, guard=ANALYTICS_READ),
    get("/visitors/{visitorId}", traffic.read_visitor_detail, guard=ANALYTICS_READ, refuses=("not_found",)),
    get("/decisions", traffic.list_decisions, guard=ANALYTICS_READ),
    get(
        "/decisions/export",
        export.export_decisions,
        guard=ANALYTICS_READ,
        media_type="application/x-ndjson",
        texts=export.TEXTS,
    ),
    get(
        "/decisions/{decisionId}", decisions.read_decision, guard=ANALYTICS_READ, refuses=("not_found",), tag="traffic"
    ),
)
