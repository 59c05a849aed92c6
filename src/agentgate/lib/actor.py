"""Actor: on whose behalf a call is made, as the audit trail will name it."""

from msgspec import Struct

from agentgate.lib.enums import ActorKind


class Actor(Struct, frozen=True, kw_only=True):
    """A user, a program or the service: the author of an action."""

    kind: ActorKind
    name: str
    # A user's ID. Log lines name users by it: an email address is private.
    user_id: str | None = None
    # The account whose objects the actor may see; None sees every account's (operators and the system).
    account_id: str | None = None


SYSTEM = Actor(kind=ActorKind.SYSTEM, name="system")
