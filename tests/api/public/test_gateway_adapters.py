"""The interface of printed adapters: the described request, hosts, sealed denials, and final responses."""

import re
import time
from typing import Any

import pytest

from agentgate.lib.clock import MINUTE_MS
from tests.api.public.challenge_page import NAVIGATION, ORIGIN, facts_of
from tests.api.public.printed_adapter import CURL, Adapter
from tests.support.browser_client import decision_of
from tests.support.gateway import VISITOR
from tests.support.service import RunningService


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


# The description.


@pytest.mark.parametrize(
    "change",
    [
        *(
            "",
            "GET",
            "GET 203.0.113.9",
            "GET  203.0.113.9 https://shop.example/",
        ),
        *("GET 203.0.113.9 https://shop.example/ x", "GET 203.0.113.9 https://shop.example/ host=shop.example"),
        *("GET 203.0.113.9 port=1 https://shop.example/", "GET 203.0.113.9 length=1 length=2 https://shop.example/"),
        *("GET 203.0.113.9 length=x https://shop.example/", "GET nowhere https://shop.example/", "GET 203.0.113.9 /"),
        *("GET 203.0.113.9 https://a/, GET 203.0.113.9 https://shop.example/", "G,T 203.0.113.9 https://shop.example/"),
        *("GET 203.0.113.9 https://user@shop.example/", "GET 203.0.113.9 https://shop.example/#x"),
    ],
)
def test_only_the_grammar_is_a_description(adapter: Adapter, change: str) -> None:
    reply = adapter.send("/v1/gateway/check?respond=denial", change, *VISITOR.items())

    assert (reply.status_code, reply.headers["x-service-reason"]) == (401, "invalid_request")
    assert reply.headers["x-service-denial"] == "block"


def test_a_second_description_is_rejected(adapter: Adapter) -> None:
    second = ("X-AgentGate-Request", adapter.line("GET", "/look"))
    reply = adapter.check("/members", second, *VISITOR.items())

    assert (reply.status_code, reply.headers["x-service-reason"]) == (401, "invalid_request")


def test_headers_never_select_the_source(adapter: Adapter) -> None:
    """A visitor who sends any other form's headers is judged by the adapter's description."""
    original = {"X-Original-Method": "GET", "X-Original-URL": f"{ORIGIN}/look", "X-Original-Address": "192.0.2.1"}
    forwarded = {
        "X-Forwarded-Method": "GET",
        "X-Forwarded-Proto": "https",
        "X-Forwarded-Host": "shop.example",
        "X-Forwarded-Uri": "/look",
        "X-Forwarded-For": "192.0.2.1",
    }
    for headers in (original, forwarded):
        reply = adapter.check("/members", *VISITOR.items(), *headers.items())
        assert (reply.status_code, reply.headers["x-service-reason"]) == (401, "receipt_required")
    # Traefik's source ignores a description, and the specified form does too.
    line = adapter.line("GET", "/look")
    traefik = {**forwarded, "X-Forwarded-Uri": "/members"}
    target = "/v1/gateway/check?respond=denial&request=forwarded"
    reply = adapter.send(target, line, *VISITOR.items(), *traefik.items())
    assert (reply.status_code, reply.headers["x-service-reason"]) == (401, "receipt_required")
    reply = adapter.send("/v1/gateway/check", line, *VISITOR.items())
    assert (reply.status_code, reply.headers["x-service-reason"]) == (403, "invalid_request")


def test_a_visitors_authorization_is_not_the_secret(adapter: Adapter) -> None:
    right = ("Authorization", f"Bearer {adapter.visitor.secret}")
    assert adapter.check("/", right, *VISITOR.items(), secret=None).status_code == 503
    assert adapter.check("/", ("Authorization", "Bearer mine"), *VISITOR.items()).status_code == 204


def test_connection_names_change_nothing(adapter: Adapter) -> None:
    listed = ("Connection", "X-AgentGate-Secret, X-AgentGate-Request, Cookie")
    assert adapter.check("/", listed, *VISITOR.items()).status_code == 204
    reply = adapter.check("/members", listed, *VISITOR.items())
    assert (reply.status_code, reply.headers["x-service-reason"]) == (401, "receipt_required")


# Hosts.


def test_a_host_of_the_site_has_its_own_origin(service: RunningService) -> None:
    adapter = Adapter(service, allowedOrigins=[ORIGIN, "https://www.shop.example:8443"])
    page = adapter.check("/members", *NAVIGATION.items(), respond="visitor", more=("host=www.shop.example",))

    assert facts_of(page)["return"] == "https://www.shop.example:8443/members"


def test_an_unknown_host_is_judged_and_labelled(adapter: Adapter) -> None:
    reply = adapter.check("/members", *VISITOR.items(), more=("host=other.example",))
    assert (reply.status_code, reply.headers["x-service-reason"]) == (401, "receipt_required")
    reply = adapter.check("/", *VISITOR.items(), more=("host=other.example",))
    decision = decision_of(adapter.service, adapter.visitor.site_key, reply.headers["x-service-decision-id"])
    assert "http.host_unknown" in decision["labels"]
    reply = adapter.check("/", *VISITOR.items(), more=("host=shop.example:443",))
    decision = decision_of(adapter.service, adapter.visitor.site_key, reply.headers["x-service-decision-id"])
    assert "http.host_unknown" not in decision["labels"]


def health_check(adapter: Adapter, name: str) -> Any:
    """Return a check that fails, once all counts are written."""
    service = adapter.service
    recorder = service.application.recorder
    while recorder.waiting or recorder._counts:
        time.sleep(0.02)
    # The write that emptied the buffer may still run, and a range ends before the present moment.
    time.sleep(0.1)
    service.clock.advance(seconds=1)

    health = service.operator.get(f"/v1/admin/sites/{adapter.visitor.site_key}/health").json()
    (found,) = [each for each in health["checks"] if each["check"] == name]
    return found


def test_a_wrong_secret_is_shown_in_health(service: RunningService) -> None:
    adapter = Adapter(service)
    adapter.check("/", *VISITOR.items(), secret="ags_wrong")
    # With a header order that takes the other way through the check.
    adapter.check("/", *VISITOR.items(), secret="ags_wrong", more=("length=1",))

    assert health_check(adapter, "credential_unknown")["detail"] == {"checks": 2}


def test_an_unknown_host_is_shown_in_health(service: RunningService) -> None:
    adapter = Adapter(service)
    adapter.check("/", *VISITOR.items(), more=("host=other.example",))

    found = health_check(adapter, "origin_not_allowed")
    assert found["detail"]["hosts"] == [{"host": "other.example", "count": 1}]


@pytest.mark.parametrize("host", ["shop.example/robots.txt?", "shop.example?", "a@shop.example", "-x", ""])
def test_a_malformed_host_is_blocked(adapter: Adapter, host: str) -> None:
    reply = adapter.check("/members", *VISITOR.items(), more=(f"host={host}",))
    assert (reply.status_code, reply.headers["x-service-reason"]) == (401, "invalid_request")


# Seals.


def test_a_denial_that_needs_no_page_is_one_word(adapter: Adapter) -> None:
    reply = adapter.check("/wp-login.php", *CURL.items(), ("X-Service-Status", "1"))
    assert (reply.headers["x-service-denial"], reply.content) == ("block", b"")
    reply = adapter.check("/", *CURL.items())
    assert reply.headers["x-service-denial"] in {"challenge", "block"}
    # fetch() reads this reason.
    assert len(adapter.check("/members", *VISITOR.items(), ("Origin", ORIGIN)).headers["x-service-denial"]) > 20


def test_a_seal_is_for_one_request(adapter: Adapter) -> None:
    seal = adapter.check("/members", *NAVIGATION.items()).headers["x-service-denial"]
    assert len(seal) < 1024
    other = Adapter(adapter.service)
    changed = seal[:-1] + ("A" if seal[-1] != "A" else "B")

    assert adapter.denied(seal, "/members").status_code == 401
    for reply in (
        adapter.denied(seal, "/look"),
        adapter.denied(changed, "/members"),
        adapter.denied("x" * 5000, "/members"),
        adapter.denied("%00%ff", "/members"),
        other.denied(seal, "/members"),
    ):
        assert (reply.status_code, reply.headers["x-service-reason"]) == (403, "invalid_request")
    adapter.visitor.address = "198.51.100.77"
    assert adapter.denied(seal, "/members").status_code == 403


def test_a_seal_of_a_cached_decision_fits_one_request(adapter: Adapter) -> None:
    adapter.check("/members", *NAVIGATION.items())
    adapter.visitor.address = "198.51.100.77"
    second = adapter.check("/members", *NAVIGATION.items()).headers

    reply = adapter.denied(second["x-service-denial"], "/members")

    assert reply.status_code == 401
    assert reply.headers["x-service-decision-id"] == second["x-service-decision-id"]


def test_a_seal_expires_after_five_minutes(adapter: Adapter) -> None:
    seal = adapter.check("/members", *NAVIGATION.items()).headers["x-service-denial"]
    adapter.service.clock.advance(ms=5 * MINUTE_MS - 1)
    assert adapter.denied(seal, "/members").status_code == 401
    adapter.service.clock.advance(ms=1)
    assert adapter.denied(seal, "/members").status_code == 403


def test_without_a_seal_the_check_has_failed(adapter: Adapter) -> None:
    for seal in ("none", ""):
        reply = adapter.denied(seal, "/members")
        assert (reply.status_code, reply.headers["retry-after"]) == (503, "5")
        assert b"<!doctype html>" in reply.content
    reply = adapter.denied("none", "/members", *CURL.items())
    assert reply.json() == {"decision": "block", "reason": "service_unavailable"}


def test_the_second_step_needs_the_secret(adapter: Adapter) -> None:
    assert adapter.denied("none", "/members", *CURL.items(), secret="ags_wrong").status_code == 403
    # A visitor's Authorization is not the secret.
    right = ("Authorization", f"Bearer {adapter.visitor.secret}")
    assert adapter.denied("none", "/members", right, *CURL.items(), secret=None).status_code == 403


@pytest.mark.parametrize("size", [1_000, 64_000])
def test_a_challenged_form_survives(adapter: Adapter, size: int) -> None:
    form = {**NAVIGATION, "Origin": ORIGIN, "Sec-Fetch-Site": "same-origin"}
    form["Content-Type"] = "application/x-www-form-urlencoded"
    body = b"text=" + b"x" * (size - 5)
    seal = adapter.check("/members", *form.items(), method="POST").headers["x-service-denial"]
    page = adapter.denied(seal, "/members", *form.items(), method="POST", content=body)
    one_step = adapter.send(
        "/v1/gateway/check?respond=visitor",
        adapter.line("POST", "/members"),
        *form.items(),
        method="POST",
        content=body,
    )

    for reply in (page, one_step):
        facts = facts_of(reply)
        assert (reply.status_code, facts["resend"]) == (401, False)
        assert len(facts["capsule"]) > size


def test_a_larger_form_is_sent_again(adapter: Adapter) -> None:
    form = {**NAVIGATION, "Origin": ORIGIN, "Sec-Fetch-Site": "same-origin"}
    form["Content-Type"] = "application/x-www-form-urlencoded"
    seal = adapter.check("/members", *form.items(), method="POST").headers["x-service-denial"]
    for content in (b"a=" + b"x" * 70_000, b""):
        page = adapter.denied(seal, "/members", *form.items(), method="POST", content=content)
        assert (page.status_code, facts_of(page)["resend"], facts_of(page)["capsule"]) == (401, True, None)


def test_a_compressed_form_is_sent_again(adapter: Adapter) -> None:
    form = {**NAVIGATION, "Origin": ORIGIN, "Sec-Fetch-Site": "same-origin", "Content-Encoding": "gzip"}
    form["Content-Type"] = "application/x-www-form-urlencoded"
    check = adapter.check("/members", *form.items(), method="POST")
    assert (check.status_code, check.headers["x-service-reason"]) == (401, "receipt_required")
    page = adapter.denied(check.headers["x-service-denial"], "/members", *form.items(), method="POST", content=b"a=b")
    assert (page.status_code, facts_of(page)["resend"], facts_of(page)["capsule"]) == (401, True, None)
    allowed = adapter.check("/", *VISITOR.items(), ("Content-Encoding", "br"), ("Content-Encoding", "gzip"))
    assert allowed.status_code == 204


def test_a_form_that_follows_is_sealed_for_it(adapter: Adapter) -> None:
    form = tuple(NAVIGATION.items())
    reply = adapter.check("/members", *form, method="POST", respond="visitor", more=("length=1000",))
    assert (reply.status_code, len(reply.headers["x-service-denial"]) > 20) == (401, True)
    reply = adapter.check("/members", *form, method="POST", respond="visitor", more=("length=99999",))
    assert "x-service-denial" not in reply.headers
    reply = adapter.check("/members", *form, method="POST", respond="visitor", more=("length=",))
    assert "x-service-denial" not in reply.headers


@pytest.mark.parametrize("method", ["HEAD", "PUT", "OPTIONS", "PROPFIND", "DELETE"])
def test_any_method_gets_the_final_response(adapter: Adapter, method: str) -> None:
    line = adapter.line(method, "/members")
    reply = adapter.send("/v1/gateway/check?respond=visitor", line, *CURL.items(), method=method)
    assert reply.status_code in {401, 403}
    assert reply.headers["x-service-reason"]
    seal = adapter.send("/v1/gateway/check?respond=denial", line, *CURL.items()).headers["x-service-denial"]
    assert adapter.denied(seal, "/members", *CURL.items(), method=method).status_code in {401, 403}


def test_without_respond_a_post_is_not_a_check(adapter: Adapter) -> None:
    assert adapter.send("/v1/gateway/check", None, method="POST", content=b"x").status_code == 405
