"""Price: an amount of money in its currency's minor units, and the one way it is written: `USD 0.05`."""

from msgspec import Struct

LONGEST_WHOLE = 9
_DIGITS = frozenset("0123456789")
_CAPITALS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")


class Price(Struct, frozen=True, gc=False):
    """So many hundredths of a currency."""

    currency: str
    minor_units: int

    def text(self) -> str:
        """Return the form that goes over the wire."""
        whole, rest = divmod(self.minor_units, 100)
        return f"{self.currency} {whole}.{rest:02d}"


def read_price(text: str) -> Price | None:
    """Return the price in a text; None unless it is three capitals, a space, whole units, and two decimals.

    Character by character and no regular expression: agents choose the text, and other scripts have digits too.
    """
    currency, space, amount = text.partition(" ")
    whole, point, decimals = amount.partition(".")
    if not space or not point or len(currency) != 3 or len(decimals) != 2 or not 1 <= len(whole) <= LONGEST_WHOLE:
        return None
    if not _CAPITALS.issuperset(currency) or not _DIGITS.issuperset(whole + decimals):
        return None
    if whole[0] == "0" and whole != "0":
        return None
    return Price(currency, int(whole) * 100 + int(decimals))
