"""A demo account and site, so that the first start has something to look at. Doing it again changes nothing."""

from agentgate.accounts.lifecycle import create_account
from agentgate.core.actor import SYSTEM
from agentgate.core.clock import Clock
from agentgate.core.database import Store
from agentgate.core.ids import new_request_id
from agentgate.core.moment import Moment
from agentgate.sites.editing import create_site
from agentgate.sites.ports import SiteStores
from agentgate.sites.records import SiteAction, SiteInput, SiteRoute
from agentgate.web.call import Call
from agentgate.web.request import Request

DEMO_SITE_KEY = "site_demo_shop"
DEMO_SITE = SiteInput(
    name="Demo shop",
    site_key=DEMO_SITE_KEY,
    allowed_origins=["http://localhost:8080", "http://127.0.0.1:8080"],
    actions={
        "login": SiteAction(browser_required=True),
        "checkout": SiteAction(browser_required=True, clearance=True),
        "search": SiteAction(browser_required=False),
    },
    routes=[
        SiteRoute(method="POST", action="login", path="/login"),
        SiteRoute(method="POST", action="checkout", path_prefix="/checkout"),
        SiteRoute(method="GET", action="search", path="/search"),
    ],
)


async def seed(store: Store[SiteStores], clock: Clock) -> str:
    """Create the demo account and site unless they exist; return the site's key."""
    call = Call(
        request=Request(method="", path="", query_string=b"", headers=[], address="", secure=False),
        request_id=new_request_id(),
        now=Moment(clock.now_ms()),
        params={},
        route="",
        caller=SYSTEM,
    )

    async def work(stores: SiteStores) -> None:
        await stores.sites.lock_site(DEMO_SITE_KEY)
        if await stores.sites.find_site(DEMO_SITE_KEY, account_id=None) is not None:
            return
        account = await create_account(stores, call, "Demo")
        await create_site(stores, call, DEMO_SITE, account)

    await store.change(work)
    return DEMO_SITE_KEY
