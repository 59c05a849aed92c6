"""A small model of accounts, members, links and sign-ins, with which the service is compared."""

from dataclasses import dataclass, field

import pyotp

from tests.support.api_client import ApiClient

OWNED_ACCOUNTS = 3
MEMBERS = 4


@dataclass
class Person:
    """A person, with everything that the model knows about them."""

    email: str
    user_id: str = ""
    password: str | None = None
    suspended: bool = False
    authenticator: pyotp.TOTP | None = None
    # The newest session of theirs; None once it was ended.
    session: ApiClient | None = None


@dataclass
class Account:
    """An account and who is in it as what, by address."""

    id: str
    name: str
    status: str = "active"
    members: dict[str, str] = field(default_factory=dict)
    most_members: int = 10


@dataclass
class Link:
    """A one-time link that was sent to a person."""

    secret: str
    kind: str
    email: str
    account_id: str | None
    live: bool = True


@dataclass
class Model:
    """Everything."""

    people: dict[str, Person] = field(default_factory=dict)
    accounts: dict[str, Account] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)

    def add_link(self, link: Link) -> None:
        """Keep a link; it ends those before it of its kind, for this person and account."""
        for other in self.links:
            if (other.kind, other.email) == (link.kind, link.email) and (
                link.kind == "reset" or other.account_id == link.account_id
            ):
                other.live = False
        self.links.append(link)

    def end_links(self, email: str, *, kind: str | None = None, account_id: str | None = None) -> None:
        """End a person's links."""
        for link in self.links:
            if link.email == email and kind in {None, link.kind} and account_id in {None, link.account_id}:
                link.live = False

    def places(self, email: str) -> list[Account]:
        """Return the accounts that a person is in and that are not deleted."""
        return [each for each in self.accounts.values() if email in each.members and each.status != "deleted"]

    def owned(self, email: str) -> int:
        """Return how many accounts a person owns."""
        return sum(account.members[email] == "owner" for account in self.places(email))

    def is_last_owner(self, account: Account, email: str) -> bool:
        """Return whether the person is the only owner of the account."""
        owners = [other for other, role in account.members.items() if role == "owner"]
        return owners == [email]

    def can_accept(self, link: Link) -> bool:
        """Say whether an invitation lets its person in."""
        person = self.people[link.email]
        return link.live and person.password is None and not person.suspended

    def can_reset(self, link: Link) -> bool:
        """Say whether a reset link sets a password."""
        person = self.people[link.email]
        return link.live and person.password is not None and not person.suspended

    def delete(self, account: Account) -> None:
        """Delete an account: invitations to it end."""
        account.status = "deleted"
        for email in account.members:
            self.end_links(email, kind="invite", account_id=account.id)
