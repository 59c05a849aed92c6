"""Names that people give: to themselves, to accounts, sites and credentials."""

from agentgate.lib.errors import Refused

NAME_CHARACTERS = 100


def check_name(name: str, *, what: str = "name", code: str = "invalid_request") -> str:
    """Return a name without the spaces around it; refuse one that is empty, too long or not on one visible line."""
    name = name.strip()
    if not 1 <= len(name) <= NAME_CHARACTERS or not name.isprintable():
        raise Refused(code, f"{what} must have 1 to {NAME_CHARACTERS} visible characters on one line.")
    return name
