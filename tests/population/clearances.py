"""What people do with a challenge: they pass the check, keep the clearance and load the page again."""

from typing import Any

from agentgate.browser_check.tokens.clearance import ClearanceHolder, Clearances
from agentgate.lib.enums import ClearanceLevel
from tests.population.headers import Headers
from tests.population.sent import Sent
from tests.population.visitors import ORIGIN


class PassedChecks:
    """The clearances of people, who have JavaScript and whose checks pass."""

    def __init__(self, application: Any, site_key: str) -> None:
        settings = application.settings
        issuer = settings.public_base_url.rstrip("/") or f"http://{settings.public_listen}"
        self._clearances = Clearances(application.keyring, settings.clearance_seconds, issuer=issuer)
        self._site_key = site_key
        # By person.
        self._cookies: dict[int, str] = {}

    def issue(self, address: str, user_agent: str, now_ms: int) -> str:
        """Return the cookie of a browser that passed the check."""
        issued = self._clearances.issue(
            site_key=self._site_key,
            origin=ORIGIN,
            holder=ClearanceHolder(address, user_agent.encode()),
            level=ClearanceLevel.CHECKED,
            now_ms=now_ms,
        )
        return f"{issued.name}={issued.value}"

    def show(self, sent: Sent) -> Sent:
        """Return a request with the clearance of its person, if there is one."""
        cookie = self._cookies.get(sent.person)
        return sent if cookie is None else sent._replace(headers=_with_cookie(sent, cookie))

    def solve(self, sent: Sent, now_ms: int) -> Sent | None:
        """Return the request that follows a passed check; None if the request cannot show a challenge."""
        if not sent.is_navigation or not sent.person:
            return None
        user_agent = next(value for name, value in sent.headers if name.lower() == "user-agent")
        self._cookies[sent.person] = self.issue(sent.address, user_agent, now_ms)
        return self.show(sent)._replace(challenged=True)


def _with_cookie(sent: Sent, cookie: str) -> Headers:
    """Return the headers with a cookie more, in the place where the browser has it."""
    names = [name.lower() for name, _ in sent.headers]
    if "cookie" in names:
        return [(name, f"{value}; {cookie}" if name.lower() == "cookie" else value) for name, value in sent.headers]
    place = max((at + 1 for at, name in enumerate(names) if name in sent.before_cookie), default=len(names))
    spelled = "cookie" if sent.headers[0][0].islower() else "Cookie"
    return [*sent.headers[:place], (spelled, cookie), *sent.headers[place:]]
