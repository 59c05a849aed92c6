"""The identity of users: one canonical spelling of each email address, and one user for each of them."""

import re
import unicodedata

import idna

from agentgate.http.call import Call
from agentgate.lib.errors import Refused
from agentgate.lib.ids import new_user_id
from agentgate.people.identity.records import StoredUser
from agentgate.people.identity.repository import IdentityStores

EMAIL_CHARACTERS = 254
LOCAL_PART_CHARACTERS = 64
DOMAIN_CHARACTERS = 253

# RFC 5322's dot-atom. Quoted local parts are legal and unused; they would let spaces and a second @ in.
_LOCAL_PART = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*\Z")
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\Z")


def canonical_email(text: str) -> str:
    """Return the one spelling under which an address is stored and looked up; reject any but plain addresses.

    Nothing is trimmed or mapped in silence: two addresses that reach different mailboxes must never become one.
    """
    # Before anything that takes time by the length.
    if len(text) > EMAIL_CHARACTERS:
        raise _refused(f"it has more than {EMAIL_CHARACTERS} characters")
    local, at, domain = text.partition("@")
    if not at or "@" in domain:
        raise _refused("it does not have exactly one @")
    if len(local) > LOCAL_PART_CHARACTERS or not _LOCAL_PART.match(local):
        raise _refused(
            "the part before the @ must have 1 to 64 ASCII letters, digits and signs, without spaces or quotes"
        )
    email = f"{local.lower()}@{_canonical_domain(domain)}"
    if len(email) > EMAIL_CHARACTERS:
        raise _refused(f"it has more than {EMAIL_CHARACTERS} characters")
    return email


async def find_or_create_user(
    stores: IdentityStores, call: Call, email: str, *, name: str | None = None, user_id: str | None = None
) -> StoredUser:
    """Return the user of an address, made now if there is none.

    A new user has no password; name and ID are for a new user only. Leaves no audit entry: what the
    user is made for does.
    """
    email = canonical_email(email)
    user = await stores.users.find_user_by_email(email)
    if user is not None:
        return user
    user = StoredUser(id=user_id or new_user_id(), email=email, name=name, created_ms=call.now)
    if await stores.users.add_user(user):
        return user
    # Another request added the address after the first search. Adding waited for its commit.
    found = await stores.users.find_user_by_email(email)
    assert found is not None, "an address that is taken has a user"
    return found


def _canonical_domain(domain: str) -> str:
    plain = domain.lower() if domain.isascii() else _mapped(domain)
    try:
        # Also checks that what claims to be an A-label (`xn--`) is one, and the only spelling of its name.
        encoded = idna.encode(plain, strict=True).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        raise _refused("the part after the @ is not a domain name") from None
    labels = encoded.split(".")
    if len(encoded) > DOMAIN_CHARACTERS or not all(_LABEL.match(label) for label in labels):
        raise _refused("the part after the @ is not a domain name")
    if len(labels) < 2 or labels[-1].isdigit():
        raise _refused("the part after the @ is not a full domain name, such as example.com")
    return encoded


def _mapped(domain: str) -> str:
    """Lower the case and compose accents; reject a domain of which IDNA would change more, or drop something."""
    lowered = unicodedata.normalize("NFC", domain.lower())
    # The Kelvin sign lowers to a plain k: such a letter would turn into another one unseen.
    becomes_ascii = any(character.lower().isascii() for character in domain if not character.isascii())
    try:
        agreed = idna.uts46_remap(domain, std3_rules=True) == lowered
    except idna.IDNAError:
        agreed = False
    if becomes_ascii or not agreed:
        raise _refused("the part after the @ is not a domain name in its plain spelling")
    return lowered


def _refused(why: str) -> Refused:
    return Refused("invalid_request", f"This is not an email address: {why}. Send one such as name@example.com.")
