"""Signing in, as it goes over the wire and as the store keeps it."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from agentgate.lib.enums import OperatorVia
from agentgate.lib.limits import OPERATOR_NAME_CHARACTERS
from agentgate.lib.moment import Moment
from agentgate.lib.records import Input, Record

# Letters, digits, single spaces and `. _ @ -`: nothing that could break out of a log line or a page.
OPERATOR_NAME_PATTERN = r"^[A-Za-z0-9._@-]+( [A-Za-z0-9._@-]+)*\Z"


class LoginRequest(Input, frozen=True, kw_only=True):
    """The operator credential, and the name under which the audit trail will show its bearer."""

    key: Annotated[str, Meta(max_length=512)]
    operator: Annotated[str, Meta(max_length=OPERATOR_NAME_CHARACTERS, pattern=OPERATOR_NAME_PATTERN)] | UnsetType = (
        UNSET
    )


class SessionInfo(Record, frozen=True, kw_only=True):
    """Who is signed in, and the token that changing requests must carry."""

    operator: str
    via: OperatorVia
    csrf_token: str | UnsetType = UNSET
    expires_at: Moment | UnsetType = UNSET


class OperatorSession(Struct, frozen=True, kw_only=True):
    """A session as stored. What the cookie carries is kept as a digest."""

    secret_digest: bytes
    id: str
    operator: str
    created_ms: int
    last_used_ms: int
    # Which operator key it was made with, as a MAC; None for one from before that was noted.
    key_tag: bytes | None
    browser: str
    address_id: str
    ended_ms: int | None = None


class OperatorSessionItem(Record, frozen=True, kw_only=True):
    """An operator's session as operators see it. The address is a keyed hash."""

    id: str
    operator: str
    current: bool
    browser: str
    address_id: str
    created_at: Moment
    last_used_at: Moment


class OperatorSessionList(Record, frozen=True, kw_only=True):
    """The live sessions of all operators, newest first."""

    items: list[OperatorSessionItem]
