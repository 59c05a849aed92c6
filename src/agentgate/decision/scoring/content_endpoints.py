"""Scoring of text that a site sends: a comment, a message, a form. The text is scored and not kept."""

from typing import Annotated

from msgspec import Meta

from agentgate.decision.scoring.features import band_labels
from agentgate.decision.scoring.models import ModelDirectory
from agentgate.decision.signals.facts import Observation, RequestFacts
from agentgate.decision.signals.observe import observe
from agentgate.decision.threat_data.intel import IntelDirectory
from agentgate.http.bearer_secret import bearer_secret
from agentgate.http.call import Call
from agentgate.lib.enums import ModelKind
from agentgate.lib.errors import Refused
from agentgate.lib.records import Input, Record
from agentgate.sites.directory import SiteDirectory

CONTENT_LABELS = "content."
# A documentation address: the score of a text does not depend on one.
NO_ADDRESS = "192.0.2.1"


class ContentInput(Input, frozen=True, kw_only=True):
    """A text to score, as the visitor submitted it."""

    text: Annotated[str, Meta(min_length=1)]


class ContentScore(Record, frozen=True, kw_only=True):
    """Score of a text, 0 to 1, with its `content.*` labels and the model's version."""

    score: float
    labels: list[str]
    model_version: str


class ContentScorer:
    """Scores texts with the active content model."""

    def __init__(self, sites: SiteDirectory, models: ModelDirectory, intel: IntelDirectory) -> None:
        self._sites = sites
        self._models = models
        self._intel = intel

    async def score(self, secret: bytes, text: str, *, now_ms: int) -> ContentScore:
        """Return the score; reject a secret that no site has."""
        await self._sites.await_refresh()
        if not secret or self._sites.find_caller(secret, now_ms=now_ms) is None:
            raise Refused("invalid_credential")
        facts = RequestFacts(now_ms=now_ms, method="POST", target="/", address=NO_ADDRESS, headers=(), content=text)
        seen = observe(facts, self._intel.current)
        labels = tuple(label for label in seen.labels if label.startswith(CONTENT_LABELS))
        scores = self._models.view.score(Observation(labels, seen.numbers), content=text)
        kind = ModelKind.CONTENT
        if kind not in scores.values:
            raise Refused("unavailable")
        bands = band_labels({kind.value: scores.values[kind]})
        return ContentScore(score=scores.values[kind], labels=[*labels, *bands], model_version=scores.versions[kind])


async def score_content(call: Call, body: ContentInput, scorer: ContentScorer) -> ContentScore:
    """Score a text that a visitor submitted: how likely it is spam.

    The credential is a backend secret of the site in `Authorization: Bearer`. No text and no decision is stored.
    """
    authorization = call.request.header("authorization")
    secret = b"" if authorization is None else bearer_secret(authorization.encode("latin-1")) or b""
    return await scorer.score(secret, body.text, now_ms=call.now)
