"""Observing a sample request like a real one, to try rules out. Nothing is recorded."""

from collections.abc import Callable
from functools import partial
from ipaddress import ip_address
from urllib.parse import urlsplit

from agentgate.decision.engine import with_bands
from agentgate.decision.scoring.models import ModelDirectory
from agentgate.decision.scoring.score import ModelView
from agentgate.decision.signals.facts import RequestFacts
from agentgate.decision.signals.observe import observe
from agentgate.decision.threat_data.intel import Intel, IntelDirectory
from agentgate.decision.visitor import Visitors
from agentgate.lib.errors import Refused
from agentgate.sites.directory import SiteDirectory
from agentgate.sites.lists.site_lists import stronger
from agentgate.sites.request_matcher import RequestMatcher
from agentgate.sites.request_methods import OVERRIDE_HEADERS
from agentgate.sites.route_table import RouteTable
from agentgate.sites.rules.evaluate import Traits
from agentgate.sites.rules.patterns.predicates import USER_AGENT_HEADER, Predicates
from agentgate.sites.rules.replay_records import SampleFacts, SampleRequest


class SampleObserver:
    """Observes with the models and threat data of real requests."""

    def __init__(self, sites: SiteDirectory, models: ModelDirectory, intel: IntelDirectory, visitors: Visitors) -> None:
        self._sites = sites
        self._visitors = visitors
        self._models = models
        self._intel = intel

    def observe(self, site_id: str, request: SampleRequest) -> SampleFacts:
        """Return labels, scores, route and action of a request that is the first of its visitor in this minute."""
        site = self._sites.find_by_id(site_id)
        if site is None:
            # Created a moment ago, in another worker.
            raise Refused("site_not_found")
        known = site.matcher or RequestMatcher(None)
        find_visitor = partial(self._visitors.find, site.site_key)
        return observe_sample(
            request,
            site.routes,
            models=self._models.view,
            intel=self._intel.current,
            make_matcher=lambda predicates: RequestMatcher(predicates, known.lists, known.networks),
            find_visitor=find_visitor,
        )


def observe_sample(
    request: SampleRequest,
    routes: RouteTable,
    *,
    models: ModelView,
    intel: Intel,
    make_matcher: Callable[[Predicates | None], RequestMatcher] = RequestMatcher,
    find_visitor: Callable[[str], int | None] = lambda _address: None,
) -> SampleFacts:
    """Return labels, scores, route and action of a request, with the given routes, models, threat data and lists."""
    try:
        url, address = urlsplit(request.url), str(ip_address(request.address))
    except ValueError:
        raise Refused(
            "invalid_request", "request.url must be an absolute URL and request.address an IP address."
        ) from None
    target = f"{url.path or '/'}?{url.query}" if url.query else url.path or "/"
    matched = routes.find(request.method, target)
    facts = RequestFacts(
        now_ms=0,
        method=request.method,
        target=target,
        address=address,
        headers=tuple((name.lower(), value) for name, value in request.headers.items()),
        route=matched.route,
        action=matched.action,
    )
    observation = observe(facts, intel)
    scores = models.score(observation, content=None)
    visitor = find_visitor(address)

    def read_traits(predicates: Predicates | None) -> Traits:
        matcher = make_matcher(predicates)
        return _traits(matcher, facts, host=url.netloc, visitor=visitor, claimed=observation.claimed_agent)

    return SampleFacts(
        labels=with_bands(observation.labels, scores.values),
        scores=scores.values,
        route=matched.route,
        action=matched.action,
        read_traits=read_traits,
    )


def _traits(
    matcher: RequestMatcher, facts: RequestFacts, *, host: str, visitor: int | None, claimed: str | None
) -> Traits:
    """Return the results of predicates and lists on a sample, as at the gateway."""
    values = {name: value.lower() for name, value in facts.headers}
    overrides = [
        values[name.decode()].encode("latin-1", "replace") for name in OVERRIDE_HEADERS if name.decode() in values
    ]
    page = matcher.of_page(facts.method, overrides, facts.target.encode(), host)
    client = matcher.of_client(facts.address, visitor)
    of_headers = matcher.of_headers(matcher.header_predicates((), others=True), values.get)
    listed = stronger(client, matcher.of_program(values.get(USER_AGENT_HEADER)))
    if matcher.lists is not None:
        listed = stronger(listed, matcher.lists.of_agent(None, claimed))
    return Traits(client.sure | page.sure | of_headers, page.maybe, listed.listed, listed.rank)
