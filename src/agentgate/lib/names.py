"""Names that people give: to themselves, to accounts, sites and credentials; and how searches compare them.

Case is folded here and not in SQL, because databases differ in it.
"""

import unicodedata

from agentgate.lib.errors import Refused

NAME_CHARACTERS = 100
# They shape letters in Persian and Indic scripts, and join emoji. Other format characters, such as bidirectional
# controls, can make a name look like another text.
_JOINERS = "\u200c\u200d"
# Printable for Unicode, and blank on the screen: fillers and an empty Braille pattern.
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")


def check_name(name: str, *, what: str = "name", code: str = "invalid_request") -> str:
    """Return a name without the spaces around it; reject one that is empty, too long or not on one visible line."""
    name = name.strip()
    plain = name.translate(dict.fromkeys(map(ord, _JOINERS)))
    if not len(name) <= NAME_CHARACTERS or not plain.isprintable() or not any(map(_is_visible, plain)):
        raise Refused(code, f"{what} must have 1 to {NAME_CHARACTERS} visible characters on one line.")
    return name


def _is_visible(character: str) -> bool:
    return character not in _BLANK and unicodedata.category(character)[0] not in "MZC"


def folded(text: str) -> str:
    """Return text in which upper and lower case, and different spellings of the same character, are alike."""
    # Folding can bring forth what composes with its neighbor, so it is normalized again.
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def like_pattern(text: str) -> str:
    r"""Return the LIKE pattern, with `\` as its escape, that finds a folded text anywhere in another."""
    escaped = folded(text).replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
    return f"%{escaped}%"
