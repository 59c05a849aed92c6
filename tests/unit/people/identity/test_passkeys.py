"""What browsers send of passkeys: right ones are read, everything else is one error and never another exception."""

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgate.lib import base64url
from agentgate.lib.errors import Refused
from agentgate.people.identity import passkeys
from agentgate.people.identity.records import PasskeyAssertion, PasskeyInput, StoredPasskey
from tests.support.passkey import Authenticator

ORIGIN = "https://gate.example"
HOST = "gate.example"
CHALLENGE = base64url.encode(b"c" * 32)
AUTHENTICATOR = Authenticator(ORIGIN)


def typed(made, **changed):
    return PasskeyInput(
        name="Key",
        password="",
        client_data=made["clientData"],
        authenticator_data=changed.get("data", made["authenticatorData"]),
        public_key=changed.get("key", made["publicKey"]),
    )


def signed(made, **changed):
    return PasskeyAssertion(
        credential_id=made["credentialId"],
        client_data=changed.get("client", made["clientData"]),
        authenticator_data=changed.get("data", made["authenticatorData"]),
        signature=changed.get("signature", made["signature"]),
    )


def stored(**changed):
    values = {
        "id": "pk_0",
        "user_id": "usr_0",
        "credential_id": AUTHENTICATOR.credential_id,
        "public_key": AUTHENTICATOR.public_key,
        "origin": ORIGIN,
        "name": "Key",
        "sign_count": 0,
        "created_ms": 0,
        **changed,
    }
    return StoredPasskey(**values)


def is_rejected(work):
    try:
        work()
    except Refused as refused:
        return refused.code == "invalid_code"
    return False


def test_a_registration_and_a_signature_are_read():
    made = passkeys.read_registration(typed(AUTHENTICATOR.registration(CHALLENGE)), HOST)
    assertion = AUTHENTICATOR.assertion(CHALLENGE)

    assert made[:3] == (AUTHENTICATOR.credential_id, AUTHENTICATOR.public_key, ORIGIN)
    assert passkeys.challenge_in(assertion["clientData"], passkeys.GET) == b"c" * 32
    assert passkeys.verify(signed(assertion), stored(sign_count=made.sign_count)) == made.sign_count + 1


def test_every_changed_byte_of_a_signature_is_rejected():
    assertion = AUTHENTICATOR.assertion(CHALLENGE)
    for name, field in (("clientData", "client"), ("authenticatorData", "data"), ("signature", "signature")):
        content = base64url.decode(assertion[name])
        for at in range(len(content)):
            changed = base64url.encode(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
            forged = signed(assertion, **{field: changed})
            assert is_rejected(lambda forged=forged: passkeys.verify(forged, stored())), (name, at)


def test_every_cut_of_a_registration_is_rejected():
    made = AUTHENTICATOR.registration(CHALLENGE)
    for name, field in (("authenticatorData", "data"), ("publicKey", "key")):
        content = base64url.decode(made[name])
        for length in range(len(content)):
            cut = typed(made, **{field: base64url.encode(content[:length])})
            assert is_rejected(lambda cut=cut: passkeys.read_registration(cut, HOST)), (name, length)


def test_a_credential_id_longer_than_its_data_is_rejected():
    data = base64url.decode(AUTHENTICATOR.registration(CHALLENGE)["authenticatorData"])
    for length in (0, 17, 1024, 65535):
        changed = data[:53] + length.to_bytes(2, "big") + data[55:]
        body = typed(AUTHENTICATOR.registration(CHALLENGE), data=base64url.encode(changed))
        assert is_rejected(lambda body=body: passkeys.read_registration(body, HOST)), length


def test_the_largest_key_of_rsa_is_accepted_and_fits_its_field():
    made = Authenticator(ORIGIN, rsa.generate_private_key(65537, 4096)).registration(CHALLENGE)

    assert passkeys.read_registration(typed(made), HOST).origin == ORIGIN
    assert len(made["publicKey"]) < 1000


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 3000, b'{"x":' + b"[" * 3000, b'{"type":"webauthn.get"}'],
)
def test_malformed_client_data_is_rejected(content):
    assert is_rejected(lambda: passkeys.challenge_in(base64url.encode(content), passkeys.GET))


@pytest.mark.parametrize("text", ["=", "a", "é", "a b", "AAAA=", "\ud800"])
def test_text_that_is_not_base64url_is_rejected(text):
    assert is_rejected(lambda: passkeys.decode(text))


@settings(max_examples=300, deadline=None)
@given(client=st.binary(max_size=300), data=st.binary(max_size=300), key=st.binary(max_size=300))
def test_random_bytes_are_rejected_and_raise_nothing_else(client, data, key):
    made = AUTHENTICATOR.registration(CHALLENGE)
    head = base64url.decode(made["authenticatorData"])[:37]
    for each in (data, head + data):
        body = typed(made, data=base64url.encode(each), key=base64url.encode(key))
        assert is_rejected(lambda body=body: passkeys.read_registration(body, HOST))
    forged = signed(AUTHENTICATOR.assertion(CHALLENGE), signature=base64url.encode(client))
    assert is_rejected(lambda: passkeys.verify(forged, stored()))
    assert is_rejected(lambda: passkeys.challenge_in(base64url.encode(client), passkeys.GET))
