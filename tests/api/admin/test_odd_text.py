"""Text that a database cannot store or a person cannot see: rejected as a mistake of the caller, never an error 500."""

import json
from typing import Any

import pytest

from tests.support.api_client import ApiClient
from tests.support.service import ADMIN_KEY, RunningService

SITES = "/v1/admin/sites"
SITE = f"{SITES}/site_shop"
# As JSON writes them: NUL, each half of a surrogate pair, and one half inside other text.
ODD = ("\\u0000", "a\\u0000b", "\\ud800", "\\udc00", "x\\udfffy")


@pytest.fixture(autouse=True)
def site(service: RunningService) -> dict[str, Any]:
    return service.operator.post(SITES, json={"name": "Shop", "siteKey": "site_shop"}).json()


def send(client: ApiClient, method: str, path: str, body: str) -> tuple[int, str]:
    reply = client.request(method, path, content=body, headers={"Content-Type": "application/json"})
    return reply.status_code, reply.json()["error"]


SHAPES = (
    '{"name":"%s"}',
    '{"name":"S","siteKey":"site_%s"}',
    '{"name":"S","customerId":"%s"}',
    '{"name":"S","customerName":"%s"}',
    '{"name":"S","allowedOrigins":["https://%s.example"]}',
    '{"name":"S","actions":{"%s":{"browserRequired":true}}}',
    '{"name":"S","routes":[{"method":"%s","path":"/","action":"submit"}]}',
    '{"name":"S","routes":[{"method":"GET","path":"/%s","action":"submit"}]}',
    '{"name":"S","routes":[{"method":"GET","path":"/","action":"%s"}]}',
    '{"name":"S","mode":"%s"}',
    '{"name":"S","%s":1}',
)


def test_a_site_cannot_be_made_of_text_that_cannot_be_kept(service: RunningService, site: dict[str, Any]) -> None:
    for body in (shape % odd for shape in SHAPES for odd in ODD):
        status, code = send(service.operator, "POST", SITES, body)
        assert (status, code in {"invalid_request", "invalid_site"}) == (400, True), body
        if "siteKey" not in body and "customer" not in body:
            assert send(service.operator, "PATCH", SITE, body)[0] == 400, body
    assert len(service.operator.get(SITES).json()["items"]) == 1
    assert service.operator.get(SITE).json() == site


def test_neither_names_nor_ids_nor_keys_hold_text_that_cannot_be_kept(service: RunningService) -> None:
    for odd in ODD:
        assert send(service.operator, "POST", f"{SITE}/credentials", f'{{"name":"{odd}"}}') == (400, "invalid_request")
        assert send(service.operator, "POST", f"{SITE}/move", f'{{"customerId":"{odd}"}}') == (400, "invalid_request")
        login = json.dumps({"key": ADMIN_KEY})[:-1] + f',"operator":"{odd}"}}'
        assert send(service.anonymous, "POST", "/v1/admin/login", login) == (400, "invalid_request")
        assert send(service.anonymous, "POST", "/v1/admin/login", f'{{"key":"{odd}"}}') == (400, "invalid_request")


def test_a_path_with_odd_text_names_nothing(service: RunningService) -> None:
    for odd in ("%00", "a%00", "%ED%A0%80", "%FF", "%C3", "%E2%80%AE", "%F4%90%80%80"):
        for path in (f"{SITES}/{odd}", f"{SITES}/site_shop{odd}", f"{SITES}/{odd}/changes"):
            reply = service.operator.get(path)
            assert (reply.status_code, reply.json()["error"]) == (404, "site_not_found"), path
        reply = service.operator.post(f"{SITE}/credentials/{odd}/revoke")
        assert (reply.status_code, reply.json()["error"]) == (404, "not_found"), odd


def test_a_query_with_odd_text_is_rejected(service: RunningService) -> None:
    for odd in ("%00", "1%00", "%ED%A0%80", "%FF", "%C3"):
        for query in (f"limit={odd}", f"{odd}=1"):
            reply = service.operator.get(f"{SITE}/changes?{query}")
            assert (reply.status_code, reply.json()["error"]) == (400, "invalid_filter"), query


def test_a_name_cannot_be_made_to_look_like_another(service: RunningService) -> None:
    for mark in ("\u202e", "\u2066", "\u200f", "\u200b", "\u2028", "\ufeff", "\x1b", "\x7f"):
        replies = [
            service.operator.patch(SITE, json={"name": f"Sh{mark}op"}),
            service.operator.post(SITES, json={"name": "S", "customerName": f"Ac{mark}me"}),
            service.operator.post(f"{SITE}/credentials", json={"name": f"We{mark}b"}),
        ]
        assert [reply.status_code for reply in replies] == [400] * 3, ascii(mark)


def test_a_number_that_does_not_fit_is_rejected(service: RunningService) -> None:
    made = service.operator.post(f"{SITE}/credentials").json()["credential"]["id"]
    place = f"{SITE}/credentials/{made}/rotate"

    for number in ("1" + "0" * 30, "-1" + "0" * 30, "9" * 5_000, "1e400", "1E2", "0.5", "-0.0", "1e-400"):
        outcome = send(service.operator, "POST", place, f'{{"overlapSeconds":{number}}}')
        assert outcome == (400, "invalid_request"), number[:40]
