"""The browser check in front of the service's own forms: asking for an account, and signing in during an attack."""

from typing import Protocol

from agentgate.http.call import Call

# The actions that the service's own site needs for its forms.
REQUEST_ACCESS = "request_access"
SIGN_IN = "sign_in"


class BrowserCheck(Protocol):
    """Checks whether a browser-check token is valid for a form."""

    @property
    def site_key(self) -> str | None:
        """Return the site that issues the tokens; None if the service does not have its own site."""

    async def passes(self, token: str | None, call: Call, *, action: str) -> bool:
        """Return whether the check was passed; a token is used up by asking."""


class NoBrowserCheck:
    """Accepts every call: the service does not have its own site that could issue tokens."""

    site_key = None

    async def passes(self, token: str | None, call: Call, *, action: str) -> bool:  # noqa: ARG002 - the port's signature
        return True
