"""The answer to a redeemed token is written in two ways, which give the same bytes."""

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from agentgate.lib.enums import ReceiptKind
from agentgate.lib.records import to_json
from agentgate.protection.tokens.answer import success, write_success
from tests.unit.protection.tokens.made import CLAIMS

NOT_PLAIN = 'a"b\\c\n\u00e9","decisionId":"d","visitorId":"v'


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"origin": UNSET},
        {"iat": CLAIMS.iat + 1, "exp": CLAIMS.exp + 7},
        {"aud": NOT_PLAIN},
        {"action": NOT_PLAIN},
        {"origin": NOT_PLAIN},
        {"decision_id": NOT_PLAIN},
        {"sub": NOT_PLAIN},
        {"decision_id": "", "sub": ""},
        {"c_data": NOT_PLAIN},
        {"test": True},
        {"kind": ReceiptKind.AGENT, "sub": "agent.example"},
    ],
)
@pytest.mark.parametrize("request_id", [None, "r-1.2:3_4", "", NOT_PLAIN])
def test_what_is_put_together_is_what_the_record_says(changes, request_id):
    claims = replace(CLAIMS, **changes)

    # Twice, because the second one is put together from what the first one left.
    for _ in range(2):
        assert write_success(claims, request_id) == to_json(success(claims, request_id))
