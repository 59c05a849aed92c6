"""Observing a sample request as if it had come in, for whoever tries rules out. Nothing is recorded."""

from ipaddress import ip_address
from urllib.parse import urlsplit

from agentgate.lib.errors import Refused
from agentgate.protection.decision.engine import with_bands
from agentgate.protection.rules.replay_records import Sample, SampleRequest
from agentgate.protection.scoring.models import ModelDirectory
from agentgate.protection.signals.facts import RequestFacts
from agentgate.protection.signals.observe import observe
from agentgate.protection.sites.directory import SiteDirectory
from agentgate.protection.threat_data.intel import IntelDirectory


class SampleObserver:
    """Implements the rules' Explainer with the views that decide real requests."""

    def __init__(self, sites: SiteDirectory, models: ModelDirectory, intel: IntelDirectory) -> None:
        self._sites = sites
        self._models = models
        self._intel = intel

    def observe(self, site_id: str, request: SampleRequest) -> Sample:
        """Return labels, scores, route and action of a request that is the first of its visitor in this minute."""
        site = self._sites.find_by_id(site_id)
        if site is None:
            # Created a moment ago, in another worker.
            raise Refused("site_not_found")
        try:
            url, address = urlsplit(request.url), str(ip_address(request.address))
        except ValueError:
            raise Refused(
                "invalid_request", "request.url must be an absolute URL and request.address an IP address."
            ) from None
        target = f"{url.path or '/'}?{url.query}" if url.query else url.path or "/"
        matched = site.routes.find(request.method, target)
        facts = RequestFacts(
            now_ms=0,
            method=request.method,
            target=target,
            address=address,
            headers=tuple((name.lower(), value) for name, value in request.headers.items()),
            route=matched.route,
            action=matched.action,
        )
        observation = observe(facts, self._intel.current)
        scores = self._models.view.score(observation, content=False)
        return Sample(
            labels=with_bands(observation.labels, scores.values),
            scores=scores.values,
            route=matched.route,
            action=matched.action,
        )
