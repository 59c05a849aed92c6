"""Text of forms: a site's server sends it, gets a score, and nothing of it is stored."""

import pytest

from agentgate.lib.limits import SUBMIT_BODY_BYTES
from tests.api.public.shop import code, open_shop

SCORE = "/v1/content/score"
SPAM = "CHECK OUT my new channel and subscribe for free gift cards www.free-gifts.com"
GOOD = "Thank you, the parcel came on Monday and everything was in it."


@pytest.fixture
def shop(service):
    return open_shop(service)


def ask(shop, body, secret=None):
    headers = {"Authorization": f"Bearer {shop.secret if secret is None else secret}"}
    return shop.service.public.post(SCORE, json=body, headers=headers)


def test_spam_scores_high_and_an_ordinary_text_low(shop):
    spam, good = (ask(shop, {"text": text}).json() for text in (SPAM, GOOD))

    assert spam["score"] > 0.9
    assert good["score"] < 0.2
    assert "model.content.likely" in spam["labels"]
    assert good["labels"] == []
    assert spam["modelVersion"] == good["modelVersion"]


def test_labels_of_the_text_are_in_the_response(shop):
    assert "content.hidden_characters" in ask(shop, {"text": f"{GOOD[:9]}\u202e{GOOD[9:]}"}).json()["labels"]


def test_only_a_secret_of_a_site_gets_a_score(shop):
    assert code(ask(shop, {"text": GOOD}, secret="ags_wrong")) == (401, "invalid_credential")
    assert code(shop.service.public.post(SCORE, json={"text": GOOD})) == (401, "invalid_credential")


@pytest.mark.parametrize("body", [{}, {"text": ""}, {"text": 1}, {"text": GOOD, "name": "Ann"}])
def test_a_malformed_body_is_rejected(shop, body):
    assert code(ask(shop, body)) == (400, "invalid_request")


def test_a_text_over_the_limit_is_rejected(shop):
    assert code(ask(shop, {"text": "a" * SUBMIT_BODY_BYTES})) == (400, "invalid_request")


def test_neither_text_nor_decision_is_stored(shop, settings):
    marker = "unmistakable-sentence-of-a-visitor"

    ask(shop, {"text": f"{SPAM} {marker}"})
    shop.service.run(shop.service.application.recorder.stop())

    assert shop.service.application.recorder.sent == 0
    stored = b"".join(path.read_bytes() for path in settings.data_dir.rglob("*") if path.is_file())
    assert marker.encode() not in stored
