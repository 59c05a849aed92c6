"""Sec-CH-UA as Chromium makes it: three brands in an order, one of them made up, all by the major version."""

# The made-up brand keeps programs from reading more into the list than it promises (GREASE).
_CHARACTERS = (" ", "(", ":", "-", ".", "/", ")", ";", "=", "?", "_")
_VERSIONS = ("8", "99", "24")
# Places of the made-up brand, of "Chromium" and of the browser's own.
_ORDERS = ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))


def brand_list(brand: str, major: int, own: str = "") -> str:
    """Return Sec-CH-UA of a browser made from this version of Chromium; `own` is its own version where that differs."""
    first, second = _CHARACTERS[major % len(_CHARACTERS)], _CHARACTERS[(major + 1) % len(_CHARACTERS)]
    brands = (
        (f"Not{first}A{second}Brand", _VERSIONS[major % len(_VERSIONS)]),
        ("Chromium", major),
        (brand, own or major),
    )
    listed = [""] * len(brands)
    for place, (name, version) in zip(_ORDERS[major % len(_ORDERS)], brands, strict=True):
        listed[place] = f'"{name}";v="{version}"'
    return ", ".join(listed)
