"""Pieces of a text: hashed words, pairs of words, and three neighboring bytes. The input of models of text.

A hash cannot be turned back into a word, so a model file has no text in it. Numbers and links count as one word each.
"""

import re
from itertools import pairwise
from zlib import crc32

BUCKETS = 32_768
# A longer text is judged by its beginning.
LOOKED_AT_CHARACTERS = 800
NEIGHBORS = 3

_DIGITS = re.compile(r"\d+")
_LINK = re.compile(r"https?://\S+|www\.\S+|\b[\w-]+\.(?:com|net|org|info|biz|co|io|me|tv|us|uk|de|ru|cn|ly|gl|be)\b\S*")
_WORD = re.compile(r"\w+|[^\w\s]")


def pieces_of(text: str) -> set[int]:
    """Return the buckets that a text falls into."""
    plain = _DIGITS.sub("0", text[:LOOKED_AT_CHARACTERS].lower().replace("\ufeff", ""))
    joined = f" {' '.join(_WORD.findall(_LINK.sub(' urlurl ', plain)))} ".encode("utf-8", "replace")
    words = joined.split()
    found = [joined[at : at + NEIGHBORS] for at in range(len(joined) - NEIGHBORS + 1)]
    found += words
    found += map(b" ".join, pairwise(words))
    return {number % BUCKETS for number in map(crc32, found)}
