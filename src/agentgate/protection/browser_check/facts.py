"""From a call of the SDK to the facts that a decision looks at."""

from collections.abc import Mapping
from typing import Any

from agentgate.http.call import Call
from agentgate.protection.browser_check.admission import Visit
from agentgate.protection.signals.facts import Rates, RequestFacts


def facts_of(call: Call, visit: Visit, rates: Rates, evidence: Mapping[str, Any] | None = None) -> RequestFacts:
    """Return the facts. The route is none of the site's: the SDK calls the service itself."""
    request = call.request
    return RequestFacts(
        now_ms=call.now,
        method=request.method,
        target=request.path,
        address=request.address,
        headers=tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers),
        action=visit.action,
        rates=rates,
        evidence=evidence,
        visitor=visit.visitor,
        # Behind a proxy that ends TLS without saying so, browsers show by Sec-Fetch that they see a secure origin.
        is_plain=not request.secure and request.header("sec-fetch-site") is None,
    )
