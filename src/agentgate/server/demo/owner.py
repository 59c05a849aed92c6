"""The demo's owner: somebody who can sign in to the console, with a password that only this machine's reader sees."""

import json
import os
import secrets
from pathlib import Path

from agentgate.http.call import Call
from agentgate.http.request import Request
from agentgate.lib.actor import SYSTEM
from agentgate.lib.clock import Clock
from agentgate.lib.database import Store
from agentgate.lib.enums import AccountRole
from agentgate.lib.ids import new_request_id
from agentgate.lib.moment import Moment
from agentgate.people.identity.passwords import Passwords
from agentgate.people.identity.users import find_or_create_user
from agentgate.protection.sites.repository import SiteStores
from agentgate.server.demo.installation import DEMO_SITE_KEY

DEMO_EMAIL = "demo@agentgate.example"
PASSWORD_BYTES = 15


async def seed_owner(store: Store[SiteStores], clock: Clock, path: Path) -> str:
    """Make the owner of the demo's account unless there is one; return the password, which lies in the file."""
    password = _read(path) or _make(path)
    passwords = Passwords()
    try:
        password_hash = await passwords.hash(password)
    finally:
        passwords.close()
    call = Call(
        request=Request(method="", path="", query_string=b"", headers=[], address="", secure=False),
        request_id=new_request_id(),
        now=Moment(clock.now_ms()),
        params={},
        route="",
        caller=SYSTEM,
    )

    async def work(stores: SiteStores) -> None:
        site = await stores.sites.find_site(DEMO_SITE_KEY, account_id=None)
        assert site is not None, "it was made before"
        user = await find_or_create_user(stores, call, DEMO_EMAIL, name="Demo")
        if await stores.members.find_membership(site.customer_id, user.id) is None:
            await stores.members.add_membership(site.customer_id, user.id, AccountRole.OWNER, call.now)
        await stores.users.save_password(user.id, password_hash)

    await store.change(work)
    return password


def _read(path: Path) -> str:
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["password"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _make(path: Path) -> str:
    password = secrets.token_urlsafe(PASSWORD_BYTES)
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump({"email": DEMO_EMAIL, "password": password}, file)
    return password
