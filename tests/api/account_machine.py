"""Steps of users and operators in any order, each compared with the model. Run by `test_state_machine`."""

import itertools

import httpx
import pyotp
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.api.account_model import MEMBERS, OWNED_ACCOUNTS, Account, Link, Model, Person
from tests.support.api_client import ApiClient
from tests.support.service import RunningService

ROLES = st.sampled_from(["owner", "admin", "member", "readonly"])
WHO = st.integers(0, 4)
WHICH = st.integers(0, 30)
EXAMPLES = itertools.count()
PASSWORDS = ("seven purple bicycles hum", "eleven quiet lanterns sway")


class AccountMachine(RuleBasedStateMachine):
    """Five people and their accounts."""

    def __init__(self, service: RunningService) -> None:
        super().__init__()
        self.service = service
        self.operator = service.operator
        self.model = Model()
        self.example = next(EXAMPLES)
        self.clients: list[ApiClient] = []

    # ---- What the steps are made of ----

    def person(self, number: int) -> Person:
        email = f"person{number}@example{self.example}.example"
        return self.model.people.setdefault(email, Person(email))

    def account(self, number: int) -> Account:
        return list(self.model.accounts.values())[number % len(self.model.accounts)]

    def send(self, client: ApiClient, path: str, body: dict[str, object]) -> httpx.Response:
        # Half a minute between two steps: codes are new, and the windows of failures do not fill up.
        self.service.clock.advance(seconds=31)
        return client.post(path, json=body)

    def keep_session(self, person: Person, client: ApiClient, reply: httpx.Response) -> None:
        """Take a session over; with a second factor there is none before its code."""
        if person.authenticator is not None:
            assert reply.json() == {"mfaRequired": True}
            assert client.get("/v1/account/session").json()["error"] == "mfa_required"
            assert client.get("/v1/console/account").json()["error"] == "mfa_required"
            code = person.authenticator.at(self.service.clock.now_ms() // 1000)
            wrong = f"{(int(code) + 1) % 1_000_000:06}"
            assert client.post("/v1/account/login/mfa", json={"code": wrong}).status_code == 401
            twin = self.new_client()
            twin.cookies.update(client.cookies)
            reply = client.post("/v1/account/login/mfa", json={"code": code})
            assert reply.status_code == 200, reply.text
            assert twin.post("/v1/account/login/mfa", json={"code": code}).status_code == 401
        client.headers["X-CSRF-Token"] = reply.json()["csrfToken"]
        person.session = client

    def new_client(self) -> ApiClient:
        source = f"198.51.100.{next(EXAMPLES) % 250}"
        client = ApiClient(self.service.public_url, headers={"X-Forwarded-For": source})
        self.clients.append(client)
        return client

    def add_member(self, account: Account, person: Person, role: str, url: str | None) -> None:
        account.members[person.email] = role
        if url is not None:
            self.model.add_link(Link(url.partition("#")[2], "invite", person.email, account.id))

    # ---- Steps ----

    @initialize(has_joined=st.booleans(), has_mfa=st.booleans())
    def found_the_first_account(self, has_joined: bool, has_mfa: bool) -> None:
        person = self.person(0)
        body = {"email": person.email, "customerName": "First"}
        made = self.operator.post("/v1/admin/accounts", json=body).json()
        person.user_id = made["userId"]
        account = Account(made["customerId"], "First", most_members=MEMBERS)
        limits = {"limits": {"members": MEMBERS}}
        assert self.operator.patch(f"/v1/admin/customers/{account.id}", json=limits).status_code == 200
        self.model.accounts[account.id] = account
        self.add_member(account, person, "owner", made["inviteUrl"])
        # Many walks would end before they have come this far by themselves.
        if has_joined:
            self.accept(0)
            self.make_reset_link(0)
        if has_joined and has_mfa:
            self.turn_mfa_on(0)

    @rule(who=WHO, which=WHICH, role=ROLES)
    def invite(self, who: int, which: int, role: str) -> None:
        person, account = self.person(who), self.account(which)
        body = {"email": person.email.upper(), "role": role}
        reply = self.send(self.operator, f"/v1/admin/customers/{account.id}/members", body)
        full = len(account.members) >= account.most_members
        if account.status == "deleted" or person.email in account.members or full:
            assert reply.status_code == 409
            return
        assert reply.status_code == 201, reply.text
        person.user_id = reply.json()["member"]["userId"]
        assert ("inviteUrl" in reply.json()) == (person.password is None)
        self.add_member(account, person, role, reply.json().get("inviteUrl"))

    @precondition(lambda self: any(link.kind == "invite" for link in self.model.links))
    @rule(which=WHICH)
    def accept(self, which: int) -> None:
        invites = [link for link in self.model.links if link.kind == "invite"]
        link = invites[which % len(invites)]
        person, client = self.model.people[link.email], self.new_client()
        body = {"token": link.secret, "password": PASSWORDS[0]}
        can_accept = self.model.can_accept(link)
        reply = self.send(client, "/v1/account/invite/accept", body)
        assert (reply.status_code == 200) == can_accept, reply.text
        if can_accept:
            person.password = PASSWORDS[0]
            self.model.end_links(person.email)
            self.keep_session(person, client, reply)

    @rule(who=WHO, wrong=st.booleans())
    def sign_in(self, who: int, wrong: bool) -> None:
        person, client = self.person(who), self.new_client()
        body = {"email": person.email, "password": "" if wrong else person.password or PASSWORDS[0]}
        reply = self.send(client, "/v1/account/login", body)
        if wrong or person.password is None:
            # Locked out after five in a row, or simply wrong; the windows are tested elsewhere.
            assert reply.status_code in {401, 429}
        elif reply.status_code != 429:
            assert reply.status_code == (403 if person.suspended else 200), reply.text
            if not person.suspended:
                self.keep_session(person, client, reply)

    @rule(who=WHO)
    def turn_mfa_on(self, who: int) -> None:
        person = self.person(who)
        if person.session is None or person.suspended:
            return
        reply = self.send(person.session, "/v1/account/mfa/setup", {})
        assert reply.status_code == (200 if person.authenticator is None else 409), reply.text
        if reply.status_code == 200:
            authenticator = pyotp.TOTP(reply.json()["secret"])
            code = authenticator.at(self.service.clock.now_ms() // 1000)
            assert person.session.post("/v1/account/mfa/enable", json={"code": code}).status_code == 200
            person.authenticator = authenticator

    @rule(who=WHO)
    def turn_mfa_off(self, who: int) -> None:
        person = self.person(who)
        if person.session is None or person.suspended or person.authenticator is None:
            return
        self.service.clock.advance(seconds=31)
        code = person.authenticator.at(self.service.clock.now_ms() // 1000)
        body = {"password": person.password, "code": code}
        reply = person.session.post("/v1/account/mfa/disable", json=body)
        if reply.status_code != 429:
            assert reply.status_code == 204, reply.text
            person.authenticator = None

    @rule(who=WHO, which=WHICH, role=ROLES)
    def change_role(self, who: int, which: int, role: str) -> None:
        person, account = self.person(who), self.account(which)
        url = f"/v1/admin/customers/{account.id}/members/{person.user_id or 'usr_0000000000000000'}"
        reply = self.operator.patch(url, json={"role": role})
        if person.email not in account.members:
            assert reply.status_code == 404
        elif self.model.is_last_owner(account, person.email) and role != "owner":
            assert reply.json()["error"] == "last_owner"
        elif account.status != "deleted" or reply.status_code == 200:
            assert reply.status_code == 200, reply.text
            account.members[person.email] = role

    @rule(who=WHO, which=WHICH)
    def remove(self, who: int, which: int) -> None:
        person, account = self.person(who), self.account(which)
        url = f"/v1/admin/customers/{account.id}/members/{person.user_id or 'usr_0000000000000000'}"
        reply = self.operator.delete(url)
        if person.email not in account.members:
            assert reply.status_code == 404
        elif self.model.is_last_owner(account, person.email):
            assert reply.json()["error"] == "last_owner"
        elif account.status != "deleted" or reply.status_code == 204:
            assert reply.status_code == 204, reply.text
            del account.members[person.email]
            self.model.end_links(person.email, kind="invite", account_id=account.id)

    @rule(which=WHICH, step=st.sampled_from(["suspend", "reactivate", "delete"]))
    def change_account(self, which: int, step: str) -> None:
        account = self.account(which)
        url = f"/v1/admin/customers/{account.id}"
        working = self.people_working_in(account) if step == "delete" else []
        if step == "delete":
            reply = self.operator.request("DELETE", url, json={"confirm": account.name})
        else:
            reply = self.operator.post(f"{url}/{step}", json={"reason": "a reason"} if step == "suspend" else {})
        can = account.status == "active" if step != "reactivate" else account.status != "active"
        assert reply.status_code == (200 if can else 409), reply.text
        if can and step == "delete":
            self.model.delete(account)
            for person in working:
                self.drop_session(person)
        elif can:
            account.status = "suspended" if step == "suspend" else "active"

    def people_working_in(self, account: Account) -> list[Person]:
        """Return the people whose session has this account as its active one."""
        found = []
        for person in self.model.people.values():
            if person.session is not None and not person.suspended:
                shown = person.session.get("/v1/account/session").json()
                if shown.get("account", {}).get("id") == account.id:
                    found.append(person)
        return found

    @rule(who=WHO, step=st.sampled_from(["suspend", "reactivate"]))
    def change_user(self, who: int, step: str) -> None:
        person = self.person(who)
        if not person.user_id:
            return
        reply = self.operator.post(f"/v1/admin/users/{person.user_id}/{step}", json={} if step == "suspend" else None)
        can = person.suspended == (step == "reactivate")
        assert reply.status_code == (200 if can else 409), reply.text
        person.suspended = step == "suspend"
        if can and step == "suspend":
            self.model.end_links(person.email, kind="reset")
        elif can:
            # Nothing brings back what the suspension ended.
            self.drop_session(person)

    def drop_session(self, person: Person) -> None:
        """Check that the service no longer accepts the person's session, then drop it."""
        if person.session is not None:
            assert person.session.get("/v1/account/session").status_code == 401
        person.session = None

    @rule(who=WHO)
    def make_reset_link(self, who: int) -> None:
        person = self.person(who)
        if not person.user_id:
            return
        reply = self.operator.post(f"/v1/admin/users/{person.user_id}/reset-link")
        can = person.password is not None and not person.suspended
        assert reply.status_code == (200 if can else 409), reply.text
        if can:
            self.model.add_link(Link(reply.json()["resetUrl"].partition("#")[2], "reset", person.email, None))

    @precondition(lambda self: any(link.kind == "reset" for link in self.model.links))
    @rule(which=WHICH)
    def reset(self, which: int) -> None:
        resets = [link for link in self.model.links if link.kind == "reset"]
        link = resets[which % len(resets)]
        person, client = self.model.people[link.email], self.new_client()
        password = PASSWORDS[person.password == PASSWORDS[0]]
        can_reset = self.model.can_reset(link)
        reply = self.send(client, "/v1/account/password/reset", {"token": link.secret, "password": password})
        assert (reply.status_code == 200) == can_reset, reply.text
        if can_reset:
            person.password = password
            self.model.end_links(person.email)
            self.drop_session(person)
            self.keep_session(person, client, reply)

    @rule(who=WHO, which=WHICH)
    def switch(self, who: int, which: int) -> None:
        person, account = self.person(who), self.account(which)
        if person.session is None or person.suspended:
            return
        reply = self.send(person.session, "/v1/account/switch", {"accountId": account.id})
        is_there = account in self.model.places(person.email)
        assert reply.status_code == (200 if is_there else 404), reply.text
        if is_there:
            person.session.headers["X-CSRF-Token"] = reply.json()["csrfToken"]

    @rule(who=WHO)
    def found_account(self, who: int) -> None:
        person = self.person(who)
        if person.session is None or person.suspended:
            return
        name = f"Account {len(self.model.accounts)}"
        reply = self.send(person.session, "/v1/account/accounts", {"name": name})
        can = self.model.owned(person.email) < OWNED_ACCOUNTS
        assert reply.status_code == (201 if can else 409), reply.text
        if can:
            account = Account(reply.json()["account"]["id"], name)
            account.members[person.email] = "owner"
            self.model.accounts[account.id] = account
            person.session.headers["X-CSRF-Token"] = reply.json()["csrfToken"]

    # ---- What always holds ----

    @invariant()
    def members_are_as_the_model_says_and_one_is_an_owner(self) -> None:
        for account in self.model.accounts.values():
            detail = self.operator.get(f"/v1/admin/customers/{account.id}").json()
            members = {member["email"]: member["role"] for member in detail["memberList"]}
            assert (detail["status"], members) == (account.status, account.members)
            assert account.status == "deleted" or "owner" in members.values()
            assert len(members) <= account.most_members

    @invariant()
    def a_link_works_exactly_while_it_should(self) -> None:
        for link in self.model.links[-4:]:
            if link.kind == "invite":
                reply = self.service.public.get(f"/v1/account/invite/{link.secret}")
                assert (reply.status_code == 200) == link.live, (link, reply.text)

    @invariant()
    def nobody_is_let_in_who_should_not_be(self) -> None:
        for person in self.model.people.values():
            if person.session is None:
                continue
            session = person.session.get("/v1/account/session").status_code
            console = person.session.get("/v1/console/account").status_code
            states = {account.status for account in self.model.places(person.email)}
            assert session == (403 if person.suspended else 200)
            if person.suspended or "active" not in states:
                assert console == 403
            elif states == {"active"}:
                assert console == 200

    def teardown(self) -> None:
        for client in self.clients:
            client.close()


def run_machine(service: RunningService, *, examples: int, steps: int, fixed: bool) -> None:
    """Take random walks, each with new people; `fixed` repeats the same walks in every run."""
    run_state_machine_as_test(
        lambda: AccountMachine(service),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            derandomize=fixed,
            # Only generate: shrinking a walk takes minutes, and the long walk shows the failure too.
            phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
        ),
    )
