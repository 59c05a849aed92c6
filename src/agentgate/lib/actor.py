"""Actor: on whose behalf a call is made, as the audit trail will name it."""

from msgspec import Struct

from agentgate.lib.enums import ActorKind


class Actor(Struct, frozen=True, kw_only=True):
    """Somebody, or something, that may act."""

    kind: ActorKind
    name: str
    # A user's ID. Log lines name users by it: an e-mail address is nobody's business there.
    user_id: str | None = None
    # The account whose objects the actor may see; None sees every account's (operators and the system).
    account_id: str | None = None


SYSTEM = Actor(kind=ActorKind.SYSTEM, name="system")
