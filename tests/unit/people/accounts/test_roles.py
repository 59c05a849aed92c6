"""The permissions of each role: the specification's sentences, one by one."""

from agentgate.lib.enums import AccountRole, ApiTokenScope, ConsolePermission
from agentgate.people.accounts.records import PERMISSIONS

READ = {"sites:read", "analytics:read", "members:read"}


def test_an_owner_holds_every_permission() -> None:
    assert PERMISSIONS[AccountRole.OWNER] == set(ConsolePermission)


def test_an_admin_holds_everything_but_deleting_the_account() -> None:
    assert set(ConsolePermission) - PERMISSIONS[AccountRole.ADMIN] == {ConsolePermission.ACCOUNT_DELETE}


def test_a_member_reads_and_changes_sites() -> None:
    assert PERMISSIONS[AccountRole.MEMBER] == READ | {"sites:write"}


def test_a_reader_reads() -> None:
    assert PERMISSIONS[AccountRole.READONLY] == READ


def test_every_role_has_its_row() -> None:
    assert set(PERMISSIONS) == set(AccountRole)


def test_every_scope_of_an_api_token_is_a_permission_that_members_hold() -> None:
    assert {ConsolePermission(scope) for scope in ApiTokenScope} == PERMISSIONS[AccountRole.MEMBER]
