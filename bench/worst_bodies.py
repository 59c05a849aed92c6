"""The longest time that one request holds the event loop: `python -m bench.worst_bodies [--match TEXT] [--times N]`.

Every route of both listeners gets bodies, queries and headers of the largest size that it accepts, made to be
expensive. The service has 100 sites and 10,000 events. The event loop's thread measures the CPU time of each of its
iterations, so other programs on the machine do not count. The least of a few calls is printed, in milliseconds.
"""

import argparse
import asyncio
import itertools
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from agentgate.gateway.request.target_headers import TARGET_HEADERS
from agentgate.http.endpoint import Endpoint
from agentgate.lib.clock import DAY_MS
from agentgate.lib.settings.schema import read_settings
from tests.support.browser_client import create_site
from tests.support.events import many_events
from tests.support.every_route import ADMIN_ROUTES, PUBLIC_ROUTES, fill, parameters
from tests.support.service import ADMIN_KEY, NOON_MS, RunningService, running_service
from tests.support.two_accounts import Scene, bodies, set_scene

SITES, EVENTS = 100, 10_000
MOST_MS = 20.0
TARGET_BYTES, HEADER_BYTES = 32_000, 38_000
# Rules of the worst sets, and how many of them have a condition that does not exist.
MOST_RULES, UNKNOWN_RULES = 200, 50
WORDS = 200
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=b0"


class Turns:
    """The longest event-loop iteration since the last reset, in CPU time of its thread."""

    def __init__(self) -> None:
        self.longest_s = 0.0
        self._last_s = 0.0
        self._is_running = True

    async def start(self) -> None:
        """Measure from now on, once in each turn."""
        self._last_s = time.thread_time()
        self._tick(asyncio.get_running_loop())

    async def stop(self) -> None:
        self._is_running = False

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        now_s = time.thread_time()
        self.longest_s = max(self.longest_s, now_s - self._last_s)
        self._last_s = now_s
        if self._is_running:
            loop.call_soon(self._tick, loop)


def nested(size: int) -> bytes:
    """Return multipart parts in parts, filled up with empty lines."""
    part = b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n"
    return (b"--b0\r\n" + b"".join(part % (n, n) for n in range(1, 300)) + b"\n" * size)[:size]


def keys(size: int) -> bytes:
    """Return an object of as many members as there is room for."""
    return b"{" + b",".join(b'"%d":1' % n for n in range(size // 10))[: size - 20].rpartition(b",")[0] + b"}"


def rules(count: int) -> list[Any]:
    """Return so many rules, each of which has to be compared with every other."""
    return [
        {
            "name": f"r{n}",
            "action": ("block", "allow")[n % 2],
            "match": {
                "any_labels": [f"net.asn.{n * 7 + each}" for each in range(8)],
                "none_labels": [f"ua.x{n % 13}"],
                "paths": [f"/a{n}*b*c*d*", f"/{'a*' * 20}b"],
                "score": "bot",
                "min_score": n / 250,
            },
        }
        for n in range(count)
    ]


def words(count: int) -> dict[str, Any]:
    """Return a rule with so many patterns for one parameter."""
    return {"name": "words", "action": "block", "match": {"query": {"q": [f"*w{n}*{'a*' * 9}b" for n in range(count)]}}}


def unknown_conditions(count: int) -> list[Any]:
    """Return so many rules with a condition each that does not exist, and resembles all that do."""
    names = itertools.islice(itertools.permutations("all_labels_none_user_agents"), 0, count * 1_000, 1_000)
    return [{"name": f"u{n}", "action": "block", "match": {"".join(name): 1}} for n, name in enumerate(names)]


def saving(rules: list[Any], **more: Any) -> dict[str, Any]:
    """Return the body that saves these rules."""
    return {"ruleSet": {"version": "1", "rules": rules, "default_action": "allow"}, **more}


def with_rules(row: Endpoint, example: object, rules: list[Any]) -> bytes:
    """Return a body with these rules. Saving asks every question, and saves nothing because of an unknown condition."""
    more = {"revision": 1, "guard": True} if row.method == "PUT" else {}
    asked = {"request": example["request"]} if isinstance(example, dict) and "request" in example else {}
    return json.dumps(saving([*rules, *unknown_conditions(1)], **more, **asked)).encode()


def worst_bodies(row: Endpoint, example: object) -> Iterator[tuple[str, str, bytes]]:
    """Yield what a body is called, its type and its bytes."""
    size = row.body_limit
    yield "deep JSON", JSON, b"[" * size
    yield "deep member", JSON, b'{"a":' * 400 + b"1" + b"}" * 400
    yield "members", JSON, keys(size)
    yield "escapes", JSON, b'{"a":"' + b"\\u0041" * ((size - 8) // 6) + b'"}'
    yield "long number", JSON, b'{"a":' + b"1" * (size - 7) + b"}"
    yield "nested parts", MULTIPART, nested(size)
    yield "boundaries", MULTIPART, (b"--b0\r\n" * size)[:size]
    yield "form escapes", FORM, (b"a=" + b"%41" * size)[:size]
    yield "form fields", FORM, b"&".join(b"%d=1" % n for n in range(size // 8))
    if isinstance(example, dict):
        for name, value in example.items():
            if isinstance(value, str):
                room = size - len(json.dumps(example)) - 8
                yield f"long {name}", JSON, json.dumps({**example, name: "a " * (room // 2)}).encode()
    if "/rules" in row.path:
        yield "rules", JSON, with_rules(row, example, rules(MOST_RULES - 1))
        yield "unknown conditions", JSON, with_rules(row, example, unknown_conditions(MOST_RULES - 1))
        yield "too many rules", JSON, with_rules(row, example, rules(size // 320))


WORST_QUERIES = {
    "parameters": "&".join(f"{n}=1" for n in range(TARGET_BYTES // 7)),
    "escapes": "q=" + "%41" * (TARGET_BYTES // 3),
    "escapes of escapes": "q=" + "%25" * (TARGET_BYTES // 3),
    "words": "q=" + "a+" * (TARGET_BYTES // 2),
    "cursor": "cursor=" + "A" * (TARGET_BYTES - 10),
}
WORST_HEADERS = {
    "cookies": {"Cookie": "a=b;" * (HEADER_BYTES // 4)},
    "languages": {"Accept-Language": ",".join(["de-de;q=0.1"] * (HEADER_BYTES // 12))},
    "agents": {"User-Agent": "Mozilla/5.0 (" * (HEADER_BYTES // 13)},
    "signatures": {"Signature-Input": 'a=("@method");' * (HEADER_BYTES // 14), "Signature": "a=:AA==:"},
    "forwarded": {"X-Forwarded-For": "1.2.3.4," * (HEADER_BYTES // 8)},
    "targets": {"X-Original-URL": "https://shop.example/" + "%25" * (TARGET_BYTES // 3)},
    "odd targets": {"X-Original-URL": "https://shop.example/.." + "/items/r1" * (TARGET_BYTES // 9)},
    "other targets": dict.fromkeys(sorted(TARGET_HEADERS)[:80], "/.." + "/items/r1" * 45),
}
# A request as a proxy describes it.
ORIGINAL = {
    "X-Original-Method": "POST",
    "X-Original-URL": "https://shop.example/items/r1",
    "X-Original-Address": "203.0.113.9",
    "Content-Type": FORM,
}
DESCRIBED = "POST 203.0.113.9 host=shop.example length=60000 https://shop.example/"
WORST_DESCRIPTIONS = {
    "long": DESCRIBED + "%25" * (TARGET_BYTES // 3),
    "repeated parameters": DESCRIBED + "?" + "&".join(["q=" + "a" * 100] * 256),
    "odd": DESCRIBED + ".." + "/items/r1" * (TARGET_BYTES // 9),
    "words": DESCRIBED.replace(" https", " ja4=a" * 4_000 + " https"),
}


def is_gates(name: str) -> bool:
    """Return whether a proxy or a site's server calls the route, with the secret of its site."""
    return "/v1/gateway/" in name or "siteverify" in name


def requests_of(name: str, row: Endpoint, scene: Scene) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each request for a route, with its name."""
    path = fill(row.path, parameters(row, scene, scene.acme))
    example = bodies(scene).get(name)
    yield "example", {"url": path, "json": example} if example is not None else {"url": path}
    for kind, query in WORST_QUERIES.items():
        yield f"query: {kind}", {"url": f"{path}?{query}"}
    for kind, headers in WORST_HEADERS.items():
        yield f"headers: {kind}", {"url": path, "headers": headers}
    if is_gates(name):
        for kind, line in WORST_DESCRIPTIONS.items():
            for respond in ("denial", "visitor"):
                url, described = f"{path}?respond={respond}", {"X-AgentGate-Request": line}
                yield f"description: {kind}, {respond}", {"url": url, "headers": described}
    if row.method not in {"GET", "HEAD"}:
        for kind, media_type, body in worst_bodies(row, example):
            yield f"body: {kind}", {"url": path, "content": body, "headers": {"Content-Type": media_type}}


def measure(service: RunningService, scene: Scene, match: str, times: int) -> Iterator[tuple[float, str, str, int]]:
    """Yield for each route the longest turn in milliseconds, the route, the request that took it, and its status."""
    turns = Turns()
    service.run(turns.start())
    config = service.application.stores.databases["config"]
    gate = protect(service, scene)
    for listener, routes in (("public", PUBLIC_ROUTES), ("admin", ADMIN_ROUTES)):
        url = service.public_url if listener == "public" else service.admin_url
        caller = scene.callers["owner" if listener == "public" else "operator key"]
        with httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
            for name in sorted(each for each in routes if match in each):
                worst = (0.0, name, "", 0)
                for kind, request in requests_of(name, routes[name], scene):
                    taken, status = [], 0
                    headers = {**(gate if is_gates(name) else caller), **request.get("headers", {})}
                    for _ in range(times):
                        turns.longest_s = 0.0
                        reply = client.request(routes[name].method, **{**request, "headers": headers})
                        client.cookies.clear()
                        status = reply.status_code
                        taken.append(turns.longest_s * 1000)
                        if taken[-1] < MOST_MS / 4:
                            break
                    worst = max(worst, (min(taken), name, kind, status))
                    # Some routes end the caller's session.
                    service.run(config.run("UPDATE user_session SET ended_ms = NULL WHERE ended_ms IS NOT NULL"))
                yield worst
    service.run(turns.stop())


def protect(service: RunningService, scene: Scene) -> dict[str, str]:
    """Give the scene's site routes and the worst rules; return what a proxy sends with each check."""
    site = f"/v1/admin/sites/{scene.acme.site}"
    actions = {"read": {"browserRequired": True, "clearance": True}, "write": {"browserRequired": True}}
    routes = [
        {"method": method, "pathPrefix": f"/{folder}/", "action": action}
        for method, action in (("GET", "read"), ("POST", "write"))
        for folder in ("items", "members")
    ]
    listed = [*rules(MOST_RULES - UNKNOWN_RULES - 1), words(WORDS), *unknown_conditions(UNKNOWN_RULES)]
    with httpx.Client(
        base_url=service.admin_url, headers=scene.callers["operator key"], trust_env=False, timeout=60
    ) as operator:
        operator.patch(site, json={"mode": "enforce", "actions": actions, "routes": routes}).raise_for_status()
        operator.put(f"{site}/rules", json=saving(listed, revision=0)).raise_for_status()
        made = operator.post(f"{site}/credentials", json={"name": "worst"}).raise_for_status().json()
    secret = made["secret"]
    return {**ORIGINAL, "Authorization": f"Bearer {secret}", "X-AgentGate-Secret": secret}


def fill_store(service: RunningService) -> None:
    """Create the sites and record the events of the day."""
    for _ in range(SITES):
        create_site(service)
    for event in many_events(EVENTS, day=NOON_MS // DAY_MS - 1):
        service.run(_put(service, event))
    while service.application.recorder.waiting:
        time.sleep(0.02)


async def _put(service: RunningService, event: Any) -> None:
    service.application.recorder.put(event)


def main() -> None:
    """Print the table, the worst first, and fail if a request holds the loop for longer than 20 ms."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--match", default="", help="Routes whose method and path contain a text. Default: all.")
    arguments.add_argument("--times", type=int, default=4, help="Calls of each slow request. Default: 4.")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = read_settings(
            {
                "AGENTGATE_DATA_DIR": str(Path(folder) / "data"),
                "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
                "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
                "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
                "AGENTGATE_DRAIN_SECONDS": "0",
            }
        )
        with running_service(settings) as service:
            scene = set_scene(service)
            fill_store(service)
            rows = sorted(measure(service, scene, given.match, given.times), reverse=True)
    for taken_ms, name, kind, status in rows:
        print(f"{taken_ms:8.1f} ms  {status}  {name}  ({kind})")
    slow = [row for row in rows if row[0] > MOST_MS]
    raise SystemExit(f"{len(slow)} routes held the event loop for more than {MOST_MS:g} ms" if slow else 0)


if __name__ == "__main__":
    main()
