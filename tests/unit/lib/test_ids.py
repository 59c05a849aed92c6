"""Identifiers have the forms that the contract gives, and do not repeat."""

import re

import pytest

from agentgate.lib import ids
from agentgate.lib.records import CREDENTIAL_ID_PATTERN, SITE_KEY_PATTERN


@pytest.mark.parametrize(
    ("make", "pattern"),
    [
        (ids.new_site_id, r"st_[0-9a-f]{16}"),
        (ids.new_site_key, r"site_[a-z0-9]{16}"),
        (ids.new_credential_id, r"cred_[0-9a-f]{16}"),
        (ids.new_account_id, r"acc_[0-9a-f]{16}"),
        (ids.new_session_id, r"ses_[0-9a-f]{16}"),
        (ids.new_request_id, r"[0-9a-f]{16}"),
    ],
)
def test_each_kind_has_its_form_and_is_never_the_same(make, pattern: str) -> None:
    made = [make() for _ in range(500)]

    assert all(re.fullmatch(pattern, each) for each in made)
    assert len(set(made)) == 500


def test_what_is_made_is_also_accepted() -> None:
    assert re.match(SITE_KEY_PATTERN, ids.new_site_key())
    assert re.match(CREDENTIAL_ID_PATTERN, ids.new_credential_id())


def test_a_site_key_uses_the_whole_alphabet() -> None:
    used = set("".join(ids.new_site_key().removeprefix("site_") for _ in range(200)))

    assert used == set("0123456789abcdefghijklmnopqrstuvwxyz")
