"""One spelling of each email address, and one user for it."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgate.lib.enums import UserStatus
from agentgate.lib.errors import Refused
from agentgate.people.identity.users import canonical_email, find_or_create_user
from tests.unit.people.identity.calls import NOW_MS, make_call

LONG_LABEL = "a" * 63
# 254 characters: 64 before the @, 189 behind it.
LONGEST = "x" * 64 + "@" + ".".join([LONG_LABEL, LONG_LABEL, "b" * 57, "com"])

ACCEPTED = [
    ("ann@example.com", "ann@example.com"),
    ("Ann@Example.COM", "ann@example.com"),
    ("ANN.LEE@EXAMPLE.COM", "ann.lee@example.com"),
    # Dots and tags matter to some servers only, so they are kept.
    ("a.n.n@gmail.example", "a.n.n@gmail.example"),
    ("ann+tag@example.com", "ann+tag@example.com"),
    ("o'brien@example.com", "o'brien@example.com"),
    ("!#$%&'*+-/=?^_`{|}~@example.com", "!#$%&'*+-/=?^_`{|}~@example.com"),
    ("1@example.com", "1@example.com"),
    ("-@example.com", "-@example.com"),
    ("a@b.c", "a@b.c"),
    ("a@1.com", "a@1.com"),
    ("a@sub.sub.example.co.uk", "a@sub.sub.example.co.uk"),
    ("a@ex-ample.com", "a@ex-ample.com"),
    ("a@" + LONG_LABEL + ".com", "a@" + LONG_LABEL + ".com"),
    ("x" * 64 + "@example.com", "x" * 64 + "@example.com"),
    (LONGEST, LONGEST),
    ("a@bücher.example", "a@xn--bcher-kva.example"),
    ("a@Bücher.Example", "a@xn--bcher-kva.example"),
    ("a@BÜCHER.example", "a@xn--bcher-kva.example"),
    ("a@bu\u0308cher.example", "a@xn--bcher-kva.example"),
    ("a@xn--bcher-kva.example", "a@xn--bcher-kva.example"),
    ("a@XN--BCHER-KVA.example", "a@xn--bcher-kva.example"),
    ("a@straße.example", "a@xn--strae-oqa.example"),
    ("a@例え.jp", "a@xn--r8jz45g.jp"),
    ("a@ελληνικός.gr", "a@xn--qxaegecap6byf.gr"),
    ("a@אבג.example", "a@xn--4dbcd.example"),
    ("a@xn--fsqu00a.xn--0zwm56d", "a@xn--fsqu00a.xn--0zwm56d"),
    # Letters that look like others are others.
    ("a@\u0430pple.example", "a@xn--pple-43d.example"),
    ("a@m\u0131ke.example", "a@xn--mke-jua.example"),
    # The sign for ohm is, in Unicode's own terms, the letter omega.
    ("a@\u2126hm.example", "a@xn--hm-dcc.example"),
    ("a@\u0130stanbul.example", "a@xn--istanbul-o0e.example"),
]

REFUSED = [
    "",
    "@",
    "ann",
    "ann@",
    "@example.com",
    "ann example.com",
    # More than one @, quoted or not.
    "ann@bob@example.com",
    "ann@@example.com",
    "ann@example.com@",
    '"ann@bob"@example.com',
    '"ann"@example.com',
    '"ann lee"@example.com',
    "ann\\@bob@example.com",
    # Nothing is trimmed.
    " ann@example.com",
    "ann@example.com ",
    "ann @example.com",
    "ann@ example.com",
    "an n@example.com",
    "ann@exam ple.com",
    "\tann@example.com",
    "ann@example.com\n",
    "ann\n@example.com",
    "ann@example.com\r\nBcc: bob@example.com",
    "ann\r\nbcc:x@example.com",
    "ann@example\0.com",
    "ann\0@example.com",
    "ann\x7f@example.com",
    "ann\u00a0@example.com",
    "ann@example.com\u00a0",
    "ann@example\u2028.com",
    "\ufeffann@example.com",
    # Forms that other programs read as several addresses, or as a name with an address.
    "Ann <ann@example.com>",
    "<ann@example.com>",
    "ann@example.com,bob@example.org",
    "ann@example.com;bob@example.org",
    "mailto:ann@example.com",
    "ann(comment)@example.com",
    "ann@example.com(comment)",
    # Dots.
    ".ann@example.com",
    "ann.@example.com",
    "an..n@example.com",
    "ann@example.com.",
    "ann@.example.com",
    "ann@example..com",
    "ann@.",
    # Letters that lower-casing or normalization would turn into others: before the @ only ASCII is taken.
    "m\u0131ke@example.com",
    "M\u0130KE@example.com",
    "mi\u212ae@example.com",
    "\uff41nn@example.com",
    "\u0430nn@example.com",
    "änn@example.com",
    "ann\u0301@example.com",
    "ann\u200b@example.com",
    "ann\u202e@example.com",
    "\ud800@example.com",
    # And behind it none that IDNA would change into ASCII, or drop.
    "ann@\u212aayak.com",
    "ann@\uff45xample.com",
    "ann@example\u3002com",
    "ann@example\uff0ecom",
    "ann@exa\u00admple.com",
    "ann@exa\u200dmple.com",
    "ann@exam\u200bple.com",
    "ann@\u017fite.com",
    "ann@\u2460.com",
    "ann@\ufb01re.com",
    "ann@exa\u202emple.com",
    "ann@\ud800.com",
    "ann@\u0308a.com",
    "ann@\u2603.com",
    "ann@\u05d0\u05d1a.com",
    # A capital sigma at the end may be either of two small ones, which are two domains.
    "ann@example.ΕΛΛΑΣ",
    # A-labels that are none.
    "ann@xn--.com",
    "ann@xn--a.com",
    "ann@xn--example-.com",
    "ann@ab--cd.com",
    # Domains that are none.
    "ann@-example.com",
    "ann@example-.com",
    "ann@exam_ple.com",
    "ann@exam/ple.com",
    "ann@example.com:25",
    "ann@example.com/",
    "ann@example.com#x",
    "ann@localhost",
    "ann@com",
    "ann@127.0.0.1",
    "ann@[127.0.0.1]",
    "ann@[IPv6:::1]",
    "ann@example.1",
    # Too long: each part, and the whole.
    "x" * 65 + "@example.com",
    "ann@" + "a" * 64 + ".com",
    "ann@" + "ü" * 60 + ".com",
    "y" + LONGEST,
    "x@" + "ü." * 60 + "com",
    "a" * 100_000 + "@example.com",
    "ann@" + "ü" * 100_000,
]


def shown(text):
    return ascii(text[:50])


@pytest.mark.parametrize(("text", "canonical"), ACCEPTED, ids=[shown(text) for text, _ in ACCEPTED])
def test_an_address_has_one_spelling(text, canonical):
    assert canonical_email(text) == canonical


@pytest.mark.parametrize("text", REFUSED, ids=shown)
def test_what_is_not_a_plain_address_is_rejected(text):
    with pytest.raises(Refused) as refused:
        canonical_email(text)

    assert refused.value.code == "invalid_request"
    assert "name@example.com" in refused.value.message


@given(st.text(max_size=20), st.text(max_size=20))
def test_the_canonical_spelling_of_a_canonical_spelling_is_itself(local, domain):
    try:
        canonical = canonical_email(f"{local}@{domain}.com")
    except Refused:
        return
    assert canonical.isascii()
    assert canonical_email(canonical) == canonical


@given(st.characters(min_codepoint=128))
def test_no_letter_outside_ascii_becomes_one_inside(character):
    try:
        canonical = canonical_email(f"a@x{character}y.com")
    except Refused:
        return
    assert canonical.startswith("a@xn--")


@pytest.mark.anyio
async def test_a_new_address_gets_a_user_without_a_password(store):
    made = await store.change(lambda stores: find_or_create_user(stores, make_call(), "Ann@Example.com", name="Ann"))

    assert made == await store.read.users.find_user_by_email("ann@example.com")
    assert (made.email, made.name, made.status) == ("ann@example.com", "Ann", UserStatus.ACTIVE)
    assert (made.password_hash, made.has_mfa, made.created_ms) == (None, False, NOW_MS)


@pytest.mark.anyio
async def test_a_known_address_keeps_its_user_and_name(store, ann):
    again = await store.change(lambda stores: find_or_create_user(stores, make_call(), "ANN@example.com", name="Eve"))

    assert again == ann


@pytest.mark.anyio
async def test_many_who_invite_one_address_at_once_get_the_same_user(store):
    async def invite(number):
        email = "dana@example.com" if number % 2 else "Dana@EXAMPLE.com"
        return await store.change(lambda stores: find_or_create_user(stores, make_call(), email))

    users = await asyncio.gather(*(invite(number) for number in range(64)))

    assert len({user.id for user in users}) == 1
