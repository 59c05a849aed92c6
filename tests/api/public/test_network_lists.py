"""Network lists at the gateway: rules refer to them, and lists from outside are read, checked and kept."""

import json
from collections.abc import Iterator
from ipaddress import ip_network
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from msgspec.structs import replace

from agentgate.lib.settings.schema import Settings
from agentgate.sites.lists import network_refresh
from agentgate.sites.lists.network_refresh import MOST_BODY_BYTES, MOST_LINES
from tests.support.gateway import Gate
from tests.support.http_receiver import Answering, Received, Receiver, receiver
from tests.support.mail_server import wait_for
from tests.support.service import RunningService, running_service

# Lines as FireHOL, Spamhaus (text and JSON) and own lists have them.
FIREHOL = "#\n# firehol_level1\n#\n0.0.0.0/8\n10.0.0.0/8\n203.0.114.0/24\n224.0.0.0/3\n"
SPAMHAUS = "; Spamhaus DROP List\n203.0.114.0/24 ; SBL256894\n"
SPAMHAUS_JSON = '{"cidr":"203.0.114.0/24","sblid":"SBL256894","rir":"apnic"}\n{"type":"metadata","records":1}\n'
PLAIN = "203.0.114.20\n203.0.114.21 # two\n"
KEY = "0123456789abcdef0123456789abcdef"
# Public, as others are never taken from outside.
ADDRESS = "203.0.114.20"


@pytest.fixture
def server() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


@pytest.fixture
def service(settings: Settings) -> Iterator[RunningService]:
    """A service that may read from this machine."""
    with running_service(replace(settings, webhook_private_hosts=("localhost",))) as running:
        yield running


@pytest.fixture
def gate(service: RunningService) -> Gate:
    made = Gate(service, address=ADDRESS)
    block = {"name": "listed", "match": {"network_lists": ["drop"]}, "action": "block"}
    rules(made, block)
    return made


def rules(gate: Gate, *entries: dict[str, Any]) -> None:
    """Replace the rules of the site."""
    rule_set = {"version": "1", "rules": list(entries), "default_action": "allow"}
    done = gate.service.operator.put(f"/v1/admin/sites/{gate.site_key}/rules", json={"ruleSet": rule_set})
    assert done.status_code == 200, done.text


def said(reply: Any) -> tuple[int, str]:
    return reply.status_code, reply.headers["x-service-reason"]


def path_of(gate: Gate, name: str = "drop") -> str:
    return f"/v1/admin/sites/{gate.site_key}/network-lists/{name}"


def save(gate: Gate, **body: Any) -> None:
    done = gate.service.operator.put(path_of(gate), json=body)
    assert done.status_code == 200, done.text


def shown(gate: Gate) -> dict[str, Any]:
    items = gate.service.operator.get(path_of(gate).rpartition("/")[0]).json()["items"]
    return next(each for each in items if each["name"] == "drop")


def refreshed(gate: Gate) -> dict[str, Any]:
    """Run the job that reads sources, and return the list."""
    refresh = next(each for each in gate.service.application.sites.jobs if each.name == "refresh-network-lists")
    gate.service.run(refresh.work())
    return shown(gate)


def test_a_rule_refers_to_a_list_and_obeys_its_changes_at_once(gate: Gate) -> None:
    assert gate.check().status_code == 204
    save(gate, source="own")
    path = f"{path_of(gate)}/networks"
    assert gate.service.operator.post(path, json={"add": ["203.0.114.0/24"]}).status_code == 200
    assert said(gate.check()) == (403, "policy")
    sample = {"method": "GET", "url": "https://shop.example/", "headers": {}, "address": ADDRESS}
    report = gate.service.operator.post(f"/v1/admin/sites/{gate.site_key}/rules/test", json={"request": sample}).json()
    assert (report["outcome"], report["rule"]) == ("block", "listed")
    other = gate.service.operator.post(
        f"/v1/admin/sites/{gate.site_key}/rules/test", json={"request": {**sample, "address": "198.51.100.7"}}
    ).json()
    assert other["trace"][0]["because"] == "the address is not in drop"
    assert gate.service.operator.post(path, json={"remove": ["203.0.0.0/16"]}).status_code == 200
    assert gate.check().status_code == 204


def test_a_list_of_another_site_means_nothing(gate: Gate) -> None:
    other = Gate(gate.service, address=ADDRESS)
    save(other, source="own")
    assert gate.service.operator.post(f"{path_of(other)}/networks", json={"add": [ADDRESS]}).status_code == 200
    assert gate.check().status_code == 204


def test_a_list_at_a_url_is_read_in_each_format(gate: Gate, server: Receiver) -> None:
    for text, skipped in ((FIREHOL, 3), (SPAMHAUS, 0), (SPAMHAUS_JSON, 0), (PLAIN, 0)):
        server.answer = lambda _request, text=text: Answering(body=text.encode())
        save(gate, source="url", url=server.url())
        found = refreshed(gate)
        assert (found["problem"], found["skipped"]) == ("", skipped), text
        gate.address = ADDRESS
        assert said(gate.check()) == (403, "policy")
        gate.address = "10.0.0.7"
        assert gate.check().status_code == 204


def test_an_unchanged_list_is_not_sent_again(gate: Gate, server: Receiver) -> None:
    def answer(request: Received) -> Answering:
        if request.headers.get("if-none-match") == '"v1"':
            return Answering(status=304)
        return Answering(headers=(("ETag", '"v1"'),), body=FIREHOL.encode())

    server.answer = answer
    save(gate, source="url", url=server.url(), refreshMinutes=5)
    first = refreshed(gate)
    gate.service.clock.advance(seconds=5 * 60)
    again = refreshed(gate)
    assert len(server.received) == 2
    assert again["checkedAt"] > first["checkedAt"]
    assert again | {"checkedAt": 0} == first | {"checkedAt": 0}
    assert said(gate.check()) == (403, "policy")


FAILURES = (
    (Answering(status=500, body=b"203.0.114.99\n"), "status 500"),
    (Answering(status=302, headers=(("Location", "http://127.0.0.1/"),)), "status 302"),
    (Answering(body=b""), "not a list"),
    (Answering(body=b"<html>\n<h1>Not found</h1>\n<p>203.0.114.99</p>\n"), "not a list"),
    (Answering(body=b"198.51.0.1\n" * (MOST_BODY_BYTES // 11 + 1)), "larger than"),
    (Answering(headers=(("Content-Encoding", "gzip"),), body=b"203.0.114.99\n"), "compressed"),
    (Answering(hang_up=True), "lost"),
    (Answering(body=b'{"a":' * 100_000), "not a list"),
    (Answering(body=b"\n" * MOST_LINES), "more than"),
    (Answering(body="".join(f"9.9.9.{n}\n" for n in range(101)).encode()), "it has 101 networks"),
)


def test_an_error_keeps_the_last_good_list_and_is_shown(
    gate: Gate, server: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network_refresh, "NETWORKS_PER_SITE", 100)
    server.answer = lambda _request: Answering(body=PLAIN.encode())
    save(gate, source="url", url=server.url())
    assert refreshed(gate)["networks"] == 2
    gate.service.clock.advance(seconds=60 * 60)
    for bad, reason in FAILURES:
        server.answer = lambda _request, bad=bad: bad
        found = refreshed(gate)
        assert reason in found["problem"]
        assert found["networks"] == 2
        assert said(gate.check()) == (403, "policy")
        # It is tried again before the hour ends.
        gate.service.clock.advance(seconds=10 * 60)
    server.answer = lambda _request: Answering(body=SPAMHAUS.encode())
    assert (refreshed(gate)["problem"], shown(gate)["networks"]) == ("", 1)


def test_a_hostile_list_does_not_block_private_networks_everyone_and_the_proxies(
    settings: Settings, server: Receiver
) -> None:
    """An attacker who controls a list adds the networks of the site's proxies, of its owner, and of everyone."""
    hostile = ["0.0.0.0/0", "0.0.0.0/1", "128.0.0.0/1", "::/0", "2000::/3", "10.0.0.0/7", "192.168.1.0/24", "127.0.0.1"]
    hostile += [
        "64.0.0.0/7",
        "203.0.114.8/29",
        "203.0.114.10",
        "203.0.112.0/22",
        "fc00::/7",
        "::ffff:10.0.0.1",
        ADDRESS,
    ]
    proxies = (ip_network("127.0.0.1"), ip_network("203.0.114.10"))
    with running_service(replace(settings, webhook_private_hosts=("localhost",), trusted_proxies=proxies)) as service:
        gate = Gate(service, address=ADDRESS)
        rules(gate, {"name": "listed", "match": {"network_lists": ["drop"]}, "action": "block"})
        server.answer = lambda _request: Answering(body="\n".join(hostile).encode())
        save(gate, source="url", url=server.url())
        found = refreshed(gate)
        networks = service.operator.get(f"{path_of(gate)}/networks").json()["items"]
        assert (networks, found["skipped"]) == ([f"{ADDRESS}/32"], len(hostile) - 1)
        assert said(gate.check()) == (403, "policy")
        for address in ("10.0.0.7", "192.168.1.7", "203.0.114.10", "198.51.100.7", "2001:db8::1"):
            gate.address = address
            assert gate.check().status_code == 204, address


def test_a_list_with_most_of_the_internet_is_not_used(gate: Gate, server: Receiver) -> None:
    """An attacker who controls a list adds everyone, in networks that are small enough alone."""
    for networks in ([f"{n}.0.0.0/8" for n in range(256)], [f"{0x2000 + n:x}::/16" for n in range(0x2000)]):
        server.answer = lambda _request, networks=networks: Answering(body="\n".join(networks).encode())
        save(gate, source="url", url=server.url())
        assert (refreshed(gate)["networks"], shown(gate)["problem"]) == (0, "it has most addresses of the internet")
    assert gate.check().status_code == 204


def test_no_customer_delays_the_lists_of_others(gate: Gate, server: Receiver) -> None:
    """An attacker has many slow sources, and each is due before the list of another customer."""
    other = Gate(gate.service, address=ADDRESS)
    many = [f"{path_of(gate)}{n}" for n in range(8)]
    server.answer = lambda _request: Answering(body=PLAIN.encode())
    for path in many:
        saved = gate.service.operator.put(path, json={"source": "url", "url": server.url()})
        assert saved.status_code == 200, saved.text
    gate.service.clock.advance(seconds=1)
    save(other, source="url", url=server.url())

    assert refreshed(other)["networks"] == 2
    items = gate.service.operator.get(path_of(gate).rpartition("/")[0]).json()["items"]
    assert sum("checkedAt" in each for each in items) <= 2


def test_a_list_at_a_private_address_is_never_read(settings: Settings, server: Receiver) -> None:
    """An attacker with write permission names a neighbor of the service, directly and by a public name's look."""
    with running_service(settings) as service:
        gate = Gate(service)
        done = service.operator.put(path_of(gate), json={"source": "url", "url": server.url()})
        assert (done.status_code, done.json()["error"]) == (400, "invalid_request")
        save(gate, source="url", url=f"https://localhost:{server.port}/")
        assert refreshed(gate)["problem"] == "the name does not resolve to a public address"
    assert server.received == []


class Lapi:
    """CrowdSec's local API, as its documentation describes it: a stream for each bouncer key."""

    def __init__(self) -> None:
        self.bans: dict[str, dict[str, Any]] = {}
        self._sent: dict[str, dict[str, Any]] = {}
        self.startups: list[str] = []

    def ban(self, value: str, scope: str = "Ip", kind: str = "ban") -> None:
        self.bans[value] = {
            "duration": "3h59m",
            "id": len(self.bans) + 1,
            "origin": "crowdsec",
            "scenario": "crowdsecurity/http-probing",
            "scope": scope,
            "type": kind,
            "uuid": "7cf8aa41",
            "value": value,
        }

    def answer(self, request: Received) -> Answering:
        """Return the decisions since the key's last request, or with `startup` all of them."""
        url = urlsplit(request.path)
        if request.headers.get("x-api-key") != KEY:
            return Answering(status=403, body=b'{"message":"access forbidden"}')
        if (request.method, url.path) != ("GET", "/v1/decisions/stream"):
            return Answering(status=404)
        query = parse_qs(url.query, strict_parsing=True)
        assert query["scopes"] == ["ip,range"]
        self.startups += query["startup"]
        before = {} if query["startup"] == ["true"] else self._sent
        new = [each for value, each in self.bans.items() if value not in before]
        deleted = [each for value, each in before.items() if value not in self.bans]
        self._sent = dict(self.bans)
        return Answering(body=json.dumps({"new": new or None, "deleted": deleted or None}).encode())


def test_the_bans_of_crowdsec_come_and_go(gate: Gate, server: Receiver) -> None:
    lapi = Lapi()
    server.answer = lapi.answer
    lapi.ban(ADDRESS)
    lapi.ban("203.0.115.0/24", scope="Range")
    lapi.ban("203.0.116.1", kind="captcha")
    lapi.ban("10.0.0.7")
    save(gate, source="crowdsec", url=server.url(path="/"), key=KEY, refreshMinutes=5)
    assert (refreshed(gate)["networks"], shown(gate)["skipped"]) == (2, 1)
    assert said(gate.check()) == (403, "policy")

    del lapi.bans[ADDRESS]
    lapi.ban("203.0.114.21")
    gate.service.clock.advance(seconds=5 * 60)
    assert refreshed(gate)["networks"] == 2
    assert gate.check().status_code == 204
    gate.address = "203.0.114.21"
    assert said(gate.check()) == (403, "policy")

    # After an error, everything is read again: a part of the stream may be lost.
    server.answer = lambda _request: Answering(status=503)
    gate.service.clock.advance(seconds=5 * 60)
    assert "status 503" in refreshed(gate)["problem"]
    server.answer = lapi.answer
    gate.service.clock.advance(seconds=5 * 60)
    assert (refreshed(gate)["networks"], shown(gate)["problem"]) == (2, "")
    assert lapi.startups == ["true", "false", "true"]


WRONG_STREAMS = (
    b'{"x":' * 100_000,
    b'{"new":[' + b'{"value":' * 90_000,
    b'{"new":[{"value":"\xff","scope":"Ip","type":"ban"}]}',
    b'{"new":[{"value":7}]}',
    b'{"new":[' + b"{}," * MOST_LINES + b"{}]}",
)


@pytest.mark.parametrize("body", WRONG_STREAMS, ids=range(len(WRONG_STREAMS)))
def test_a_wrong_stream_of_crowdsec_is_shown(gate: Gate, server: Receiver, body: bytes) -> None:
    server.answer = lambda _request: Answering(body=body)
    save(gate, source="crowdsec", url=server.url(path="/"), key=KEY)

    assert "CrowdSec" in refreshed(gate)["problem"]


def test_a_wrong_key_of_crowdsec_is_shown(gate: Gate, server: Receiver) -> None:
    server.answer = Lapi().answer
    save(gate, source="crowdsec", url=server.url(path="/"), key="wrong")
    assert refreshed(gate)["problem"] == "the server responded with status 403"


def test_the_running_service_reads_a_list_without_being_asked(gate: Gate, server: Receiver) -> None:
    server.answer = lambda _request: Answering(body=PLAIN.encode())
    save(gate, source="url", url=server.url())
    gate.service.clock.advance(seconds=10)
    wait_for(lambda: shown(gate)["networks"] == 2)
    metrics = gate.service.operator.get("/metrics").text
    assert 'agentgate_network_list_refreshes_total{result="changed",source="url"} 1.0' in metrics
