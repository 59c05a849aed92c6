"""Which room may import which, and in what order the folders of a room stand, as data for `test_imports`."""

# Room -> the rooms that it may import, the lowest first. `http` and `storage` do not know each other.
ALLOWED: dict[str, set[str]] = {"lib": set(), "http": {"lib"}, "storage": {"lib"}, "people": {"http", "storage", "lib"}}
ALLOWED["events"] = ALLOWED["people"] | {"people"}
ALLOWED["protection"] = ALLOWED["events"] | {"events"}
ALLOWED["routes"] = ALLOWED["protection"] - {"storage"} | {"protection"}
ALLOWED["server"] = ALLOWED["protection"] | {"protection", "routes", "agentgate_tools"}
ALLOWED["__main__"] = {"server"}
# The package itself holds the version and nothing else.
ALLOWED["agentgate"] = set()
# Beside the service. What a site's own server installs knows the service by its API alone.
ALLOWED["agentgate_client"] = set()
ALLOWED["agentgate_tools"] = {"lib", "http", "protection"}

# Inside a room, the folders and the modules that wire them, bottom to top: each may import those before it.
ORDER: dict[str, tuple[str, ...]] = {
    "people": ("audit", "outbox", "feedback", "installation", "identity", "accounts", "account_pages", "wiring"),
    "events": ("queries", "storage", "webhooks", "wiring"),
    "protection": (
        "threat_data",
        "credentials",
        "signals",
        "rules",
        "lists",
        "sites",
        "scoring",
        "appeals",
        "customers",
        "tokens",
        "decision",
        "suggestions",
        "snapshot_refresher",
        "browser_check",
        "agents",
        "gateway",
        "challenge_page",
        "wiring",
    ),
}

# Of the rooms with concepts, the route tables see these modules only: `endpoints`, and `export_endpoints` likewise.
SEEN_BY_ROUTES = {"endpoints", "guards"}
CONCEPT_ROOMS = {"people", "events", "protection"}

# SQL stands with its concept. Of a concept, only these files and folders know a driver.
KNOW_STORAGE = ("repository.py", "repositories/", "events/storage/")

# The decision itself: pure and synchronous, so no `await` and no port in these modules.
HOT_MODULES = (
    "protection/signals/observe.py",
    "protection/scoring/score.py",
    "protection/rules/evaluate.py",
    "protection/decision/",
    "protection/sites/request_matcher.py",
    "protection/sites/request_methods.py",
    "protection/sites/route_table.py",
    "protection/sites/targets.py",
)

MOST_NAMES_AT_THE_TOP = 10
MOST_MODULES_IN_A_FOLDER = 25
