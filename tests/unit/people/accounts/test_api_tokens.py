"""A new API token can get only permissions that its creator has."""

import pytest

from agentgate.http.call import Actor, Call
from agentgate.http.request import Request
from agentgate.lib.enums import ActorKind, ApiTokenScope, ConsolePermission
from agentgate.lib.errors import Refused
from agentgate.lib.moment import Moment
from agentgate.people.accounts.api_tokens import new_token
from agentgate.people.accounts.records import ApiTokenInput

CALL = Call(
    request=Request(method="POST", path="", query_string=b"", headers=[], address="192.0.2.1", secure=False),
    request_id="r",
    now=Moment(1_000),
    params={},
    route="",
    caller=Actor(kind=ActorKind.USER, name="ann@acme.example", account_id="acc_1"),
)
READS = {ConsolePermission.SITES_READ, ConsolePermission.TOKENS_WRITE}


def test_a_token_has_what_was_queried_and_its_makers_name() -> None:
    token = new_token(CALL, ApiTokenInput(name=" CI ", scopes=[ApiTokenScope.SITES_READ]), READS)

    assert (token.name, token.scopes, token.created_by) == ("CI", [ApiTokenScope.SITES_READ], "ann@acme.example")


def test_a_scope_that_its_maker_lacks_is_rejected_by_name() -> None:
    body = ApiTokenInput(name="CI", scopes=[ApiTokenScope.SITES_READ, ApiTokenScope.SITES_WRITE])

    with pytest.raises(Refused) as refused:
        new_token(CALL, body, READS)

    assert refused.value.code == "forbidden"
    assert "sites:write" in (refused.value.message or "")


def test_every_scope_is_a_permission_and_none_reaches_members_tokens_or_the_account() -> None:
    assert {scope.value for scope in ApiTokenScope} <= {permission.value for permission in ConsolePermission}
    assert [scope for scope in ApiTokenScope if scope.startswith(("tokens:", "account:", "audit:"))] == []
    assert "members:write" not in {scope.value for scope in ApiTokenScope}
