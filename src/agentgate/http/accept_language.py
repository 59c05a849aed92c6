"""The reader of `Accept-Language`: the languages of a browser's user, the preferred one first."""

import re

# Browsers' headers are short; the rest of a long one is ignored.
LONGEST_HEADER = 512

_TAG = re.compile(r"\s*([A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*)\s*(?:;\s*[qQ]\s*=\s*([01](?:\.[0-9]{0,3})?)\s*)?\Z")


def preferred_languages(header: str | None) -> list[str]:
    """Return the language tags by weight; of equal weights the first one comes first."""
    weighed: list[tuple[float, str]] = []
    for part in (header or "")[:LONGEST_HEADER].split(","):
        match = _TAG.match(part)
        if match is not None and (weight := float(match[2] or 1)) > 0:
            weighed.append((-weight, match[1]))
    return [tag for _, tag in sorted(weighed, key=lambda each: each[0])]
