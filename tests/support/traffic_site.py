"""A site in enforce mode with the default rules, and its decisions about the requests of a population."""

from collections.abc import Awaitable
from dataclasses import replace

from agentgate.browser_check.tokens.clearance import ClearanceHolder, Clearances
from agentgate.lib.enums import ClearanceLevel
from tests.population.gate import status_of, write_check
from tests.population.sent import Sent, Should
from tests.population.visitors import ORIGIN, Visitor, population
from tests.support.browser_client import create_site
from tests.support.service import RunningService

SEED = 31
CHROMES = (("Chrome", "Windows", 1.0),)


class Site:
    """A separate site with its secret for gateway checks. Time advances only when a test advances it."""

    def __init__(self, service: RunningService, **fields: object) -> None:
        self.service = service
        self.key = create_site(
            service, mode="enforce", actions={"open": {"browserRequired": True, "clearance": True}}, **fields
        )
        made = service.operator.post(f"/v1/admin/sites/{self.key}/credentials", json={"name": "proxy"})
        self.secret = made.json()["secret"]

    def status(
        self, sent: Sent | tuple[str, str, list[tuple[str, str]]], address: str = "", method: str = "GET"
    ) -> int:
        """Return the gateway's status for a request."""
        if not isinstance(sent, Sent):
            url, _, headers = sent
            sent = Sent("", "", method, url, headers, address, Should.PASS)
        own = {
            "Authorization": f"Bearer {self.secret}",
            "X-Original-Method": sent.method,
            "X-Original-URL": sent.url,
            "X-Original-Address": sent.address,
        }
        request = self.service.public.build_request("GET", "/v1/gateway/check", headers=own)
        left_out = {"host", "connection", "te", "content-length"}
        # What httpx would add by itself was not sent.
        for name in ("user-agent", "accept", "accept-encoding", "connection"):
            del request.headers[name]
        for name, value in sent.headers:
            if name.lower() not in left_out:
                request.headers[name] = value
        return self.service.public.send(request).status_code

    def status_at_once(self, sent: Sent) -> int:
        """Return the same without HTTP: thousands of requests within a test."""
        return self.service.run(self._ask_gate(sent)) or self.status(sent)

    async def _ask_gate(self, sent: Sent) -> int:
        answer = self.service.application.gateway.check.take(write_check(sent, self.secret))
        if isinstance(answer, Awaitable):
            answer = await answer
        # A change of the site that is not read yet.
        return 0 if answer is None else status_of(answer)

    def statuses(self, visitor: Visitor, pages: range) -> list[int]:
        """Return the responses to a visitor's navigations, one after the other."""
        visits = (visitor.first_navigation() if page == 0 else visitor.navigation(page) for page in pages)
        return [self.status((each.url, "", each.headers), visitor.address) for each in visits]

    def change(self, **fields: object) -> None:
        """Change the site's settings."""
        reply = self.service.operator.patch(f"/v1/admin/sites/{self.key}", json=fields)
        assert reply.status_code == 200, reply.text

    def clearance(self, visitor: Visitor) -> str:
        """Return the cookie of a visitor who passed the check."""
        application = self.service.application
        issuer = application.settings.public_base_url.rstrip("/") or f"http://{application.settings.public_listen}"
        issued = Clearances(application.keyring, application.settings.clearance_seconds, issuer=issuer).issue(
            site_key=self.key,
            origin=ORIGIN,
            holder=ClearanceHolder(visitor.address, visitor.browser.user_agent.encode()),
            level=ClearanceLevel.CHECKED,
            now_ms=application.clock.now_ms(),
        )
        return f"{issued.name}={issued.value}"


def visitor_of(address: str, number: int = 0) -> Visitor:
    return replace(list(population(SEED, number + 1, pages=12, mix=CHROMES))[number], address=address)
