"""A demo account, a site and its traffic, so that the first start has something to look at.

Doing it again changes nothing.
"""

from itertools import groupby

from agentgate.accounts.lifecycle import create_account
from agentgate.app import Application
from agentgate.core.actor import SYSTEM
from agentgate.core.clock import HOUR_MS, Clock
from agentgate.core.database import Store
from agentgate.core.decision_ids import id_day, id_time_ms
from agentgate.core.enums import ChallengeStage
from agentgate.core.ids import new_request_id
from agentgate.core.moment import Moment
from agentgate.demo_traffic import Traffic
from agentgate.events.records import Count, CounterName, Event
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


async def seed_traffic(application: Application) -> int:
    """Record made-up visits to the demo site unless anything was ever recorded; return how many events that made."""
    events = application.stores.events
    if await events.list_days():
        return 0
    await application.deciding.start()
    site = application.deciding.sites.find(DEMO_SITE_KEY)
    worker = application.deciding.ids.worker
    assert site is not None, "it was made before"
    assert worker is not None, "deciding has started"
    made = list(Traffic(application.deciding.decider, site, application.clock, worker=worker).events())
    made.sort(key=lambda event: event.id)
    for _, day in groupby(made, key=lambda event: id_day(event.id)):
        await events.write(list(day))
    await events.add_counts(_counts(made))
    await events.close_days(now_ms=application.clock.now_ms())
    return len(made)


def _counts(made: list[Event]) -> list[Count]:
    """Return what a site's server would have left behind: each token that was earned, validated once."""
    passed = [event for event in made if event.stage is ChallengeStage.PASSED]
    names = (
        CounterName.TOKENS_ISSUED,
        CounterName.SERVER_CHECK,
        CounterName.SITEVERIFY_SUCCESS,
        CounterName.TOKENS_REDEEMED,
    )
    return [Count(event.site, id_time_ms(event.id) // HOUR_MS, name, "", 1) for event in passed for name in names]
