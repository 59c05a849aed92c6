"""WORDS: the lists of words that detectors search requests for, as words.toml has them."""

from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct, toml

Words = Annotated[tuple[Annotated[str, Meta(min_length=1)], ...], Meta(min_length=1)]


class WordLists(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The lists; words.toml describes each."""

    makers: Words
    legacy: Words
    personal_devices: Words
    generic_parts: Words
    package_managers: Words
    sync_clients: Words
    checkers: Words
    file_endings: Words
    subresources: Words
    webhook_headers: Words
    devices: dict[str, Words]
    families: dict[str, Words]

    def __post_init__(self) -> None:
        lists = [getattr(self, name) for name in self.__struct_fields__ if name not in {"devices", "families"}]
        for words in (*lists, *self.devices.values(), [label for labels in self.families.values() for label in labels]):
            twice = sorted({word for word in words if words.count(word) > 1})
            if twice:
                raise ValueError(f"listed twice: {', '.join(twice)}")


def read_words(text: str) -> WordLists:
    return toml.decode(text, type=WordLists)


WORDS = read_words(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
