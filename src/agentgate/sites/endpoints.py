"""Sites over HTTP. Handlers of operators and customers differ in guard and input only."""

from agentgate.events.health_records import InstallStatus, SiteHealth
from agentgate.http.call import Call, SiteCall
from agentgate.http.paging import list_pages
from agentgate.http.replies import Reply, Text
from agentgate.lib.clock import MINUTE_MS
from agentgate.lib.cursors import Cursors
from agentgate.lib.database import Store
from agentgate.lib.enums import ActorKind
from agentgate.lib.errors import Refused
from agentgate.lib.keyring import Keyring
from agentgate.lib.limiter import Limiter, Window
from agentgate.people.identity.links import LinkUrls
from agentgate.sites import editing
from agentgate.sites.detail import AgentPrompt, read_detail, read_install_status, request_origin, summary_pages
from agentgate.sites.health import HealthReader
from agentgate.sites.records import (
    Adapter,
    AdapterQuery,
    AdapterWriter,
    Examiner,
    MoveInput,
    OwnSiteInput,
    SiteChange,
    SiteDetail,
    SiteInput,
    SiteList,
    SitesQuery,
    SiteTest,
    SiteTestInput,
)
from agentgate.sites.repository import ActivityStore, SiteFilter, SiteHealthStore, SiteStores
from agentgate.sites.validate import feeds_to_declare

MARKDOWN = "text/markdown; charset=utf-8"
# The description in the API documents.
PROMPT_TEXTS = {"text/markdown": "Instructions for a coding agent that protects a form of this site, in Markdown"}

# Each test is about forty requests to an address of the caller's choice.
TESTS = Window("site-test", 6, MINUTE_MS)


async def list_sites(
    call: Call, query: SitesQuery, store: Store[SiteStores], activity: ActivityStore, keyring: Keyring
) -> Reply[SiteList]:
    """List sites, newest first.

    Default: all of them. With `limit`, `nextCursor` leads to the next page. `q` is a part of a site's key, name or
    origins.
    """
    account_id = call.actor.account_id
    read = summary_pages(store.read, activity, SiteFilter(account_id=account_id, text=query.q), now=call.now)
    return await list_pages(SiteList, read, query, Cursors(keyring, call.route, account_id or "", query.q))


async def create_site(call: Call, body: SiteInput, store: Store[SiteStores], activity: ActivityStore) -> SiteDetail:
    """Create a site.

    With no `customerId`, a customer named `customerName` (default: the site's name) is created. Defaults: `mode` is
    `monitor`, `actions` has one action, `submit`.
    """

    async def work(stores: SiteStores) -> str:
        account = await editing.find_or_create_account(stores, call, body)
        return (await editing.create_site(stores, call, body, account)).id

    site_id = await store.change(work)
    return await read_detail(store.read, activity, site_id, now=call.now)


async def read_site(call: SiteCall, store: Store[SiteStores], activity: ActivityStore) -> SiteDetail:
    """Read a site with its credentials, newest changes and rules."""
    return await _read(call, store, activity)


async def change_site(
    call: SiteCall, body: SiteChange, store: Store[SiteStores], activity: ActivityStore
) -> SiteDetail:
    """Change a site; omitted fields are unchanged."""
    await store.change(lambda stores: editing.change_site(stores, call, body))
    return await _read(call, store, activity)


async def move_site(call: SiteCall, body: MoveInput, store: Store[SiteStores], activity: ActivityStore) -> SiteDetail:
    """Move a site to another account."""
    await store.change(lambda stores: editing.move_site(stores, call, body.customer_id))
    return await _read(call, store, activity)


async def create_own_site(
    call: Call, body: OwnSiteInput, store: Store[SiteStores], activity: ActivityStore
) -> SiteDetail:
    """Create a site in the account.

    Defaults: `mode` is `monitor`, `widgetMode` is `invisible`, `actions` has one action, `submit`.
    """
    account_id = call.actor.account_id
    assert account_id is not None, "the guard allows only members of an account"
    site = await store.change(lambda stores: editing.create_own_site(stores, call, body, account_id))
    return await read_detail(store.read, activity, site.id, now=call.now, account_id=account_id)


async def change_own_site(
    call: SiteCall, body: SiteChange, store: Store[SiteStores], activity: ActivityStore
) -> SiteDetail:
    """Change a site of the account; omitted fields are unchanged."""
    await store.change(lambda stores: editing.change_own_site(stores, call, body))
    return await _read(call, store, activity)


async def _read(call: SiteCall, store: Store[SiteStores], activity: ActivityStore) -> SiteDetail:
    return await read_detail(store.read, activity, call.site_id, now=call.now, account_id=call.actor.account_id)


async def read_install(call: SiteCall, store: Store[SiteStores], health: SiteHealthStore) -> InstallStatus:
    """Read whether the site received traffic: `waiting` until its first decision, then `live`."""
    return await read_install_status(health, call.site_key, await store.read.sites.find_number(call.site_id))


async def read_health(call: SiteCall, reader: HealthReader) -> SiteHealth:
    """List the checks of the site's integration that failed over the last 24 hours, worst first."""
    return await reader.read(call.site_id, call.site_key, call.now)


async def read_agent_prompt(call: SiteCall, store: Store[SiteStores], prompt: AgentPrompt, urls: LinkUrls) -> Text:
    """Read instructions for a coding agent that adds the check to the site. They never contain a secret."""
    site = await store.read.sites.get_site(call.site_key, account_id=call.actor.account_id)
    # An operator is on the admin listener, where no browser of a site reaches the service.
    origin = urls.origin(call) if call.actor.kind is ActorKind.OPERATOR else request_origin(call)
    return Text(prompt.write(site, origin).encode(), MARKDOWN)


async def read_adapter(call: SiteCall, query: AdapterQuery, store: Store[SiteStores], writer: AdapterWriter) -> Adapter:
    """Read a proxy's configuration for the site. It never contains a secret.

    `upstream` is the address of the site's own server. `origin` is one of the site's origins. Default: the first.
    `listen` is the proxy's port or address. Default: the usual one.
    """
    site = await store.read.sites.get_site(call.site_key, account_id=call.actor.account_id)
    return writer.write(call.params["proxy"], site, query)


async def test_site(
    call: SiteCall, body: SiteTestInput, store: Store[SiteStores], examiner: Examiner, limiter: Limiter
) -> SiteTest:
    """Test the site's installation: reachability, adapter, secret, clock and exposed paths.

    AgentGate sends about 40 requests to one of the site's origins, at a public address only. Hosts in
    `AGENTGATE_SITE_PRIVATE_HOSTS` may have private addresses. `agentgate doctor` has more checks.
    """
    site = await store.read.sites.get_site(call.site_key, account_id=call.actor.account_id)
    if body.origin not in site.allowed_origins:
        raise Refused("invalid_request", "origin must be one of the site's allowed origins.")
    await limiter.require(TESTS, call.account_id, "Sites can be tested six times a minute. Try again in a minute.")
    found = await examiner.examine(body.origin, call.account_id)
    return SiteTest(origin=body.origin, items=found.findings, feeds=feeds_to_declare(site.feeds, found.linked))
