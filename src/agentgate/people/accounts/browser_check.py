"""The browser check in front of the form that asks for an account."""

from typing import Protocol

from agentgate.http.call import Call


class BrowserCheck(Protocol):
    """Says whether a browser-check token is good for the form."""

    async def passes(self, token: str | None, call: Call) -> bool:
        """Say whether the check was passed; a token is used up by asking."""
        ...


class NoBrowserCheck:
    """Lets everybody pass: the service has no site of its own that could issue tokens."""

    async def passes(self, token: str | None, call: Call) -> bool:  # noqa: ARG002 - the port's signature
        """Say yes."""
        return True
