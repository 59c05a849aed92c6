"""Call: what a handler is given. Guards and scopes add to it; nothing takes away."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

from msgspec import Struct

from agentgate.http.request import Request
from agentgate.lib.enums import ActorKind
from agentgate.lib.moment import Moment
from agentgate.lib.tasks.fair_threads import working_for


class Actor(Struct, frozen=True, kw_only=True):
    """A user, a program or the service: the author of an action."""

    kind: ActorKind
    name: str
    # A user's ID. Log lines name users by it: an email address is private.
    user_id: str | None = None
    # The account whose objects the actor may see; None sees every account's (operators and the system).
    account_id: str | None = None


SYSTEM = Actor(kind=ActorKind.SYSTEM, name="system")


@dataclass(frozen=True, kw_only=True)
class Call:
    """One request on its way to one handler."""

    request: Request
    request_id: str
    now: Moment
    # The values of the `{names}` in the path, undecoded.
    params: dict[str, str]
    # The route's path with `{names}`: cursors are bound to it, logs and metrics name it.
    route: str
    # Maps a scope and an address to a keyed hash; None for calls that did not come over the network.
    pseudonym: Callable[[str, str], str] | None = None
    # Filled along the way and written once, with the request's log line.
    log: dict[str, Any] = field(default_factory=dict)
    caller: Actor | None = None

    @property
    def actor(self) -> Actor:
        """Return who calls. Only a guarded handler may ask."""
        assert self.caller is not None, "an unguarded handler asked for its actor"
        return self.caller

    def address_id(self, scope: str) -> str | None:
        """Return the address ID of the client within a scope, such as an account; None without an address."""
        return self.pseudonym(scope, self.request.address) if self.pseudonym is not None else None

    def acting_as(self, actor: Actor) -> Self:
        """Return the same call with its caller known."""
        self.log["actor"] = actor.user_id or actor.name
        # Operators share one turn: they are one more customer of the threads.
        working_for.set(actor.account_id or actor.kind)
        return replace(self, caller=actor)


@dataclass(frozen=True, kw_only=True)
class SiteCall(Call):
    """A call whose path or query names a site that the caller may see."""

    site_id: str
    site_key: str
    account_id: str
