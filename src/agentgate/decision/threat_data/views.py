"""Parsed User-Agents and looked-up addresses, as they are cached."""

from msgspec import Struct

from agentgate.decision.threat_data.search_operators import SearchOperator
from agentgate.lib.enums import AiPurpose


class UserAgentView(Struct, frozen=True, kw_only=True, gc=False):
    """A User-Agent, understood."""

    labels: tuple[str, ...]
    # Labels of the agent or crawler that it claims to be.
    claim_labels: tuple[str, ...] = ()
    claimed_agent: str | None = None
    # `chromium`, `firefox`, `safari`, `webkit`, `edgehtml`, `trident`, `legacy`, or nothing.
    engine: str = ""
    major: int = 0
    # As Sec-CH-UA-Platform writes it; nothing when it is not clear.
    platform: str = ""
    mobile: bool = False
    # `tv`, `console`, `webview`, `legacy`: they leave out headers that other browsers send.
    device: str = ""
    is_mail_program: bool = False
    # Chrome, Edge or Opera under the name that they have themselves; apps made of Chromium add theirs.
    is_plain: bool = False
    # Words by which a site may name this program as wanted; none for browsers.
    programs: tuple[str, ...] = ()
    # The name of the listed program that it is, as one part of a label; None for tools of attack and libraries.
    program: str | None = None
    # Operators of search engines and other programs, not of AI, whose program it claims to be.
    search: tuple[SearchOperator, ...] = ()
    # AI operators whose programs it claims to be, each with what the named program does.
    ai: tuple[tuple[SearchOperator, AiPurpose], ...] = ()


class AddressView(Struct, frozen=True, gc=False):
    """An address, looked up."""

    labels: tuple[str, ...]
    # Operators whose published networks contain it, as bits.
    search: int = 0
