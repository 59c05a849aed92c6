"""Names that people give: to themselves, to accounts, sites and credentials; and how searches compare them.

Case is folded here and not in SQL, because databases differ in it.
"""

import unicodedata

from agentgate.lib.errors import Refused

NAME_CHARACTERS = 100


def check_name(name: str, *, what: str = "name", code: str = "invalid_request") -> str:
    """Return a name without the spaces around it; reject one that is empty, too long or not on one visible line."""
    name = name.strip()
    if not 1 <= len(name) <= NAME_CHARACTERS or not name.isprintable():
        raise Refused(code, f"{what} must have 1 to {NAME_CHARACTERS} visible characters on one line.")
    return name


def folded(text: str) -> str:
    """Return text in which upper and lower case, and different spellings of the same character, are alike."""
    # Folding can bring forth what composes with its neighbor, so it is normalized again.
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def like_pattern(text: str) -> str:
    r"""Return the LIKE pattern, with `\` as its escape, that finds a folded text anywhere in another."""
    escaped = folded(text).replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
    return f"%{escaped}%"
