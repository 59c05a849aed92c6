"""The form of `Accept-Language`, by which browsers differ from programs. The languages themselves do not count."""

import re
from enum import IntEnum

# As the three engines write them: no spaces, and a quality below one from the second on.
_USUAL = re.compile(r"[a-z]{2,8}(-[a-z0-9]{1,8})*(,[a-z]{2,8}(-[a-z0-9]{1,8})*;q=0\.[0-9]{1,3})*\Z", re.IGNORECASE)


class LanguageForm(IntEnum):
    """How the header is written."""

    NONE = 0
    # `*`, which no browser sends.
    ANY = 1
    USUAL = 2
    # As no browser writes it.
    ODD = 3


def language_form(text: str | None) -> LanguageForm:
    """Return the form of a header's value; None where it did not come."""
    if text is None:
        return LanguageForm.NONE
    if text == "*":
        return LanguageForm.ANY
    return LanguageForm.USUAL if _USUAL.match(text) else LanguageForm.ODD


def count_languages(text: str | None) -> int:
    """Return how many languages a header's value names."""
    return text.count(",") + 1 if text else 0
