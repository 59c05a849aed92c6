"""Languages that people set their browsers to, and Accept-Language as each engine writes it."""

from typing import NamedTuple


class Language(NamedTuple):
    """A browser's language preferences: the default lists of Chromium and Firefox."""

    chromium: tuple[str, ...]
    firefox: tuple[str, ...]
    share: int


LANGUAGES = (
    Language(("en-US", "en"), ("en-US", "en"), 30),
    Language(("en-GB", "en-US", "en"), ("en-GB", "en"), 9),
    Language(("de-DE", "de", "en-US", "en"), ("de", "en-US", "en"), 8),
    Language(("fr-FR", "fr", "en-US", "en"), ("fr", "fr-FR", "en-US", "en"), 6),
    Language(("es-ES", "es"), ("es-ES", "es", "en-US", "en"), 5),
    Language(("es-419", "es"), ("es-MX", "es", "en-US", "en"), 4),
    Language(("pt-BR", "pt", "en-US", "en"), ("pt-BR", "pt", "en-US", "en"), 5),
    Language(("it-IT", "it", "en-US", "en"), ("it-IT", "it", "en-US", "en"), 4),
    Language(("nl-NL", "nl", "en-US", "en"), ("nl", "en-US", "en"), 3),
    Language(("pl-PL", "pl", "en-US", "en"), ("pl", "en-US", "en"), 3),
    Language(("ru-RU", "ru", "en-US", "en"), ("ru-RU", "ru", "en-US", "en"), 3),
    Language(("uk-UA", "uk", "ru", "en-US", "en"), ("uk-UA", "uk", "en-US", "en"), 1),
    Language(("tr-TR", "tr", "en-US", "en"), ("tr-TR", "tr", "en-US", "en"), 2),
    Language(("ja", "en-US", "en"), ("ja", "en-US", "en"), 4),
    Language(("ko-KR", "ko", "en-US", "en"), ("ko-KR", "ko", "en-US", "en"), 2),
    Language(("zh-CN", "zh"), ("zh-CN", "zh", "zh-TW", "zh-HK", "en-US", "en"), 3),
    Language(("zh-TW", "zh", "en-US", "en"), ("zh-TW", "zh", "en-US", "en"), 1),
    Language(("sv-SE", "sv", "en-US", "en"), ("sv-SE", "sv", "en-US", "en"), 1),
    Language(("da-DK", "da", "en-US", "en"), ("da", "en-US", "en"), 1),
    Language(("cs-CZ", "cs", "en"), ("cs", "sk", "en-US", "en"), 1),
    Language(("el-GR", "el", "en"), ("el-GR", "el", "en-US", "en"), 1),
    Language(("vi-VN", "vi", "en-US", "en"), ("vi-VN", "vi", "en-US", "en"), 1),
    Language(("id-ID", "id", "en-US", "en"), ("id", "en-US", "en"), 1),
    Language(("hi-IN", "hi", "en-US", "en"), ("hi-IN", "hi", "en-US", "en"), 1),
)
# Firefox wrote quality values in another way before.
FIREFOX_IN_TENTHS = 147


def in_tenths(tags: tuple[str, ...]) -> str:
    """Write a list as Chromium, WebKit and newer Firefox versions do: each weight is 0.1 below the one before."""
    return ",".join(tag if not place else f"{tag};q=0.{max(10 - place, 1)}" for place, tag in enumerate(tags))


def in_shares(tags: tuple[str, ...]) -> str:
    """Write a list as Firefox did before 147: the quality is divided evenly, and a half is rounded up."""
    count = len(tags)
    tenths = [(20 * (count - place) + count) // (2 * count) for place in range(count)]
    return ",".join(tag if not place else f"{tag};q=0.{tenths[place]}" for place, tag in enumerate(tags))


def firefox_languages(language: Language, version: int) -> str:
    """Return Accept-Language of a Firefox."""
    return in_tenths(language.firefox) if version >= FIREFOX_IN_TENTHS else in_shares(language.firefox)


def webkit_languages(language: Language) -> str:
    """Return Accept-Language of Safari: the system's language with its region, then without."""
    first = language.chromium[0]
    return in_tenths(tuple(dict.fromkeys((first, first.partition("-")[0]))))
