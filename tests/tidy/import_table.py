"""The allowed imports between rooms, and the order of the folders of a room, as data for `test_imports`."""

# Room -> the rooms that it may import, the lowest first. `http` and `storage` do not import each other.
BELOW = {"http", "storage", "lib"}
ALLOWED: dict[str, set[str]] = {"lib": set(), "http": {"lib"}, "storage": {"lib"}}
PRODUCT = ("people", "events", "sites", "decision", "browser_check", "agents", "gateway")
for number, room in enumerate(PRODUCT):
    ALLOWED[room] = BELOW | set(PRODUCT[:number])
ALLOWED["pages"] = {"people", "http", "lib"}
ALLOWED["routes"] = {*PRODUCT, "pages", "http", "lib"}
ALLOWED["server"] = {*PRODUCT, *BELOW, "pages", "routes", "agentgate_tools"}
ALLOWED["__main__"] = {"server"}
# The package itself holds only the version.
ALLOWED["agentgate"] = set()
# Separate from the service. The package for a site's own server knows the service by its API alone.
ALLOWED["agentgate_client"] = set()
ALLOWED["agentgate_tools"] = {"sites", "decision", "browser_check", "agents", "http", "lib"}

# Inside a room, the folders and the modules that wire them, bottom to top: each may import those before it.
ORDER: dict[str, tuple[str, ...]] = {
    "people": ("audit", "outbox", "feedback", "installation", "identity", "accounts", "wiring"),
    "events": ("labels", "queries", "storage", "webhooks", "wiring"),
    "sites": ("token_issuers", "credentials", "rules", "lists", "customers"),
    "decision": ("threat_data", "signals", "rates", "scoring", "snapshot_refresher"),
    "browser_check": ("tokens", "instrument", "probes", "issue", "verify"),
    "agents": ("signing", "policy_checker", "handoff", "submit"),
    "gateway": ("request", "appeals", "suggestions", "notices", "challenge_page", "block_feed", "decoys"),
    "pages": ("documentation", "reference", "web_app", "account"),
}

# Of the rooms with concepts, the route tables see these modules only: `endpoints`, and `export_endpoints` likewise.
SEEN_BY_ROUTES = {"endpoints", "guards"}
CONCEPT_ROOMS = set(PRODUCT)

# SQL is in the folder of its concept. Of a concept, only these files and folders know a driver.
KNOW_STORAGE = ("repository.py", "events/storage/")

# The decision itself: pure and synchronous, so no `await` and no port in these modules.
HOT_MODULES = (
    "decision/signals/observe.py",
    "decision/scoring/score.py",
    "events/correlation.py",
    "sites/rules/evaluate.py",
    *(f"decision/{name}.py" for name in ("engine", "event", "visitor", "decider", "explain")),
    "sites/request_matcher.py",
    "sites/request_methods.py",
    "sites/route_table.py",
    "sites/targets.py",
)

# The thirteen rooms and `__main__`.
MOST_NAMES_AT_THE_TOP = 14
MOST_MODULES_IN_A_FOLDER = 25
