"""The form of `Accept-Language`: which languages a person reads is nobody's business, how a browser writes them is."""

from enum import IntEnum


class LanguageForm(IntEnum):
    """How the header is written."""

    NONE = 0
    # `*`, which no browser sends.
    ANY = 1
    USUAL = 2


def language_form(text: str | None) -> LanguageForm:
    """Return the form of a header's value; None where it did not come."""
    if text is None:
        return LanguageForm.NONE
    return LanguageForm.ANY if text == "*" else LanguageForm.USUAL
