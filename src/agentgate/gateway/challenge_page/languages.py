"""Languages: choosing the visitor's, and the page's texts in it. Texts that the SDK has too come from its packs."""

import json
from collections.abc import Mapping
from functools import cached_property
from importlib.resources import files

from msgspec import Struct

from agentgate.http.request import preferred_languages
from agentgate.lib.bounded_cache import BoundedCache

ENGLISH = "en"
RIGHT_TO_LEFT = frozenset({"ar", "fa", "he", "ur"})

# The SDK's packs are bare words in this order.
SDK_WORDS = (
    "title",
    "checking",
    "verified",
    "failed",
    "offline",
    "expired",
    "retry",
    "confirm",
    "hint",
    "wait",
    "continue",
    "cancel",
    "trouble",
    "help",
    "quote",
    "canceled",
    "why",
    "reason",
    "assistant",
)

# Headers whose language is cached.
_HEADERS, _LONGEST_HEADER = 1_024, 128
# Tags that browsers still send or that have their pack under another name.
_RENAMED = {"no": "nb", "nn": "nb", "iw": "he", "in": "id"}
_TRADITIONAL = frozenset({"hant", "tw", "hk", "mo"})


class Language(Struct, frozen=True):
    """One language: its tag, its direction, its words."""

    tag: str
    direction: str
    words: Mapping[str, str]


class Languages:
    """All languages of the page. The packs are read when the first page is rendered."""

    @cached_property
    def _known(self) -> Mapping[str, Language]:
        own = files("agentgate") / "gateway" / "challenge_page" / "page" / "words"
        of_sdk = files("agentgate") / "pages" / "static" / "sdk" / "v1" / "i18n"
        english = json.loads((own / "en.json").read_text(encoding="utf-8"))
        found = {ENGLISH: Language(ENGLISH, "ltr", english)}
        for entry in own.iterdir():
            tag = entry.name.removesuffix(".json")
            if tag == ENGLISH:
                continue
            shared = json.loads((of_sdk / entry.name).read_text(encoding="utf-8"))
            words = {
                **english,
                **dict(zip(SDK_WORDS, shared, strict=True)),
                **json.loads(entry.read_text(encoding="utf-8")),
            }
            found[tag] = Language(tag, "rtl" if tag in RIGHT_TO_LEFT else "ltr", words)
        return found

    def __init__(self) -> None:
        self._chosen: BoundedCache[str, Language] = BoundedCache(_HEADERS)

    def choose(self, accepted: str | None) -> Language:
        """Return the first supported language of an `Accept-Language` header. Default: English."""
        text = accepted or ""
        found = self._chosen.get(text)
        if found is None:
            found = self._choose(accepted)
            if len(text) <= _LONGEST_HEADER:
                self._chosen.put(text, found)
        return found

    def _choose(self, accepted: str | None) -> Language:
        for tag in preferred_languages(accepted):
            found = self._known.get(pack_of(tag))
            if found is not None:
                return found
        return self._known[ENGLISH]

    def all(self) -> tuple[Language, ...]:
        return tuple(self._known.values())


def pack_of(tag: str) -> str:
    """Return the name under which a language tag would have its pack: `zh-Hant-HK` is in `zh-TW`."""
    language, *rest = tag.lower().split("-")
    if language == "zh":
        return "zh-TW" if _TRADITIONAL & set(rest) and "hans" not in rest else "zh-CN"
    return _RENAMED.get(language, language)
