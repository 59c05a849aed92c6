"""Who may import whom, bottom to top, as data. `test_imports` compares the source with it."""

# Importable everywhere, the lowest layer included; they import nothing of ours themselves.
EVERYWHERE = {"errors", "limits"}

# Concept -> the other concepts it may import. Every concept may also import what stands in BELOW_CONCEPTS.
CONCEPTS: dict[str, set[str]] = {
    "audit": set(),
    "outbox": set(),
    "events": set(),
    "detect": set(),
    "feedback": set(),
    "readiness": set(),
    "credentials": {"audit"},
    "rules": {"audit", "detect", "traffic"},
    "scoring": {"detect", "events", "audit", "rules"},
    "identity": {"audit", "outbox"},
    "accounts": {"identity", "audit", "outbox"},
    "sites": {"accounts", "credentials", "rules", "audit"},
    "customers": {"accounts", "identity", "sites", "audit", "outbox"},
    "tokens": {"credentials", "sites", "events"},
    "decide": {"detect", "rules", "scoring", "events", "sites"},
    "browser": {"decide", "detect", "tokens", "sites", "events"},
    "agents": {"audit", "browser", "decide", "detect", "events", "sites", "tokens"},
    "gateway": {"decide", "detect", "rules", "tokens", "agents", "credentials", "sites", "events"},
    "traffic": {"events"},
    "webhooks": {"audit", "events", "traffic", "sites", "scoring"},
}
BELOW_CONCEPTS = {"core", "telemetry", "web"}

# The settings are one concern in three root modules.
SETTINGS = {"config", "config_values", "config_page"}

# Package or root module -> what it may import beside EVERYWHERE and itself.
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "limits": set(),
    "core": set(),
    "telemetry": {"core"},
    "web": {"core", "telemetry"},
    **{name: others | BELOW_CONCEPTS for name, others in CONCEPTS.items()},
    "store": {"core", "telemetry", *SETTINGS, *CONCEPTS},
    "surfaces": {*BELOW_CONCEPTS, *CONCEPTS},
    "config_values": {"core"},
    "config_page": set(),
    "config": {"core", "config_values", "config_page"},
    "jobs": {"core", "telemetry", *SETTINGS, *CONCEPTS},
    "supervisor": {"core", "telemetry", *SETTINGS},
    "first_start": {"core", *SETTINGS},
    "deciding": {*BELOW_CONCEPTS, *CONCEPTS, *SETTINGS},
    "protecting": {*BELOW_CONCEPTS, *CONCEPTS, "deciding", *SETTINGS},
    "app": {
        *BELOW_CONCEPTS,
        *CONCEPTS,
        "deciding",
        "protecting",
        "store",
        "surfaces",
        "jobs",
        "first_start",
        *SETTINGS,
    },
    # It knows an installation by what can be seen from outside.
    "doctor": {"core", "agentgate"},
    "demo_traffic": {*BELOW_CONCEPTS, *CONCEPTS},
    "demo": {*BELOW_CONCEPTS, "app", "demo_traffic", *SETTINGS, *CONCEPTS},
    # Configuration of proxies, as text.
    "adapters": {"core"},
    "cli": {
        *BELOW_CONCEPTS,
        *CONCEPTS,
        "store",
        "surfaces",
        "jobs",
        "supervisor",
        "app",
        "demo",
        "doctor",
        "adapters",
        *SETTINGS,
    },
    "__main__": {"cli"},
    # What a site's own server installs: it knows the service by its API alone.
    "client": set(),
    # The root package holds the version and nothing else.
    "agentgate": set(),
}

# Of each concept, the two edges see these modules only: `records`, and `user_records` likewise.
PARTS_SEEN_BY = {"store": {"records", "ports"}, "surfaces": {"endpoints", "guards"}}

# The hot path: pure and synchronous, so no `await` and no port in these modules.
HOT_MODULES = ("detect/observe.py", "scoring/score.py", "rules/evaluate.py", "decide/", "sites/routes.py")
