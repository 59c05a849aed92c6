"""Signatures: the published example of Standard Webhooks, and the receiver's code in our documentation."""

import re
import time
from pathlib import Path

import pytest

from agentgate.events.webhooks.signing import new_secret, signed_headers

DOCUMENT = Path(__file__).parents[4] / "docs" / "webhooks.md"


def test_a_signature_matches_the_published_example() -> None:
    headers = signed_headers(
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        b'{"test": 2432232314}',
        keys=["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
        now_ms=1_614_265_330_000,
    )

    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


@pytest.mark.parametrize("secret_first", [True, False])
def test_the_code_in_the_document_knows_genuine_deliveries(secret_first: bool) -> None:
    [code] = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    names: dict = {}
    exec(code, names)
    is_genuine = names["is_genuine"]
    secret, other = new_secret(), new_secret()
    keys = [secret, other] if secret_first else [other, secret]
    now_ms = int(time.time() * 1000)
    headers = signed_headers("whd_1", b"body", keys=keys, now_ms=now_ms)

    assert is_genuine(headers, b"body", secret)
    assert not is_genuine(headers, b"bodY", secret)
    assert not is_genuine(headers, b"body", new_secret())
    assert not is_genuine({**headers, "webhook-id": "whd_2"}, b"body", secret)
    old = signed_headers("whd_1", b"body", keys=keys, now_ms=now_ms - 301_000)
    assert not is_genuine(old, b"body", secret)
