"""A demo account with its owner and site, traffic and the demo shop's credential: something to look at from the start.

Doing it again changes nothing.
"""

import json
import os
import secrets
from collections.abc import Iterable
from dataclasses import fields
from itertools import groupby
from pathlib import Path

from agentgate.events.decision_ids import id_day, id_time_ms
from agentgate.events.records import Count, CounterName, Event
from agentgate.http.call import SYSTEM, Call, SiteCall
from agentgate.http.request import Request
from agentgate.lib.clock import HOUR_MS, Clock
from agentgate.lib.database import Store
from agentgate.lib.enums import AccountRole, ChallengeStage
from agentgate.lib.errors import Refused
from agentgate.lib.ids import new_request_id
from agentgate.lib.moment import Moment
from agentgate.lib.records import given
from agentgate.people.accounts.lifecycle import create_account
from agentgate.people.identity.passwords import Passwords
from agentgate.people.identity.users import find_or_create_user
from agentgate.server.application import Application
from agentgate.server.demo.traffic import Traffic
from agentgate.sites.credentials.endpoints import create_credential, revoke
from agentgate.sites.credentials.records import CredentialInput, CredentialSecret
from agentgate.sites.editing import change_site, create_site
from agentgate.sites.records import Site, SiteAction, SiteChange, SiteInput, SiteRoute
from agentgate.sites.repository import SiteStores

DEMO_SITE_KEY = "site_demo_shop"
DEMO_SITE = SiteInput(
    name="Demo shop",
    site_key=DEMO_SITE_KEY,
    allowed_origins=[
        "http://localhost:8080",
        "http://127.0.0.1:8080",
        "http://localhost:8090",
        "http://127.0.0.1:8090",
    ],
    actions={
        "signup": SiteAction(browser_required=True),
        "comment": SiteAction(browser_required=True),
        "api": SiteAction(browser_required=True),
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

CREDENTIAL_NAME = "Demo shop"
DEMO_EMAIL = "demo@agentgate.example"
PASSWORD_BYTES = 15


async def seed(store: Store[SiteStores], clock: Clock, *, origins: Iterable[str] = ()) -> str:
    """Create the demo account and site unless they exist, with what the shop needs; return the site's key."""
    call = _system_call(clock)

    async def work(stores: SiteStores) -> None:
        await stores.sites.lock_site(DEMO_SITE_KEY)
        site = await stores.sites.find_site(DEMO_SITE_KEY, account_id=None)
        if site is None:
            account = await create_account(stores, call, "Demo")
            site = await create_site(stores, call, DEMO_SITE, account)
        # A site of an earlier release, or a shop on another port, gets what it lacks and keeps the rest.
        wanted = [*given(DEMO_SITE)["allowed_origins"], *origins]
        change = SiteChange(
            allowed_origins=[*site.allowed_origins, *(one for one in wanted if one not in site.allowed_origins)],
            actions={**given(DEMO_SITE)["actions"], **site.actions},
        )
        await change_site(stores, _site_call(call, site), change)

    await store.change(work)
    return DEMO_SITE_KEY


async def seed_credential(store: Store[SiteStores], clock: Clock, path: Path) -> str:
    """Return the secret of the demo shop's credential: the one in the file while it works, else a new one.

    It is empty if the site has the maximum number of credentials, and none of them was created for the shop.
    """
    kept = _read(path)
    kept_id, secret = kept.get("credentialId", ""), kept.get("secret", "")

    async def work(stores: SiteStores) -> CredentialSecret | None:
        site = await stores.sites.find_site(DEMO_SITE_KEY, account_id=None)
        assert site is not None, "it already exists"
        call = _site_call(_system_call(clock), site)
        earlier = [each for each in await stores.credentials.list_credentials(site.id) if each.is_current()]
        if any(each.id == kept_id for each in earlier):
            return None
        # The secrets of the shop's earlier credentials are lost.
        for each in earlier:
            if each.name == CREDENTIAL_NAME:
                await revoke(stores, call, each.id)
        return await create_credential(call, stores, CredentialInput(name=CREDENTIAL_NAME))

    try:
        made = await store.change(work)
    except Refused:
        return ""
    if made is None:
        return secret
    _write(path, {"credentialId": made.credential.id, "secret": made.secret})
    return made.secret


async def seed_owner(store: Store[SiteStores], clock: Clock, path: Path) -> str:
    """Create the owner of the demo's account unless it exists; return the password, which is kept in the file.

    Only users who can read this machine's files know the password.
    """
    password = _read(path).get("password", "")
    if not password:
        password = secrets.token_urlsafe(PASSWORD_BYTES)
        _write(path, {"email": DEMO_EMAIL, "password": password})
    passwords = Passwords()
    try:
        password_hash = await passwords.hash(password)
    finally:
        passwords.close()
    call = _system_call(clock)

    async def work(stores: SiteStores) -> None:
        site = await stores.sites.find_site(DEMO_SITE_KEY, account_id=None)
        assert site is not None, "it already exists"
        user = await find_or_create_user(stores, call, DEMO_EMAIL, name="Demo")
        if await stores.members.find_membership(site.customer_id, user.id) is None:
            await stores.members.add_membership(site.customer_id, user.id, AccountRole.OWNER, call.now)
        await stores.users.save_password(user.id, password_hash)

    await store.change(work)
    return password


def _read(path: Path) -> dict[str, str]:
    """Return what an earlier start wrote; nothing where that cannot be read."""
    try:
        return {str(name): str(value) for name, value in json.loads(path.read_text(encoding="utf-8")).items()}
    except (OSError, ValueError, AttributeError):
        return {}


def _write(path: Path, kept: dict[str, str]) -> None:
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump(kept, file)


def _system_call(clock: Clock) -> Call:
    return Call(
        request=Request(method="", path="", query_string=b"", headers=[], address="", secure=False),
        request_id=new_request_id(),
        now=Moment(clock.now_ms()),
        params={},
        route="",
        caller=SYSTEM,
    )


def _site_call(call: Call, site: Site) -> SiteCall:
    known = {field.name: getattr(call, field.name) for field in fields(call)}
    return SiteCall(**known, site_id=site.id, site_key=site.site_key, account_id=site.customer_id)


async def seed_traffic(application: Application) -> int:
    """Record made-up visits to the demo site unless anything was ever recorded; return how many events that made."""
    events = application.stores.events
    if await events.list_days():
        return 0
    # Prepared and not started: made-up visitors must not cause requests that verify crawlers.
    await application.refresher.prepare()
    site = application.refresher.sites.find(DEMO_SITE_KEY)
    worker = application.refresher.ids.worker
    assert site is not None, "it already exists"
    assert worker is not None, "the refresher is prepared"
    made = list(Traffic(application.refresher.decider, site, application.clock, worker=worker).events())
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
