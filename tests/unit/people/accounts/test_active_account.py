"""Which of a user's accounts a session works in."""

from agentgate.lib.enums import AccountRole, AccountStatus, MemberStatus
from agentgate.lib.moment import Moment
from agentgate.people.accounts.records import Limits, Member, Membership, StoredAccount
from agentgate.people.accounts.signing_in import choose_membership


def membership(account_id: str, status: AccountStatus = AccountStatus.ACTIVE) -> Membership:
    member = Member(
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
    return Membership(member, account)


def test_the_wanted_account_is_kept_even_while_it_is_suspended() -> None:
    memberships = [membership("a"), membership("b", AccountStatus.SUSPENDED)]

    assert choose_membership(memberships, "b") == memberships[1]


def test_a_lost_account_gives_way_to_the_oldest_active_one() -> None:
    memberships = [membership("a", AccountStatus.SUSPENDED), membership("b"), membership("c")]

    assert choose_membership(memberships, "lost") == memberships[1]
    assert choose_membership(memberships, None) == memberships[1]


def test_a_suspended_account_is_better_than_none() -> None:
    memberships = [membership("a", AccountStatus.SUSPENDED)]

    assert choose_membership(memberships, None) == memberships[0]


def test_who_is_in_no_account_works_nowhere() -> None:
    assert choose_membership([], "a") is None
