"""Final responses for programs."""

import json

from agentgate.gateway.denials import FinalDenial, json_response
from agentgate.lib.enums import Outcome


def test_a_denial_for_a_price_has_the_price_in_its_body() -> None:
    lines = ((b"crawler-price", b"USD 0.05"), (b"crawler-error", b"MissingCrawlerPrice"), (b"retry-after", b"60"))

    reply = json_response(FinalDenial("GET", 402, Outcome.BLOCK, "payment_required", None, lines))

    assert json.loads(reply.body) == {
        "decision": "block",
        "reason": "payment_required",
        "crawlerPrice": "USD 0.05",
        "crawlerError": "MissingCrawlerPrice",
    }
