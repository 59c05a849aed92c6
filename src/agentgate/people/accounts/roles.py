"""What each role may do in an account."""

from collections.abc import Mapping
from types import MappingProxyType

from agentgate.lib.enums import AccountRole, ConsolePermission

_READ = frozenset({ConsolePermission.SITES_READ, ConsolePermission.ANALYTICS_READ, ConsolePermission.MEMBERS_READ})
_ALL = frozenset(ConsolePermission)

PERMISSIONS: Mapping[AccountRole, frozenset[ConsolePermission]] = MappingProxyType(
    {
        AccountRole.OWNER: _ALL,
        AccountRole.ADMIN: _ALL - {ConsolePermission.ACCOUNT_DELETE},
        AccountRole.MEMBER: _READ | {ConsolePermission.SITES_WRITE},
        AccountRole.READONLY: _READ,
    }
)
