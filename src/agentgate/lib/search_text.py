"""Text as searches compare it: the same on every database, whose own ideas of case differ."""

import unicodedata


def folded(text: str) -> str:
    """Return text in which upper and lower case, and different spellings of the same character, are alike."""
    # Folding can bring forth what composes with its neighbour, so it is normalised again.
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def like_pattern(text: str) -> str:
    r"""Return the LIKE pattern, with `\` as its escape, that finds a folded text anywhere in another."""
    escaped = folded(text).replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
    return f"%{escaped}%"
