"""Secrets for tests: they are public, work on every installation and accept test tokens only."""

from agentgate.lib.secrets import CREDENTIAL_SECRET_PREFIX

# Everything that starts so is a test secret, known or not: none of them ever opens a real site.
PREFIX = f"{CREDENTIAL_SECRET_PREFIX}test_"

ALWAYS_PASS = f"{PREFIX}always_pass"
ALWAYS_FAIL = f"{PREFIX}always_fail"
TOKEN_SPENT = f"{PREFIX}token_spent"

KNOWN = frozenset((ALWAYS_PASS, ALWAYS_FAIL, TOKEN_SPENT))
