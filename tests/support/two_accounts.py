"""Acme and Globex with one of everything, and all possible callers: the needs of tests over all routes.

Callers are the headers they send, so that no response can change the caller of the next request.
"""

from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from agentgate.agents.handoff.repository import HandoffRequest
from agentgate.agents.identity import Identity
from agentgate.events.decision_ids import read_id
from agentgate.gateway.appeals.records import StoredAppeal
from agentgate.gateway.suggestions.records import SeenGroup, SuggestionGroup
from agentgate.lib.enums import AccountRole, AgentVerdict, ApiTokenScope, AppealState, Outcome
from agentgate.lib.ids import new_appeal_id, new_passkey_id, write_visitor
from agentgate.people.identity.records import LinkKind, StoredUser
from agentgate.people.identity.sessions import ACCOUNT_COOKIE
from tests.api.account.steps import begin_with_mfa, make_link, turn_mfa_on
from tests.api.console.steps import run_sql
from tests.api.traffic_steps import number_of, record
from tests.support.api_client import ApiClient
from tests.support.cast import EMAILS, PASSWORD, Cast, add_account, add_user, cast, operator_client, signed_in_client
from tests.support.service import ADMIN_KEY, NOON_MS, RunningService
from tests.unit.decision.scoring.made_models import logistic

Headers = dict[str, str]
NEW_PASSWORD = "eleven quiet lanterns sway"
LIST_ENTRY = {"kind": "program", "value": "curl/*", "outcome": "block"}
URL_LIST = {"source": "url", "url": "https://lists.invalid/drop.txt"}
RULE_SET = {"version": "1", "rules": [], "default_action": "allow"}
SAMPLE = {"method": "GET", "url": "https://shop.example/", "headers": {}, "address": "192.0.2.1"}


@dataclass(frozen=True, kw_only=True)
class Things:
    """The IDs of one of everything that an account has."""

    account: str
    site: str
    credential: str
    fleet: str
    member: str
    invited: str
    # To the account's owner, from the other account.
    invitation: str
    token: str
    session: str
    request: str
    decision: str
    visitor: str
    webhook: str
    list_entry: str
    network_list: str
    appeal: str
    answered_appeal: str
    suggestion: str
    accepted_suggestion: str
    handoff: str
    grant: str


@dataclass(frozen=True, kw_only=True)
class Scene:
    """The possible callers, and the things that they may request."""

    callers: dict[str, Headers]
    acme: Things
    globex: Things
    invite: str
    reset: str
    suspended_user: str
    user_with_mfa: str
    passkey: str


def set_scene(service: RunningService) -> Scene:
    """Create everything."""
    _install_models(service)
    people = cast(service)
    acme = _things(service, people.alice, people.acme, domain="acme.example", invitation=_invite(people.carol, "alice"))
    globex = _things(
        service, people.carol, people.globex, domain="globex.example", invitation=_invite(people.alice, "carol")
    )
    callers = {"anonymous": {}, **_members(people), **_tokens(service, people), **_operators(service)}
    suspended = add_user(service, "sam@acme.example", account_id=people.acme)
    with_mfa = add_user(service, "milo@acme.example", account_id=people.acme, role=AccountRole.MEMBER)
    callers |= _outsiders(service, suspended, with_mfa)
    callers["foreign owner"] = headers_of(people.carol)
    invited = add_user(service, "ines@acme.example", account_id=people.acme, role=AccountRole.MEMBER, invited=True)
    # Room for one more than the people of this scene.
    limits = {"limits": {"members": 20}}
    assert service.operator.patch(f"/v1/admin/customers/{people.acme}", json=limits).status_code == 200
    return Scene(
        callers=callers,
        acme=acme,
        globex=globex,
        invite=make_link(service, LinkKind.INVITE, invited.id, people.acme),
        reset=make_link(service, LinkKind.RESET, people.user_ids["bob"]),
        suspended_user=suspended.id,
        user_with_mfa=with_mfa.id,
        passkey=_passkey(service, with_mfa.id),
    )


def _passkey(service: RunningService, user: str) -> str:
    """Store a passkey of a user, and return its ID."""
    made = new_passkey_id()
    columns = "id, user_id, credential_id, public_key, origin, name, sign_count, created_ms"
    row = (made, user, b"credential", b"key", service.public_url, "Key", 0, NOON_MS)
    run_sql(service, f"INSERT INTO passkey ({columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)", *row)
    return made


def _install_models(service: RunningService) -> None:
    """Let there be a model of the kind `bot` in every role."""
    candidate = "/v1/admin/models/bot/candidate"
    assert service.operator.put(candidate, json=logistic(version="scene-1")).status_code == 200
    assert service.operator.post("/v1/admin/models/bot/promote").status_code == 200
    assert service.operator.put(candidate, json=logistic(version="scene-2")).status_code == 200


def headers_of(client: ApiClient) -> Headers:
    """Return what makes a client who it is."""
    cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in client.cookies.jar)
    found = {"Cookie": cookies, "X-CSRF-Token": client.headers.get("X-CSRF-Token", "")}
    return {name: value for name, value in found.items() if value}


def _invite(inviter: ApiClient, name: str) -> str:
    """Invite one of the people; return the invitation's ID."""
    reply = inviter.post("/v1/console/members", json={"email": EMAILS[name], "role": "readonly"})
    found: str = reply.json()["member"]["userId"]
    return found


def _things(service: RunningService, owner: ApiClient, account_id: str, *, domain: str, invitation: str) -> Things:
    made = owner.post("/v1/console/sites", json={"name": "Shop"}).json()
    site, number = made["siteKey"], number_of(service, made["id"])
    [decision] = record(service, made["id"], {"visitor": number, "at_ms": NOON_MS - number})
    credential = owner.post(f"/v1/console/sites/{site}/credentials", json={"name": "Web"}).json()["credential"]["id"]
    fleets = f"/v1/admin/customers/{account_id}/fleet-credentials"
    member = add_user(service, f"mia@{domain}", account_id=account_id, role=AccountRole.MEMBER)
    invited = owner.post("/v1/console/members", json={"email": f"ivan@{domain}", "role": "member"}).json()["member"]
    token = owner.post("/v1/console/tokens", json={"name": "Spare", "scopes": ["sites:read"]}).json()["token"]["id"]
    hook = {"url": "https://hooks.invalid/", "events": ["decisions"]}
    webhook = owner.post(f"/v1/console/sites/{site}/webhooks", json=hook).json()["webhook"]["id"]
    listed = {"kind": "address", "value": "203.0.113.7", "outcome": "block"}
    list_entry = owner.post(f"/v1/console/sites/{site}/list-entries", json=listed).json()["id"]
    network_list = f"of-{domain.partition('.')[0]}"
    for name, source in ((network_list, {"source": "own"}), (f"url-{network_list}", URL_LIST)):
        assert owner.put(f"/v1/console/sites/{site}/network-lists/{name}", json=source).status_code == 200
    asked = {"email": f"new@{domain}", "name": "Nora", "company": domain}
    assert service.public.post("/v1/account/request-access", json=asked).status_code == 202
    requests = service.operator.get("/v1/admin/access-requests").json()["items"]
    handoff, grant = _agents_things(service, site)
    return Things(
        invitation=invitation,
        account=account_id,
        site=site,
        credential=credential,
        fleet=service.operator.post(fleets, json={"name": "Web"}).json()["credential"]["id"],
        member=member.id,
        invited=invited["userId"],
        token=token,
        session=owner.get("/v1/account/sessions").json()["items"][0]["id"],
        webhook=webhook,
        list_entry=list_entry,
        network_list=network_list,
        appeal=_appeal(service, made["id"], read_id(decision) or 0, number),
        answered_appeal=_answered_appeal(service, made["id"], (read_id(decision) or 0) + 1, number),
        suggestion=_suggestion(service, made["id"], "/hooks/pay"),
        accepted_suggestion=_accepted_suggestion(service, owner, made),
        handoff=handoff,
        grant=grant,
        decision=decision,
        visitor=f"{number:016x}",
        request=next(request["id"] for request in requests if request["email"] == asked["email"]),
    )


def _appeal(service: RunningService, site_id: str, decision: int, visitor: int, **answer: Any) -> str:
    """Return a pending appeal. The given fields can resolve it."""
    waiting = StoredAppeal(
        id=new_appeal_id(),
        site_id=site_id,
        link_digest=new_appeal_id(),
        decision=decision,
        visitor=write_visitor(visitor),
        outcome=Outcome.BLOCK,
        method="GET",
        route="/",
        rule=None,
        message="I am a person.",
        state=AppealState.WAITING,
        created_ms=NOON_MS,
    )
    made = replace(waiting, **answer)
    service.change(lambda stores: stores.appeals.add_appeal(made))
    return made.id


def _suggestion(service: RunningService, site_id: str, path: str) -> str:
    """Return a suggestion that no user has accepted."""
    group = SuggestionGroup("POST", path, "", "stripe", "stripe", is_proven=True)
    seen = SeenGroup(site_id, group, 7, ["00" * 8], NOON_MS, NOON_MS)
    service.change(lambda stores: stores.suggestions.add_seen([seen]))
    listed = service.run(service.application.stores.store.read.suggestions.list_suggestions(site_id))
    return next(each.id for each in listed if each.path == path)


def _accepted_suggestion(service: RunningService, owner: ApiClient, site: dict[str, Any]) -> str:
    made = _suggestion(service, site["id"], "/hooks/accepted")
    accepted = owner.post(f"/v1/console/sites/{site['siteKey']}/suggestions/{made}/accept", json={})
    assert accepted.status_code == 200, accepted.text
    return made


def _answered_appeal(service: RunningService, site_id: str, decision: int, visitor: int) -> str:
    answer = {"state": AppealState.REFUSED, "answered_ms": NOON_MS, "answered_by": "operator", "reply": "No."}
    return _appeal(service, site_id, decision, visitor, **answer)


def _agents_things(service: RunningService, site_key: str) -> tuple[str, str]:
    """Return an agent's handoff that waits for a person, and a grant that one gave."""
    agents = service.application.agents
    service.run(service.application.refresher.refresh())
    site = service.application.refresher.sites.find(site_key)
    assert site is not None
    identity = Identity(verdict=AgentVerdict.VERIFIED, agent="https://agent.example", keyid="key")
    request = HandoffRequest(submission_id="1", content_digest="", decision_id="dec_0000000000000", content={})
    opened = service.run(
        agents.handoffs.open(site=site, action="submit", identity=identity, request=request, now_ms=NOON_MS)
    )
    handoff = service.run(agents.handoffs.find(opened.id))
    assert handoff is not None
    grant = service.run(agents.handoffs.give_grant(handoff, uses=1, hours=1, now_ms=NOON_MS))
    return opened.id, grant.id


def _members(people: Cast) -> dict[str, Headers]:
    owner = headers_of(people.alice)
    return {
        "owner": owner,
        "admin": headers_of(people.adam),
        "member": headers_of(people.bob),
        "readonly": headers_of(people.rita),
        "owner without CSRF token": {"Cookie": owner["Cookie"]},
    }


def _tokens(service: RunningService, people: Cast) -> dict[str, Headers]:
    def create(scopes: list[str]) -> tuple[str, Headers]:
        made = people.alice.post("/v1/console/tokens", json={"name": "CI", "scopes": scopes}).json()
        return made["token"]["id"], {"Authorization": f"Bearer {made['secret']}"}

    found = {f"token {scope}": create([scope])[1] for scope in ApiTokenScope}
    empty_id, found["token without scope"] = create(["sites:read"])
    run_sql(service, "UPDATE api_token SET scopes = '[]' WHERE id = $1", empty_id)
    revoked_id, found["revoked token"] = create([scope.value for scope in ApiTokenScope])
    assert people.alice.delete(f"/v1/console/tokens/{revoked_id}").status_code == 204
    return found


def _operators(service: RunningService) -> dict[str, Headers]:
    session = headers_of(operator_client(service))
    return {
        "operator key": {"X-Admin-Key": ADMIN_KEY},
        "operator session": session,
        "operator session without CSRF token": {"Cookie": session["Cookie"]},
    }


def _outsiders(service: RunningService, suspended: StoredUser, with_mfa: StoredUser) -> dict[str, Headers]:
    """Return signed-in users who have no account to work in now."""
    closed, strict = add_account(service, "Closed"), add_account(service, "Strict", require_mfa=True)

    def person(name: str, account_id: str | None) -> Headers:
        user = add_user(service, f"{name}@{name}.example", account_id=account_id)
        return headers_of(signed_in_client(service, user, account_id=account_id))

    found = {
        "suspended account": person("cleo", closed),
        "no account": person("noah", None),
        "two-factor missing": person("stan", strict),
        "suspended user": headers_of(signed_in_client(service, suspended, account_id=None)),
    }
    reply = service.operator.post(f"/v1/admin/customers/{closed}/suspend", json={"reason": "unpaid bills"})
    assert reply.status_code == 200, reply.text
    assert service.operator.post(f"/v1/admin/users/{suspended.id}/suspend", json={}).status_code == 200
    turn_mfa_on(service, signed_in_client(service, with_mfa, account_id=None))
    begun = begin_with_mfa(service, with_mfa.email)
    assert begun.cookies[ACCOUNT_COOKIE]
    return {**found, "pre-session": headers_of(begun)}


BODIES_OF_SITES: dict[str, Any] = {
    f"{method} /v1/{surface}/sites/{{siteKey}}/{path}": body
    for surface in ("console", "admin")
    for method, path, body in (
        ("POST", "test", {"origin": "https://a.acme.example"}),
        ("PUT", "network-lists/{listName}", {"source": "own"}),
        ("POST", "suggestions/{suggestionId}/accept", {"note": "payments"}),
        ("POST", "network-lists/{listName}/networks", {"add": ["192.0.2.0/24"]}),
    )
}


def bodies(scene: Scene) -> dict[str, Any]:
    """Return a body for each route that takes one: it works for every permitted caller."""
    login = {"email": "alice@acme.example", "password": PASSWORD}
    return {
        "POST /handoff/{id}": {"choice": "decline"},
        "POST /v1/docs/feedback": {"page": "/docs/operations", "helpful": True},
        "POST /v1/account/request-access": {"email": "new@third.example", "name": "Nina"},
        "POST /v1/account/login": login,
        "POST /v1/account/login/mfa": {"code": "000000"},
        "POST /v1/account/switch": {"accountId": scene.acme.account},
        "POST /v1/account/accounts": {"name": "Second"},
        "POST /v1/account/invite/accept": {"token": scene.invite, "password": NEW_PASSWORD},
        "POST /v1/account/password/forgot": {"email": "alice@acme.example"},
        "POST /v1/account/password/reset": {"token": scene.reset, "password": NEW_PASSWORD},
        "POST /v1/account/mfa/enable": {"code": "000000"},
        "POST /v1/account/mfa/disable": {"password": PASSWORD, "code": "000000"},
        "POST /v1/account/mfa/passkeys/{id}/remove": {"password": PASSWORD},
        "POST /v1/account/password": {"currentPassword": PASSWORD, "newPassword": NEW_PASSWORD},
        "PATCH /v1/console/account": {"name": "Acme Two"},
        "DELETE /v1/console/account": {"confirm": "Acme"},
        "POST /v1/console/account/transfer-ownership": {"userId": scene.acme.member},
        "POST /v1/console/members": {"email": "zoe@acme.example", "role": "member"},
        "PATCH /v1/console/members/{userId}": {"role": "readonly"},
        "POST /v1/console/sites": {"name": "Second"},
        "PUT /v1/console/notices": {"kinds": ["health"]},
        "PATCH /v1/console/sites/{siteKey}": {"name": "Renamed"},
        "POST /v1/console/tokens": {"name": "New", "scopes": ["sites:read"]},
        "POST /v1/console/sites/{siteKey}/webhooks": {"url": "https://hooks.invalid/", "events": ["decisions"]},
        "PATCH /v1/console/sites/{siteKey}/webhooks/{webhookId}": {"enabled": False},
        "POST /v1/console/sites/{siteKey}/appeals/{appealId}/answer": {"answer": "refuse"},
        "PUT /v1/console/sites/{siteKey}/appeals/{appealId}/label": {"label": "human"},
        "POST /v1/admin/sites/{siteKey}/appeals/{appealId}/answer": {"answer": "refuse"},
        "PUT /v1/admin/sites/{siteKey}/appeals/{appealId}/label": {"label": "human"},
        "POST /v1/console/sites/{siteKey}/list-entries": LIST_ENTRY,
        "PUT /v1/console/sites/{siteKey}/list-entries/{entryId}": {"outcome": "allow"},
        "POST /v1/console/sites/{siteKey}/list-entries/backtest": LIST_ENTRY,
        **BODIES_OF_SITES,
        "POST /v1/admin/sites/{siteKey}/list-entries": LIST_ENTRY,
        "PUT /v1/admin/sites/{siteKey}/list-entries/{entryId}": {"outcome": "allow"},
        "POST /v1/admin/sites/{siteKey}/list-entries/backtest": LIST_ENTRY,
        "PUT /v1/console/sites/{siteKey}/rules": {"ruleSet": RULE_SET},
        "PUT /v1/console/sites/{siteKey}/agent-policy": {"default": "block"},
        "POST /v1/console/sites/{siteKey}/rules/validate": {"ruleSet": RULE_SET},
        "POST /v1/console/sites/{siteKey}/rules/test": {"request": SAMPLE},
        "POST /v1/console/sites/{siteKey}/rules/backtest": {"ruleSet": RULE_SET},
        "PUT /v1/admin/sites/{siteKey}/rules": {"ruleSet": RULE_SET},
        "PUT /v1/admin/sites/{siteKey}/agent-policy": {"default": "block"},
        "POST /v1/admin/sites/{siteKey}/rules/validate": {"ruleSet": RULE_SET},
        "POST /v1/admin/sites/{siteKey}/rules/test": {"request": SAMPLE},
        "POST /v1/admin/sites/{siteKey}/rules/backtest": {"ruleSet": RULE_SET},
        "POST /v1/admin/login": {"key": ADMIN_KEY},
        "POST /v1/admin/sites": {"siteKey": "site_second", "name": "Second"},
        "PATCH /v1/admin/sites/{siteKey}": {"name": "Renamed"},
        "PUT /v1/admin/decisions/{decisionId}/label": {"label": "bot"},
        "POST /v1/admin/labels": {"decisionId": scene.acme.decision, "label": "bot", "source": "probe"},
        "PUT /v1/admin/sites/{site}/feature-capture": {"enabled": True},
        "PUT /v1/admin/models/{kind}/{role}": logistic(version="scene-3"),
        "POST /v1/admin/sites/{siteKey}/move": {"customerId": scene.globex.account},
        "POST /v1/admin/sites/{siteKey}/webhooks": {"url": "https://hooks.invalid/", "events": ["decisions"]},
        "PATCH /v1/admin/sites/{siteKey}/webhooks/{webhookId}": {"enabled": False},
        "POST /v1/admin/accounts": {"email": "yann@third.example", "customerName": "Third"},
        "PATCH /v1/admin/customers/{id}": {"name": "Acme Two"},
        "DELETE /v1/admin/customers/{id}": {"confirm": "Acme"},
        "POST /v1/admin/customers/{id}/suspend": {"reason": "unpaid bills"},
        "POST /v1/admin/customers/{id}/sites": {"name": "Third"},
        "POST /v1/admin/customers/{id}/members": {"email": "zoe@acme.example", "role": "member"},
        "PATCH /v1/admin/customers/{id}/members/{userId}": {"role": "readonly"},
        "POST /v1/admin/users/{userId}/suspend": {},
    }
