"""The interface of printed adapters: the described request, sealed denials, final responses, and own paths."""

import re

import httpx
import pytest

from tests.api.public.challenge_page import NAVIGATION, ORIGIN, Visitor, facts_of
from tests.support.gateway import VISITOR
from tests.support.service import RunningService

CURL = {"User-Agent": "curl/8.5.0", "Accept": "*/*"}


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
        # Not the client that holds answers against the specification: these have further statuses.
        with httpx.Client() as client:
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


@pytest.fixture
def adapter(service: RunningService) -> Adapter:
    return Adapter(service)


def test_an_allowed_request_has_a_decision_id(adapter: Adapter) -> None:
    reply = adapter.check("/", *VISITOR.items())

    assert reply.status_code == 204
    assert reply.headers["x-service-decision-id"].startswith("dec_")


def test_a_challenged_page_load_gets_the_page_in_two_steps(adapter: Adapter) -> None:
    check = adapter.check("/members?q=1", *NAVIGATION.items())
    assert check.status_code == 401
    page = adapter.denied(check.headers["x-service-denial"], "/members?q=1")

    assert page.status_code == 401
    assert facts_of(page)["return"] == f"{ORIGIN}/members?q=1"
    assert page.headers["x-service-decision-id"] == check.headers["x-service-decision-id"]
    assert page.headers["cache-control"] == "no-store"


def test_respond_visitor_returns_the_page_in_one_step(adapter: Adapter) -> None:
    page = adapter.check("/members", *NAVIGATION.items(), respond="visitor")

    assert page.status_code == 401
    assert re.search(r"dec_[0-9a-z]{13}", page.text)
    assert facts_of(page)["return"] == f"{ORIGIN}/members"


@pytest.mark.parametrize("path", ["/challenge", "/pass", "/replay", "/appeal"])
def test_own_paths_need_the_secret(adapter: Adapter, path: str) -> None:
    own = f"/.agentgate/v1/gateway{path}"
    assert adapter.send(own, adapter.line("GET", own), secret="ags_wrong").status_code == 403
    assert adapter.send(own, adapter.line("GET", own), secret=None).status_code == 403


def test_the_sdk_is_served_below_the_prefix(adapter: Adapter) -> None:
    assert adapter.send("/.agentgate/sdk/v1/agentgate.js?render=explicit", None, secret=None).status_code == 200


def test_a_wrong_secret_counts_as_unavailable(adapter: Adapter) -> None:
    reply = adapter.check("/", secret="ags_wrong")

    assert (reply.status_code, reply.headers["x-service-reason"]) == (503, "invalid_credential")
