"""Which of a user's accounts a session works in."""

from collections.abc import Sequence

from agentgate.lib.enums import AccountStatus
from agentgate.people.accounts.records import StoredAccount, StoredMembership

# A user's place in an account that is not deleted, and the account.
Place = tuple[StoredMembership, StoredAccount]


def choose_place(places: Sequence[Place], wanted_id: str | None) -> Place | None:
    """Return the wanted account if the user is still in it, else another: active before suspended, oldest first."""
    wanted = next((place for place in places if place[1].id == wanted_id), None)
    if wanted is not None:
        return wanted
    active = next((place for place in places if place[1].status is AccountStatus.ACTIVE), None)
    return active or next(iter(places), None)
