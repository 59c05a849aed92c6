"""HTTP libraries that follow the protocol by hand: the work is done, the program cannot be run, evidence is made up."""

import asyncio
import hashlib
import json
import subprocess
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from bench.adversaries.drivers.job import Job, read_job

CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36"
BROWSER_HEADERS = {
    "sec-ch-ua-platform": '"Linux"',
    "User-Agent": CHROME,
    "sec-ch-ua": '"Not;A=Brand";v="8", "Chromium";v="150"',
    "Content-Type": "text/plain;charset=UTF-8",
    "sec-ch-ua-mobile": "?0",
    "Accept": "*/*",
    "Sec-Fetch-Site": "same-origin",
    "Sec-Fetch-Mode": "cors",
    "Sec-Fetch-Dest": "empty",
    "Accept-Encoding": "gzip, deflate, br, zstd",
    "Accept-Language": "en-US,en;q=0.9",
}
FACTS = {"userAgent": CHROME, "platform": "Linux x86_64", "hardwareConcurrency": 8, "language": "en-US"}
SIGNALS = {
    **FACTS,
    "timezone": "Europe/Berlin",
    "webdriver": False,
    "automation": [],
    "headless": False,
    "renderer": "ANGLE (Intel, Mesa Intel(R) UHD Graphics 620 (KBL GT2), OpenGL 4.6)",
    "languages": ["en-US", "en"],
    "plugins": 5,
    "screen": {"width": 1920, "height": 1080, "outerWidth": 1920, "outerHeight": 1053},
    "touchPoints": 0,
    "patched": [],
    "permissions": {"notification": "default", "query": "prompt"},
    "worker": {**FACTS, "timezone": "Europe/Berlin"},
    "secureContext": True,
    "durationMs": 480,
}
INTERACTION = {
    "pointerMoves": 131,
    "touches": 0,
    "keys": 44,
    "scrolls": 2,
    "clicks": 4,
    "untrusted": 0,
    "durationMs": 21_400,
    "straightness": 1.31,
    "variation": 2.2,
}

Post = Callable[[str, bytes, dict[str, str]], bytes]


def solve(work: dict[str, Any]) -> list[int]:
    """Do the work natively; what is not known is left unsolved."""
    if work.get("algorithm") != "SHA-256":
        return solve_scrypt(work)
    found = []
    for index in range(work["count"]):
        start = hashlib.sha256(f"{work['salt']}:{index}:".encode())
        number = 0
        while True:
            tried = start.copy()
            tried.update(b"%d" % number)
            if int.from_bytes(tried.digest()[:4]) >> (32 - work["bits"]) == 0:
                break
            number += 1
        found.append(number)
    return found


def solve_scrypt(work: dict[str, Any]) -> list[int]:
    """Do the work of the raised levels natively."""
    found = []
    for index in range(work["count"]):
        password = f"{work['salt']}:{index}".encode()
        made = hashlib.scrypt(password, salt=b"", n=1 << work["bits"], r=1, p=1, dklen=32)
        found.append(int.from_bytes(made[:4]))
    return found


def with_requests() -> Post:
    import requests  # noqa: PLC0415 - each client is a package that may be missing

    session = requests.Session()
    return lambda url, body, headers: session.post(url, data=body, headers=headers, timeout=60).content


def with_httpx() -> Post:
    import httpx  # noqa: PLC0415 - each client is a package that may be missing

    client = httpx.Client(timeout=60)
    return lambda url, body, headers: client.post(url, content=body, headers=headers).content


def with_curl_cffi() -> Post:
    from curl_cffi import CurlHttpVersion, requests  # noqa: PLC0415 - each client is a package that may be missing

    # Without TLS it would offer to change to HTTP/2 with its first request.
    session = requests.Session(impersonate="chrome", http_version=CurlHttpVersion.V1_1)
    return lambda url, body, headers: session.post(url, data=body, headers=headers, timeout=60).content


def with_aiohttp() -> Post:
    import aiohttp  # noqa: PLC0415 - each client is a package that may be missing

    async def ask(url: str, body: bytes, headers: dict[str, str]) -> bytes:
        async with aiohttp.ClientSession() as session, session.post(url, data=body, headers=headers) as reply:
            return await reply.read()

    return lambda url, body, headers: asyncio.run(ask(url, body, headers))


def with_curl() -> Post:
    def ask(url: str, body: bytes, headers: dict[str, str]) -> bytes:
        given = [part for name, value in headers.items() for part in ("-H", f"{name}: {value}")]
        command = ["curl", "-s", "--compressed", "--data-binary", "@-", *given, url]
        return subprocess.run(command, input=body, capture_output=True, check=True, timeout=90).stdout

    return ask


CLIENTS = {
    "requests": with_requests,
    "httpx": with_httpx,
    "aiohttp": with_aiohttp,
    "curl": with_curl,
    "curl_cffi": with_curl_cffi,
}


def run(job: Job, post: Post, headers: dict[str, str], evidence: dict[str, Any]) -> None:
    """Get a challenge and solve it, including the interactive challenge if there is one."""
    known = {"schema": 1, "siteKey": job.site_key, "action": job.action}
    headers = {**headers, "Origin": job.origin}

    def call(route: str, body: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(post(f"{job.gate}/v1/browser/{route}", json.dumps(body).encode(), headers))
        return answer

    challenge = call("challenge", known)
    if "challengeId" not in challenge:
        raise RuntimeError(f"Error: no challenge: {challenge}")
    body = {**known, "challengeId": challenge["challengeId"], "work": solve(challenge["work"]), **evidence}
    body.setdefault("instrument", {"page": hashlib.md5(b"guess").hexdigest(), "worker": ""})
    verdict = call("verify", body)
    if "stepUp" in verdict:
        body["answer"] = answer_shown(verdict["stepUp"])
        verdict = call("verify", body)
    if "token" in verdict:
        sent = urlencode({"agentgate-token": verdict["token"], "name": job.name}).encode()
        post(f"{job.origin}/send", sent, {**headers, "Content-Type": "application/x-www-form-urlencoded"})


def answer_shown(step_up: dict[str, Any]) -> dict[str, Any]:
    """Solve the interactive challenge without a person who sees it."""
    wait_ms = int(step_up.get("waitMs", 900))
    time.sleep(wait_ms / 1000 + 1.2)
    press = {
        "moves": 14,
        "wayPx": 190,
        "reachPx": 160,
        "travelMs": 420,
        "holdMs": 86,
        "offX": 5,
        "offY": -3,
        "sizePx": 1,
    }
    steps = [
        {"input": "pointer", "afterMs": 1100, "trusted": True, "press": press},
        {"input": "pointer", "afterMs": wait_ms + 260, "trusted": True, "press": {**press, "holdMs": 97, "offX": -8}},
    ]
    return {"kind": step_up.get("kind"), "field": [216, 72], "steps": steps, "work": solve(step_up["work"])}


def main() -> None:
    """Be one HTTP client for one session: `library` or `library, what it adds`."""
    job = read_job()
    library, _, extra = job.variant.partition(" ")
    headers = {} if not extra else dict(BROWSER_HEADERS)
    evidence: dict[str, Any] = {"signals": {}}
    if "signals" in extra:
        evidence = {"signals": SIGNALS, "interaction": INTERACTION}
    if "copied" in extra:
        evidence = {name: job.recorded[name] for name in job.recorded if name not in KNOWN}
    run(job, CLIENTS[library](), headers, evidence)


KNOWN = {"schema", "siteKey", "action", "challengeId", "work", "answer"}

if __name__ == "__main__":
    main()
