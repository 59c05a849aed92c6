"""Clearances: read back as issued, for their site and their time, and in one spelling only."""

import base64
from itertools import combinations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgate.browser_check.tokens.clearance import PREFIX, TAG_BYTES, ClearanceHolder, ClearanceRefused, Clearances
from agentgate.lib.enums import ClearanceLevel, Mode
from tests.unit.browser_check.tokens.made import NOW_MS, keyring

SITE = "site_abcdefgh12345678"
ORIGIN = "https://shop.example"
CHROME = b"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
JA4 = "t13d1516h2_8daaf6152771_02713d6af862"
HOLDER = ClearanceHolder("203.0.113.9", CHROME, JA4)
KEYRING = keyring()
CLEARANCES = Clearances(KEYRING, 1800)


def issue(clearances=CLEARANCES, **changes):
    usual = {
        "site_key": SITE,
        "origin": ORIGIN,
        "holder": HOLDER,
        "level": ClearanceLevel.CHECKED,
        "now_ms": NOW_MS,
    }
    return clearances.issue(**usual | changes)


def refusal(value, *, site_key=SITE, now_ms=NOW_MS, clearances=CLEARANCES):
    with pytest.raises(ClearanceRefused) as refused:
        clearances.read(value, site_key=site_key, now_ms=now_ms)
    return refused.value.reason


def packed(*fields, tag=b""):
    data = b"".join(len(field).to_bytes(2, "big") + field for field in fields) + tag
    return PREFIX + base64.urlsafe_b64encode(data).decode().rstrip("=")


def unpacked(value):
    text = value.removeprefix(PREFIX)
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    fields, at = [], 0
    while at < len(data) - TAG_BYTES:
        length = int.from_bytes(data[at : at + 2], "big")
        fields.append(data[at + 2 : at + 2 + length])
        at += 2 + length
    return fields, data[-TAG_BYTES:]


GOOD = issue().value


@pytest.mark.parametrize("level", ClearanceLevel)
def test_what_was_issued_reads_back_until_its_time_has_ended(level):
    issued = issue(level=level)

    read = CLEARANCES.read(issued.value, site_key=SITE, now_ms=NOW_MS + 1_800_000 - 1)

    assert (read.site_key, read.origin, read.level) == (SITE, ORIGIN, level)
    assert read.expires_ms == NOW_MS + 1_800_000
    assert CLEARANCES.is_held_by(read, HOLDER, Mode.ENFORCE)
    assert issued.expires_at == read.expires_ms
    assert refusal(issued.value, now_ms=NOW_MS + 1_800_000) == "expired_clearance"


def test_the_longest_origin_reads_back():
    origin = "https://" + ".".join(["a" * 63] * 3 + ["b" * 61]) + ":65535"

    assert CLEARANCES.read(issue(origin=origin).value, site_key=SITE, now_ms=NOW_MS).origin == origin


def test_a_renewed_clearance_keeps_its_id():
    first = CLEARANCES.read(GOOD, site_key=SITE, now_ms=NOW_MS)

    renewed = issue(renewed=first.id, now_ms=NOW_MS + 60_000)

    assert CLEARANCES.read(renewed.value, site_key=SITE, now_ms=NOW_MS + 60_000).id == first.id
    assert CLEARANCES.read(issue().value, site_key=SITE, now_ms=NOW_MS).id != first.id


def test_the_clearance_of_one_site_is_none_of_another():
    assert refusal(GOOD, site_key="site_abcdefgh12345679") == "invalid_clearance"
    # The clearance has also expired, but a request for another site must not learn whether it ever was valid.
    assert refusal(GOOD, site_key="site_other", now_ms=NOW_MS + 10**9) == "invalid_clearance"


def test_a_clearance_made_under_another_key_is_rejected():
    assert refusal(GOOD, clearances=Clearances(keyring(b"b"), 1800)) == "invalid_clearance"
    assert CLEARANCES.read(GOOD, site_key=SITE, now_ms=NOW_MS)


def test_a_clearance_outlives_the_rotation_of_its_key():
    rotated = Clearances(keyring(b"b", b"a"), 1800)

    assert rotated.read(GOOD, site_key=SITE, now_ms=NOW_MS).site_key == SITE


def test_a_tag_made_for_another_purpose_is_rejected():
    fields, _ = unpacked(GOOD)

    assert refusal(packed(*fields, tag=KEYRING.mac("challenge", *fields))) == "invalid_clearance"
    assert packed(*fields, tag=KEYRING.mac("clearance", *fields)) == GOOD


def test_no_byte_can_be_moved_from_one_field_into_its_neighbour():
    fields, tag = unpacked(GOOD)

    moved = []
    for place in range(len(fields) - 1):
        left, right = fields[place], fields[place + 1]
        moved.append([*fields[:place], left[:-1], left[-1:] + right, *fields[place + 2 :]])
        moved.append([*fields[:place], left + right[:1], right[1:], *fields[place + 2 :]])
        moved.append([*fields[:place], left + right, *fields[place + 2 :]])
        moved.append([*fields[:place], left + right, b"", *fields[place + 2 :]])
    for first, second in combinations(range(len(fields)), 2):
        swapped = list(fields)
        swapped[first], swapped[second] = fields[second], fields[first]
        moved.append(swapped)

    assert {refusal(packed(*changed, tag=tag)) for changed in moved} == {"invalid_clearance"}


def test_the_fields_of_two_clearances_cannot_be_mixed():
    (fields, tag), (others, _) = (
        unpacked(GOOD),
        unpacked(issue(holder=ClearanceHolder("198.51.100.9", b"other"), level=ClearanceLevel.STEP_UP).value),
    )

    for place, other in enumerate(others):
        if other != fields[place]:
            mixed = [*fields[:place], other, *fields[place + 1 :]]
            assert refusal(packed(*mixed, tag=tag)) == "invalid_clearance"


@pytest.mark.parametrize("count", [0, 1, 6, 8, 9])
def test_another_number_of_fields_is_rejected_even_when_we_authenticated_it(count):
    fields = (unpacked(GOOD)[0] * 2)[:count]

    assert refusal(packed(*fields, tag=KEYRING.mac("clearance", *fields))) == "invalid_clearance"


@pytest.mark.parametrize(
    ("place", "content"),
    [(4, b"high"), (4, b""), (0, b"\xff"), (6, b"\0" * 7), (6, b"\0" * 9), (2, b"A" * 21), (3, b"t"), (3, b"T.A")],
)
def test_a_field_of_another_form_is_rejected_even_when_we_authenticated_it(place, content):
    fields = unpacked(GOOD)[0]
    fields[place] = content

    assert refusal(packed(*fields, tag=KEYRING.mac("clearance", *fields))) == "invalid_clearance"


@pytest.mark.parametrize(
    "value",
    [
        *("", "agc2.", "agc2", "agc2..", "agc2.A", "agc2.AA", GOOD.removeprefix(PREFIX), GOOD[:-1], GOOD[:-4]),
        *(GOOD + mark for mark in ("=", "==", "A", "AAAA", " ", "\n", "\0", "+", "\u0661")),
        *(f"{prefix}{GOOD.removeprefix(PREFIX)}" for prefix in ("agc1.", "AGC1.", "agc2:", " agc2.", "agc2.agc2.")),
        *("agc2." + "A" * 2000, "agc2." + "_" * 300, GOOD[:40] + "\n" + GOOD[40:], GOOD.swapcase()),
    ],
)
def test_another_spelling_is_rejected(value):
    assert refusal(value) == "invalid_clearance"


@given(st.integers(0, len(GOOD) - 1), st.sampled_from("ABCabc019_-=.+/ \n\u0660"))
def test_a_clearance_with_one_character_changed_is_rejected(place, character):
    changed = GOOD[:place] + character + GOOD[place + 1 :]

    if changed != GOOD:
        assert refusal(changed) == "invalid_clearance"


@given(st.text(max_size=200))
def test_any_text_is_rejected_without_a_failure(text):
    assert refusal(PREFIX + text) == "invalid_clearance"
    assert refusal(text) == "invalid_clearance"


def test_the_cookie_has_another_name_for_each_site_and_installation():
    names = [Clearances(KEYRING, 1800, issuer=issuer).cookie_name(site) for issuer in ("a", "b") for site in ("c", "d")]

    assert len(set(names)) == 4
    assert issue().name == CLEARANCES.cookie_name(SITE)
    assert len(issue().name) == len("ag_clearance_") + 8


@pytest.mark.parametrize(
    "changes",
    [
        {"address": "203.0.113.250"},
        {"ja4": None},
        {"ja4": "none"},
        # A resumed session over HTTP/1.1, and another transport.
        {"ja4": "t13d1517h1_8daaf6152771_ffffffffffff"},
        {"ja4": "q13d0310h3_55b375c5d22e_cd85d2d88918"},
    ],
)
def test_a_clearance_stays_with_its_browser_in_its_network(changes):
    held = CLEARANCES.read(GOOD, site_key=SITE, now_ms=NOW_MS)

    assert CLEARANCES.is_held_by(held, msgspec.structs.replace(HOLDER, **changes), Mode.MONITOR)


@pytest.mark.parametrize(
    "changes",
    [
        {"address": "203.0.114.9"},
        {"address": "2001:db8::1"},
        {"user_agent": CHROME.replace(b"142", b"141")},
        {"user_agent": b"sqlmap/1.8"},
        {"user_agent": None},
        {"ja4": "t13d1516h2_85036bcba153_02713d6af862"},
    ],
)
def test_a_clearance_is_worth_nothing_with_another_network_browser_or_tls_library(changes):
    held = CLEARANCES.read(GOOD, site_key=SITE, now_ms=NOW_MS)

    assert not CLEARANCES.is_held_by(held, msgspec.structs.replace(HOLDER, **changes), Mode.MONITOR)


def test_a_clearance_without_a_tls_fingerprint_is_compared_without_it():
    held = CLEARANCES.read(issue(holder=ClearanceHolder("203.0.113.9", CHROME)).value, site_key=SITE, now_ms=NOW_MS)

    assert CLEARANCES.is_held_by(held, HOLDER, Mode.ENFORCE)


def test_the_holder_of_one_site_cannot_be_followed_at_another():
    first, second = (
        CLEARANCES.read(issue(site_key=site).value, site_key=site, now_ms=NOW_MS) for site in (SITE, "site_other")
    )

    assert first.holder != second.holder
    assert first.ja4 != second.ja4
