"""Sealed tokens and saved forms: only their holder can open them, within their time, once."""

import msgspec
import pytest

from agentgate.browser_check.tokens.repository import Redemption
from agentgate.gateway.challenge_page.sealed_token import (
    LIFETIME_MS,
    PageHolder,
    SavedForm,
    SavedForms,
    SealedTokens,
    read_form,
)
from agentgate.http.decode import RawBody
from agentgate.lib.keyring import Keyring, StoredKey

NOW_MS = 1_794_744_000_000
HOLDER = PageHolder("st_1", "site_shop", "https://shop.example", "0123456789abcdef")


class Spent:
    """A table of what was spent."""

    def __init__(self) -> None:
        self.rows: set[tuple[str, str]] = set()

    async def spend(self, site_id: str, receipt_id: str, _: Redemption, *, issued_ms: int, kept_until_ms: int) -> bool:
        assert issued_ms <= NOW_MS < kept_until_ms
        is_new = (site_id, receipt_id) not in self.rows
        self.rows.add((site_id, receipt_id))
        return is_new


def keyring(*materials: bytes) -> Keyring:
    keys = [
        (StoredKey(id=str(n), purpose="challenge", sealed=b"", created_ms=n, active_ms=n), material)
        for n, material in enumerate(materials)
    ]
    return Keyring(keys, NOW_MS)


@pytest.fixture
def sealed_tokens() -> SealedTokens:
    return SealedTokens(keyring(b"k" * 32), Spent())  # type: ignore[arg-type]  # the one method that is used


def seal(sealed_tokens: SealedTokens, kind: str = "ticket") -> str:
    return sealed_tokens.seal(kind, b"hello", HOLDER, not_before_ms=NOW_MS + 5, expires_ms=NOW_MS + 10)


def test_a_sealed_token_is_opened_within_its_time_only(sealed_tokens: SealedTokens) -> None:
    text = seal(sealed_tokens)

    opened = [sealed_tokens.open("ticket", text, HOLDER, now_ms=NOW_MS + n) is not None for n in (4, 5, 9, 10)]

    assert opened == [False, True, True, False]


@pytest.mark.parametrize("field", ["site_key", "origin", "visitor"])
def test_a_sealed_token_is_its_holders_alone(sealed_tokens: SealedTokens, field: str) -> None:
    other = msgspec.structs.replace(HOLDER, **{field: "another"})

    assert sealed_tokens.open("ticket", seal(sealed_tokens), other, now_ms=NOW_MS + 5) is None


def test_one_kind_does_not_pass_for_another(sealed_tokens: SealedTokens) -> None:
    assert sealed_tokens.open("capsule", seal(sealed_tokens), HOLDER, now_ms=NOW_MS + 5) is None


def test_no_changed_byte_goes_unnoticed(sealed_tokens: SealedTokens) -> None:
    text = seal(sealed_tokens)

    for at in range(len(text) - 1):
        changed = text[:at] + ("A" if text[at] != "A" else "B") + text[at + 1 :]
        assert sealed_tokens.open("ticket", changed, HOLDER, now_ms=NOW_MS + 5) is None


@pytest.mark.parametrize("text", ["", "A", "AAAA", "%%%", "é", "A" * 10_000, "=", "A A"])
def test_what_is_no_sealed_token_is_none(sealed_tokens: SealedTokens, text: str) -> None:
    assert sealed_tokens.open("ticket", text, HOLDER, now_ms=NOW_MS + 5) is None


def test_a_sealed_token_outlives_the_rotation_of_its_key() -> None:
    text = seal(SealedTokens(keyring(b"a" * 32), Spent()))  # type: ignore[arg-type]  # as above
    later = SealedTokens(keyring(b"a" * 32, b"b" * 32), Spent())  # type: ignore[arg-type]  # as above
    never = SealedTokens(keyring(b"b" * 32), Spent())  # type: ignore[arg-type]  # as above

    assert later.open("ticket", text, HOLDER, now_ms=NOW_MS + 5) is not None
    assert never.open("ticket", text, HOLDER, now_ms=NOW_MS + 5) is None


@pytest.mark.anyio
async def test_a_saved_form_is_taken_once(sealed_tokens: SealedTokens) -> None:
    saved_forms = SavedForms(sealed_tokens)
    form = SavedForm("https://shop.example/send", "application/x-www-form-urlencoded", [("a", "1"), ("a", "2")])
    text = saved_forms.close(form, HOLDER, now_ms=NOW_MS)

    assert await saved_forms.take(text, HOLDER, now_ms=NOW_MS + 1) == form
    assert await saved_forms.take(text, HOLDER, now_ms=NOW_MS + 2) is None


@pytest.mark.anyio
async def test_a_saved_form_is_over_after_ten_minutes(sealed_tokens: SealedTokens) -> None:
    saved_forms = SavedForms(sealed_tokens)
    text = saved_forms.close(SavedForm("u", "e", []), HOLDER, now_ms=NOW_MS)

    assert await saved_forms.take(text, HOLDER, now_ms=NOW_MS + LIFETIME_MS) is None


def form(content: bytes | None, content_type: str) -> list[tuple[str, str]] | None:
    found = read_form(RawBody(content=content, content_type=content_type), "u")
    return None if found is None else found.fields


def test_a_form_keeps_order_repetitions_and_empty_fields() -> None:
    fields = form(b"b=2&a=%C3%A9+x&b=&c=%0D%0A", "application/x-www-form-urlencoded; charset=UTF-8")

    assert fields == [("b", "2"), ("a", "é x"), ("b", ""), ("c", "\r\n")]


MULTIPART = (
    b'--xx\r\nContent-Disposition: form-data; name="na\xc3\xafve"\r\n\r\none\r\ntwo\r\n'
    b'--xx\r\nContent-Disposition: form-data; name="b"\r\n\r\n\xe2\x82\xac\r\n--xx--\r\n'
)


def test_a_multipart_form_without_files_is_carried() -> None:
    assert form(MULTIPART, "multipart/form-data; boundary=xx") == [("naïve", "one\r\ntwo"), ("b", "€")]


@pytest.mark.parametrize(
    ("content", "content_type"),
    [
        (None, "application/x-www-form-urlencoded"),
        (b"{}", "application/json"),
        (b"a=%ff", "application/x-www-form-urlencoded"),
        (b"a=\xe9", "application/x-www-form-urlencoded"),
        (b"a=1&" * 2000, "application/x-www-form-urlencoded"),
        (MULTIPART, "multipart/form-data"),
        (MULTIPART, "multipart/form-data; boundary=yy"),
        (MULTIPART.replace(b'name="b"', b'name="b"; filename="x.txt"'), "multipart/form-data; boundary=xx"),
        (MULTIPART.replace(b'name="b"', b"x=y"), "multipart/form-data; boundary=xx"),
    ],
)
def test_what_cannot_be_carried_is_not_tried(content: bytes | None, content_type: str) -> None:
    assert form(content, content_type) is None
