"""Site keys for tests: they are in no account, work on every installation, and give test tokens only."""

from collections.abc import Mapping

from agentgate.lib.enums import Mode, RuleAction, WidgetMode
from agentgate.sites.directory import SiteView
from agentgate.sites.editing import RESERVED_KEY_PREFIX
from agentgate.sites.route_table import RouteTable
from agentgate.sites.rules.compile import compile_rules
from agentgate.sites.rules.records import RuleSet

ALWAYS_PASS = f"{RESERVED_KEY_PREFIX}always_pass"
ALWAYS_FAIL = f"{RESERVED_KEY_PREFIX}always_fail"
INTERACTIVE = f"{RESERVED_KEY_PREFIX}interactive"


def testing_sites() -> Mapping[str, SiteView]:
    """Return a view for each test key, by key. Their numbers are below the numbers of all sites, and they have no
    rules."""
    views = (
        # In monitor mode every visitor passes.
        _view(ALWAYS_PASS, -1, mode=Mode.MONITOR),
        _view(ALWAYS_FAIL, -2),
        _view(INTERACTIVE, -3, widget_mode=WidgetMode.INTERACTIVE),
    )
    return {view.site_key: view for view in views}


def _view(
    site_key: str, number: int, *, mode: Mode = Mode.ENFORCE, widget_mode: WidgetMode = WidgetMode.INVISIBLE
) -> SiteView:
    return SiteView(
        id=site_key,
        number=number,
        site_key=site_key,
        account_id="",
        mode=mode,
        widget_mode=widget_mode,
        origins=frozenset(),
        actions={},
        routes=RouteTable(()),
        rules=compile_rules(RuleSet(version="test", rules=[], default_action=RuleAction.ALLOW)),
        captures_features=False,
    )
