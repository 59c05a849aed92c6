"""Wires identity, accounts and outbox. `server/application.py` calls it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agentgate.lib.database import Store
from agentgate.lib.foundation import Foundation
from agentgate.lib.tasks.job import Job
from agentgate.people.accounts.jobs import identity_jobs, record_jobs
from agentgate.people.accounts.password_reset import PasswordReset
from agentgate.people.accounts.proofs import SignInProofs
from agentgate.people.accounts.repository import AccountStores
from agentgate.people.identity.browser_check import BrowserCheck
from agentgate.people.identity.known_devices import KnownDevices
from agentgate.people.identity.links import LinkUrls
from agentgate.people.identity.mfa import SecondFactor
from agentgate.people.identity.oidc import Issuers
from agentgate.people.identity.passwords import Passwords
from agentgate.people.identity.sessions import UserSessions
from agentgate.people.identity.sign_in_limits import SignInLimits
from agentgate.people.outbox.jobs import MailDelivery, outbox_jobs
from agentgate.people.outbox.messages import Messenger
from agentgate.people.outbox.smtp import read_mail_url


@dataclass(frozen=True, kw_only=True)
class People:
    """What handlers ask for, the jobs, and what the rest of the service uses."""

    messenger: Messenger
    link_urls: LinkUrls
    dependencies: dict[Any, Any]
    jobs: tuple[Job, ...]
    close: Callable[[], None]


def wire(foundation: Foundation, store: Store[AccountStores], browser_check: BrowserCheck) -> People:
    """Put together what signs people in, and what writes to them."""
    settings, limiter = foundation.settings, foundation.limiter
    messenger = Messenger(foundation.sealer)
    urls = LinkUrls(settings.public_base_url, str(settings.public_listen))
    devices = KnownDevices(foundation.sealer)
    sign_in_limits = SignInLimits(limiter, devices, browser_check)
    second_factor, passwords = SecondFactor(foundation.sealer), Passwords()
    dependencies = {
        BrowserCheck: browser_check,
        LinkUrls: urls,
        Issuers: Issuers(settings, foundation.sealer, limiter),
        Messenger: messenger,
        SignInProofs: SignInProofs(passwords, second_factor, sign_in_limits),
        PasswordReset: PasswordReset(
            store=store,
            limiter=limiter,
            limits=sign_in_limits,
            background=foundation.background,
            messenger=messenger,
            urls=urls,
        ),
        SecondFactor: second_factor,
        UserSessions: UserSessions(foundation.keyring, devices),
    }
    return People(
        messenger=messenger,
        link_urls=urls,
        dependencies=dependencies,
        jobs=outbox_jobs(store, _delivery(foundation, store, messenger), foundation.clock)
        + identity_jobs(store, foundation.clock)
        + record_jobs(store, settings, foundation.clock),
        close=passwords.close,
    )


def _delivery(foundation: Foundation, store: Store[AccountStores], messenger: Messenger) -> MailDelivery | None:
    settings = foundation.settings
    if not settings.smtp_url:
        return None
    return MailDelivery(
        server=read_mail_url(settings.smtp_url),
        mail_from=settings.mail_sender,
        store=store,
        messenger=messenger,
        clock=foundation.clock,
    )
