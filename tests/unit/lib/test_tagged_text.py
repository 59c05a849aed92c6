"""Tagged text is readable only for the kind and context it was written for."""

import pytest

from agentgate.lib.keyring import Keyring, StoredKey
from agentgate.lib.tagged_text import TaggedText

KIND = b"kind"


@pytest.fixture
def keyring() -> Keyring:
    stored = StoredKey(id="1", purpose="challenge", sealed=b"", created_ms=0, active_ms=0)
    return Keyring([(stored, b"k" * 32)], 1)


def test_text_is_read_in_its_context(keyring: Keyring) -> None:
    tagged = TaggedText(keyring, "challenge", KIND)
    text = tagged.write(b"content", b"site", b"visitor").decode()

    assert tagged.read(text, b"site", b"visitor") == b"content"
    assert TaggedText(keyring, "challenge", KIND).read(text, b"site", b"visitor") == b"content"


def test_text_of_another_context_or_kind_is_unreadable(keyring: Keyring) -> None:
    tagged = TaggedText(keyring, "challenge", KIND)
    text = tagged.write(b"content", b"site", b"visitor").decode()

    for context in ((b"site", b"other"), (b"sitevisitor",), (b"site",), (b"sit", b"evisitor"), ()):
        assert tagged.read(text, *context) is None, context
    assert TaggedText(keyring, "challenge", b"other").read(text, b"site", b"visitor") is None


def test_a_changed_character_makes_text_unreadable(keyring: Keyring) -> None:
    tagged = TaggedText(keyring, "challenge", KIND)
    text = tagged.write(b"content", b"site").decode()

    for place in range(len(text)):
        changed = f"{text[:place]}{'A' if text[place] != 'A' else 'B'}{text[place + 1 :]}"
        assert tagged.read(changed, b"site") is None, changed
    for odd in ("", "A", text[:20], f"{text}=", "é"):
        assert tagged.read(odd, b"site") is None, odd
