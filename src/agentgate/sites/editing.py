"""Changing sites: create, change, move. Each leaves an audit entry in the same transaction."""

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from agentgate.http.call import Call, SiteCall
from agentgate.lib.clock import HOUR_MS
from agentgate.lib.database import Store
from agentgate.lib.enums import AccountStatus, Assistants, Mode, WidgetMode
from agentgate.lib.errors import Refused
from agentgate.lib.ids import new_site_id, new_site_key
from agentgate.lib.moment import Moment
from agentgate.lib.names import check_name
from agentgate.lib.records import given
from agentgate.people.accounts.lifecycle import create_account
from agentgate.people.accounts.records import StoredAccount
from agentgate.people.audit.actions import Action
from agentgate.people.audit.trail import Subject, diff, record
from agentgate.sites.records import CHANGEABLE, OwnSiteInput, Site, SiteAction, SiteAiUse, SiteChange, SiteInput
from agentgate.sites.repository import SiteStores
from agentgate.sites.validate import canonical_feeds, canonical_origins, canonical_programs, check_site

DEFAULT_ACTIONS = {"submit": SiteAction(browser_required=True)}
# The check of whole-site protection, where no action of the site's own gives a clearance.
WHOLE_SITE_ACTION = {"visit": SiteAction(browser_required=True, clearance=True)}
UNDER_ATTACK_MS = HOUR_MS
# Keys that start so belong to the fixed test sites, which exist on every installation.
RESERVED_KEY_PREFIX = "site_test_"


async def create_site(stores: SiteStores, call: Call, body: SiteInput, account: StoredAccount) -> Site:
    site = new_site(call, body, account.id)
    if not await stores.sites.add_site(site):
        raise Refused("site_key_taken", f"A site with the key {site.site_key} already exists. Choose another key.")
    detail = {"name": site.name, "siteKey": site.site_key, "mode": site.mode.value}
    await record(stores, call, Action.SITE_CREATE, _subject(site), detail)
    await stores.configuration.bump_site(site.id)
    return site


async def name_own_site(store: Store[SiteStores], site_key: str) -> None:
    """Save which site is the service's own, whose account is protected; empty for none."""
    named = [site_key] if site_key else []
    if await store.read.sites.list_own_site_keys() != named:
        await store.change(lambda stores: stores.sites.save_own_site_keys(named))


async def create_own_site(stores: SiteStores, call: Call, body: OwnSiteInput, account_id: str) -> Site:
    """Create a site in the caller's account, within its limit."""
    await stores.accounts.lock_account(account_id)
    account = await stores.accounts.find_account(account_id)
    if account is None or account.status == AccountStatus.DELETED:
        raise Refused("no_account")
    _check_origin_limit(body, account)
    usage = await stores.accounts.read_usage(account_id, call.now)
    if usage.sites >= account.limits.sites:
        raise Refused(
            "site_limit",
            f"The account has {usage.sites} of {account.limits.sites} sites. Ask the operator for a higher limit.",
        )
    return await create_site(stores, call, SiteInput(**given(body)), account)


def new_site(call: Call, body: SiteInput, account_id: str) -> Site:
    """Return the site that an input describes, with defaults for absent fields."""
    if isinstance(body.name, UnsetType):
        raise Refused("invalid_site", "name is required: the site's name in the console.")
    if isinstance(body.site_key, str) and body.site_key.startswith(RESERVED_KEY_PREFIX):
        raise Refused(
            "invalid_site", f"siteKey may not start with {RESERVED_KEY_PREFIX}, which is reserved for test keys."
        )
    site = Site(
        id=new_site_id(),
        customer_id=account_id,
        site_key=new_site_key() if isinstance(body.site_key, UnsetType) else body.site_key,
        name="",
        allowed_origins=[],
        mode=Mode.MONITOR,
        widget_mode=WidgetMode.INVISIBLE,
        actions=DEFAULT_ACTIONS,
        routes=[],
        form_method_override=True,
        clearance_without_script=False,
        open_paths=[],
        ai_use=SiteAiUse(),
        assistants=Assistants.CHALLENGE,
        created_at=call.now,
        updated_at=call.now,
    )
    return _with_changes(site, body, call.now)


async def find_or_create_account(stores: SiteStores, call: Call, body: SiteInput) -> StoredAccount:
    """Return the account that an operator's input names; with no `customerId`, a new one."""
    if isinstance(body.customer_id, UnsetType):
        if isinstance(body.customer_name, UnsetType):
            return await create_account(stores, call, check_name(body.name or "", code="invalid_site"))
        return await create_account(
            stores, call, check_name(body.customer_name, what="customerName", code="invalid_site")
        )
    if not isinstance(body.customer_name, UnsetType):
        raise Refused("invalid_site", "Send customerId or customerName, not both.")
    account = await stores.accounts.find_account(body.customer_id)
    if account is None or account.status == AccountStatus.DELETED:
        raise Refused("invalid_site", "customerId does not match an account.")
    return account


async def change_site(stores: SiteStores, call: SiteCall, body: SiteChange) -> None:
    """Change the given fields. A change without effect gets no audit entry."""
    # An account with an enforcing site cannot be deleted. The lock keeps a site from starting to enforce during the
    # deletion.
    await stores.accounts.lock_account(call.account_id)
    before = await locked_site(stores, call)
    after = _with_changes(before, body, call.now)
    changes = diff(before, after, CHANGEABLE)
    if not changes:
        return
    await stores.sites.save_site(replace(after, updated_at=call.now))
    action = Action.SITE_MODE if set(given(body)) == {"mode"} else Action.SITE_UPDATE
    await record(stores, call, action, _subject(before), changes)
    await stores.configuration.bump_site(before.id)


async def change_own_site(stores: SiteStores, call: SiteCall, body: SiteChange) -> None:
    """Change a site of the caller's account, within what the account allows."""
    await stores.accounts.lock_account(call.account_id)
    account = await stores.accounts.find_account(call.account_id)
    if account is None or account.status == AccountStatus.DELETED:
        raise Refused("site_not_found")
    _check_origin_limit(body, account)
    await change_site(stores, call, body)


async def move_site(stores: SiteStores, call: SiteCall, customer_id: str) -> None:
    """Give a site to another account. Both accounts' trails record it."""
    # In a fixed order, so that two moves in opposite directions do not deadlock.
    for account_id in sorted({call.account_id, customer_id}):
        await stores.accounts.lock_account(account_id)
    site = await locked_site(stores, call)
    source = await stores.accounts.find_account(site.customer_id)
    target = await stores.accounts.find_account(customer_id)
    if target is None or target.status == AccountStatus.DELETED:
        raise Refused("not_found", "customerId does not match an account.")
    if source is None or source.protected or target.protected:
        raise Refused("protected_account", "AgentGate's own sites cannot be moved.")
    if target.id == source.id:
        raise Refused("invalid_state", "The site already belongs to this account.")
    moved = replace(site, customer_id=target.id, updated_at=call.now)
    await stores.sites.save_site(moved)
    detail = {"customerId": {"from": source.id, "to": target.id}}
    await record(stores, call, Action.SITE_MOVE_OUT, _subject(site), detail)
    await record(stores, call, Action.SITE_MOVE, _subject(moved), detail)
    await stores.configuration.bump_site(site.id)


def _check_origin_limit(body: SiteChange, account: StoredAccount) -> None:
    # Only sent origins are counted: a site that an operator gave more keeps them until they are changed.
    most = account.limits.origins_per_site
    if not isinstance(body.allowed_origins, UnsetType) and len(body.allowed_origins) > most:
        raise Refused("origin_limit", f"allowedOrigins may have at most {most} entries.")


def _subject(site: Site) -> Subject:
    return Subject(account_id=site.customer_id, site_id=site.id, target=site.site_key)


async def locked_site(stores: SiteStores, call: SiteCall) -> Site:
    """Lock and return the site: a diff must be against the stored site, not against the one that the scope read."""
    await stores.sites.lock_site(call.site_id)
    return await stores.sites.get_site(call.site_key, account_id=call.actor.account_id)


def _with_changes(site: Site, body: SiteChange, now: Moment) -> Site:
    changes = {name: value for name, value in given(body).items() if name in CHANGEABLE}
    if "name" in changes:
        changes["name"] = check_name(changes["name"], code="invalid_site")
    if "allowed_origins" in changes:
        changes["allowed_origins"] = canonical_origins(changes["allowed_origins"])
    if "wanted_programs" in changes:
        changes["wanted_programs"] = canonical_programs(changes["wanted_programs"])
    if "feeds" in changes:
        changes["feeds"] = canonical_feeds(changes["feeds"])
    if not isinstance(body.under_attack, UnsetType):
        changes["under_attack_until"] = Moment(now + UNDER_ATTACK_MS) if body.under_attack else UNSET
    changed = replace(site, **changes)
    if (changed.whole_site or body.under_attack is True) and not any(
        action.clearance is True for action in changed.actions.values()
    ):
        # Without one no visitor could pass: the challenge page checks an action that gives a clearance.
        changed = replace(changed, actions={**changed.actions, **WHOLE_SITE_ACTION})
    check_site(changed)
    return changed
