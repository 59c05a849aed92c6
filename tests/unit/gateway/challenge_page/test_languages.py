"""The page's languages: the same as in the SDK, all of their words, and the visitor's choice among them."""

import re
from pathlib import Path

import pytest

from agentgate.gateway.challenge_page.languages import SDK_WORDS, Languages

ROOT = Path(__file__).parents[4]
LANGUAGES = Languages()


def test_the_page_uses_every_language_of_the_sdk() -> None:
    packs = {path.stem for path in (ROOT / "src/agentgate/pages/static/sdk/v1/i18n").glob("*.json")}

    assert {language.tag for language in LANGUAGES.all()} == packs | {"en"}


def test_every_language_has_its_own_word_for_everything() -> None:
    english = LANGUAGES.choose("en").words
    for language in LANGUAGES.all():
        assert english.keys() <= language.words.keys(), language.tag
        assert all(text.strip() == text and text for text in language.words.values()), language.tag
        same = [name for name in english if language.tag != "en" and language.words[name] == english[name]]
        assert same == [], language.tag
        assert "{id}" in language.words["quote"], language.tag


def test_the_words_of_the_sdk_are_in_the_order_of_its_packs() -> None:
    source = (ROOT / "sdk/src/ui/strings.ts").read_text(encoding="utf-8")
    english = source.partition("ENGLISH = {")[2].partition("\n}")[0]

    assert tuple(re.findall(r"^  (\w+):", english, re.MULTILINE)) == SDK_WORDS


@pytest.mark.parametrize(
    ("header", "tag"),
    [
        (None, "en"),
        ("", "en"),
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("en;q=0.2, fr;q=0.9", "fr"),
        ("xx, pt-BR", "pt"),
        ("zh-Hant-HK", "zh-TW"),
        ("zh-TW", "zh-TW"),
        ("zh", "zh-CN"),
        ("zh-Hans-TW", "zh-CN"),
        ("nn-NO", "nb"),
        ("iw", "he"),
        ("de;q=0, ar", "ar"),
        ("*", "en"),
        ("../../etc/passwd", "en"),
        ("<script>alert(1)</script>", "en"),
        ("de;q=9", "en"),
        ("x" * 100_000, "en"),
    ],
)
def test_the_visitors_preference_counts(header: str | None, tag: str) -> None:
    assert LANGUAGES.choose(header).tag == tag


def test_four_languages_go_from_right_to_left() -> None:
    assert {each.tag for each in LANGUAGES.all() if each.direction == "rtl"} == {"ar", "fa", "he", "ur"}
