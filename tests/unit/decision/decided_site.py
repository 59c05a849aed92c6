"""A site with rules, as the engine sees it."""

from agentgate.lib.enums import Mode, WidgetMode
from agentgate.sites.directory import SiteView
from agentgate.sites.records import SiteAction, SiteRoute
from agentgate.sites.route_table import RouteTable
from agentgate.sites.rules.compile import compile_rules
from agentgate.sites.rules.effective import effective_set
from agentgate.sites.rules.records import RuleSet

RULES = RuleSet(
    version="t1",
    rules=[
        {"name": "watch", "match": {"any_prefix": ["ua"]}, "action": "count"},
        {
            "name": "no-tools-at-login",
            "routes": ["login"],
            "match": {"all_labels": ["ua.http_library"]},
            "action": "block",
            "response": {"status": 429, "message": "Later.", "retry_after": 30},
        },
    ],
    default_action="allow",
)


def site(*, mode: Mode = Mode.ENFORCE, captures: bool = False) -> SiteView:
    return SiteView(
        id="st_0123456789abcdef",
        number=7,
        site_key="site_abcdefgh",
        account_id="acc_0123456789abcdef",
        mode=mode,
        widget_mode=WidgetMode.INVISIBLE,
        origins=frozenset(),
        actions={"login": SiteAction(browser_required=True)},
        routes=RouteTable([SiteRoute(method="POST", action="login", path="/login")]),
        rules=compile_rules(effective_set(RULES, {})),
        captures_features=captures,
    )
