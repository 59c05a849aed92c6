"""A proxy with a printed configuration: it describes requests in `X-AgentGate-Request`."""

import ssl

import httpx

from tests.api.public.challenge_page import NAVIGATION, ORIGIN, Visitor
from tests.support.service import RunningService

CURL = {"User-Agent": "curl/8.5.0", "Accept": "*/*"}
# Made once: it takes longer than a request.
PLAIN = ssl.create_default_context()


class Adapter:
    """A proxy with a printed configuration."""

    def __init__(self, service: RunningService, **fields: object) -> None:
        self.visitor = Visitor(service, **fields)
        self.service = service

    def line(self, method: str, path: str, *more: str, origin: str = ORIGIN) -> str:
        return " ".join((method, self.visitor.address, *more, f"{origin}{path}"))

    def send(self, target: str, line: str | None, *headers: tuple[str, str], method: str = "GET", **options: object):
        secret = options.pop("secret", self.visitor.secret)
        own = [] if line is None else [("X-AgentGate-Request", line)]
        own += [] if secret is None else [("X-AgentGate-Secret", str(secret))]
        request = httpx.Request(method, self.service.public_url + target, headers=[*own, *headers], **options)
        # Not the client that compares responses with the specification: adapters return further statuses.
        with httpx.Client(verify=PLAIN) as client:
            return client.send(request)

    def check(
        self, path: str = "/", *headers: tuple[str, str], method: str = "GET", respond: str = "denial", **options
    ):
        more = options.pop("more", ())
        line = self.line(method, path, *more)
        return self.send(f"/v1/gateway/check?respond={respond}", line, *(headers or CURL.items()), **options)

    def denied(self, seal: str, path: str, *headers: tuple[str, str], method: str = "GET", **options):
        line = self.line(method, path)
        sent = headers or tuple(NAVIGATION.items())
        return self.send(f"/v1/gateway/denied?d={seal}", line, *sent, method=method, **options)
