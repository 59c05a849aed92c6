"""Notices as members choose them, and the last notices about a site."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from agentgate.lib.records import Input, Record


class NoticeKind(StrEnum):
    """The subject of a mail."""

    HEALTH = "health"
    FLOOD = "flood"
    APPEALS = "appeals"
    PEOPLE = "people"
    SECRET = "secret"  # noqa: S105 - the name of a subject
    DIGEST = "digest"


NoticeKinds = Annotated[list[NoticeKind], Meta(max_length=len(NoticeKind))]


class NoticeChoice(Record, frozen=True, kw_only=True):
    """The notices that the caller gets by mail about the account's sites. `mail`: a mail server is set up."""

    kinds: list[NoticeKind]
    mail: bool


class NoticeInput(Input, frozen=True, kw_only=True):
    """The notices that the caller wants. An empty list stops all of them."""

    kinds: NoticeKinds


class Subscriber(Struct, frozen=True, kw_only=True):
    """A member who wants notices. `digest_ms`: when the last digest was sent, or chosen."""

    account_id: str
    user_id: str
    email: str
    kinds: frozenset[NoticeKind]
    digest_ms: int


class SiteState(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The last notices about a site."""

    health: str | None = None
    # Begin and end of the last busy time in a notice.
    flood_since_ms: int = 0
    flood_until_ms: int = 0
    # Time of the last notice of each kind.
    told_ms: dict[NoticeKind, int] = {}


class Notice(Struct, frozen=True, kw_only=True):
    """A sentence for the subject, and the text."""

    kind: NoticeKind
    title: str
    text: str
