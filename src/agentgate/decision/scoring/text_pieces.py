"""Pieces of a text: hashed words and four neighboring bytes. The input of models that learn from text.

A hash cannot be turned back into a word, so a model file has no text in it. Numbers and links count as one word each.
"""

import re
from zlib import crc32

BUCKETS = 32_768
# A longer text is judged by its beginning.
LOOKED_AT_CHARACTERS = 800
NEIGHBORS = 4

_DIGITS = re.compile(r"\d+")
_LINK = re.compile(r"https?://\S+|www\.\S+|\b[\w-]+\.(?:com|net|org|info|biz|co|io|me|tv|us|uk|de|ru|cn|ly|gl|be)\b\S*")
_WORD = re.compile(r"\w+|[^\w\s]")


def pieces_of(text: str) -> set[int]:
    """Return the buckets that a text falls into."""
    plain = _DIGITS.sub("0", text[:LOOKED_AT_CHARACTERS].lower().replace("\ufeff", ""))
    words = _WORD.findall(_LINK.sub(" urlurl ", plain))
    joined = f" {' '.join(words)} ".encode("utf-8", "replace")
    found = {joined[at : at + NEIGHBORS] for at in range(len(joined) - NEIGHBORS + 1)}
    found.update(word.encode("utf-8", "replace") for word in words)
    return {crc32(piece) % BUCKETS for piece in found}
