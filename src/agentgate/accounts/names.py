"""Names that people give to themselves and to their accounts."""

from agentgate.accounts.records import NAME_CHARACTERS
from agentgate.errors import Refused


def check_name(name: str, *, what: str = "name") -> str:
    """Return a name without the spaces around it, or refuse it."""
    name = name.strip()
    if not 1 <= len(name) <= NAME_CHARACTERS or not name.isprintable():
        raise Refused("invalid_request", f"{what} must have 1 to {NAME_CHARACTERS} visible characters on one line.")
    return name
