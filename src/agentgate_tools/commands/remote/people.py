"""`agentgate setup-link` and `agentgate reset-link`: links for the owner, where no email can be sent."""

from typing import Annotated

from agentgate.lib.limits import LIST_PAGE
from agentgate_tools.commands.api_client import AdminApi
from agentgate_tools.commands.command import CommandAnswer, CommandRefused
from agentgate_tools.commands.parameters import Argument

PAGE = str(LIST_PAGE.most)


def setup_link(api: AdminApi) -> CommandAnswer:
    """Print the link with which the first owner creates an account.

    It works once within 7 days, and only while no user has a password. `agentgate serve` prints one at each start.
    """
    made = api.call("POST", "/setup-link")
    return CommandAnswer(made, made["setupUrl"], note=f"valid until {made['expiresAt']}")


def reset_link(email: Annotated[str, Argument(help="Email address of the user.")], api: AdminApi) -> CommandAnswer:
    """Print a link with which a user sets a new password. It works once within an hour."""
    wanted = email.strip().lower()
    found = next((each for each in api.items("/accounts", q=wanted, limit=PAGE) if each["email"] == wanted), None)
    if found is None:
        raise CommandRefused(f"no user has the address {email}; to see all of them, read /v1/admin/accounts")
    made = api.call("POST", f"/users/{found['userId']}/reset-link")
    return CommandAnswer(made, made["resetUrl"], note="valid for one hour")
