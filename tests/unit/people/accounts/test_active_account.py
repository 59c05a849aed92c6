"""Which of a user's accounts a session works in."""

from agentgate.lib.enums import AccountRole, AccountStatus, MemberStatus
from agentgate.lib.moment import Moment
from agentgate.people.accounts.records import Limits, Member, StoredAccount
from agentgate.people.accounts.signing_in import Place, choose_place


def place(account_id: str, status: AccountStatus = AccountStatus.ACTIVE) -> Place:
    membership = Member(
        user_id="usr_1",
        role=AccountRole.MEMBER,
        joined_at=Moment(0),
        email="bob@acme.example",
        status=MemberStatus.ACTIVE,
        mfa_enabled=False,
    )
    account = StoredAccount(
        id=account_id, name="Acme", status=status, protected=False, limits=Limits(), created_at=Moment(0)
    )
    return membership, account


def test_the_wanted_account_is_kept_even_while_it_is_suspended() -> None:
    places = [place("a"), place("b", AccountStatus.SUSPENDED)]

    assert choose_place(places, "b") == places[1]


def test_a_lost_account_gives_way_to_the_oldest_active_one() -> None:
    places = [place("a", AccountStatus.SUSPENDED), place("b"), place("c")]

    assert choose_place(places, "lost") == places[1]
    assert choose_place(places, None) == places[1]


def test_a_suspended_account_is_better_than_none() -> None:
    places = [place("a", AccountStatus.SUSPENDED)]

    assert choose_place(places, None) == places[0]


def test_who_is_in_no_account_works_nowhere() -> None:
    assert choose_place([], "a") is None
