"""The browser check without a browser: hashlib solves the proof of work, and the store has the program's result.

`get_token(service, site_key, action, origin)` is the quickest way to a real token.
"""

import hashlib
import itertools
import math
import random
import time
from functools import lru_cache
from typing import Any

import httpx

from agentgate.browser_check.instrument.program import right_answer
from agentgate.browser_check.probes.chains import blink_answer, draw_chains
from agentgate.browser_check.probes.checker import fresh_of
from agentgate.browser_check.probes.ticket import unseal
from agentgate.browser_check.records import Work
from agentgate.browser_check.repository import StoredChallenge
from agentgate.browser_check.work import scrypt_answer
from tests.support.service import RunningService

ORIGIN = "https://shop.example"
CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
)
# What Chrome sends with a cross-origin fetch, in its order.
HEADERS = {
    "sec-ch-ua-platform": '"Windows"',
    "User-Agent": CHROME,
    "sec-ch-ua": '"Chromium";v="142", "Google Chrome";v="142", "Not_A Brand";v="99"',
    "Content-Type": "text/plain;charset=UTF-8",
    "sec-ch-ua-mobile": "?0",
    "Accept": "*/*",
    "Sec-Fetch-Site": "cross-site",
    "Sec-Fetch-Mode": "cors",
    "Sec-Fetch-Dest": "empty",
    "Accept-Encoding": "gzip, deflate, br, zstd",
    "Accept-Language": "en-GB,en;q=0.9",
}
# The values that the SDK finds in an ordinary browser.
SIGNALS: dict[str, Any] = {
    "webdriver": False,
    "automation": [],
    "userAgent": CHROME,
    "headless": False,
    "renderer": "ANGLE (Intel, Intel(R) UHD Graphics 620 Direct3D11 vs_5_0 ps_5_0, D3D11)",
    "languages": ["en-GB", "en"],
    "language": "en-GB",
    "plugins": 5,
    "screen": {"width": 1920, "height": 1080, "outerWidth": 1920, "outerHeight": 1040},
    "platform": "Win32",
    "touchPoints": 0,
    "hardwareConcurrency": 8,
    "timezone": "Europe/London",
    "patched": [],
    "debugger": False,
    "permissions": {"notification": "default", "query": "prompt"},
    "worker": {
        "userAgent": CHROME,
        "platform": "Win32",
        "hardwareConcurrency": 8,
        "language": "en-GB",
        "timezone": "Europe/London",
    },
    "frame": {"userAgent": CHROME, "platform": "Win32", "languages": ["en-GB", "en"]},
    "secureContext": True,
    "durationMs": 180,
}
INTERACTION = {
    "pointerMoves": 42,
    "touches": 0,
    "keys": 12,
    "scrolls": 3,
    "clicks": 3,
    "untrusted": 0,
    "durationMs": 5400,
    "straightness": 1.32,
    "variation": 0.8,
}
# A hand's press of the check's button, and the free width and height of the field that the button moves in.
PRESS = {
    "moves": 14,
    "wayPx": 190.0,
    "reachPx": 160.0,
    "travelMs": 420.0,
    "holdMs": 86.0,
    "offX": 5.0,
    "offY": -3.0,
    "sizePx": 1.0,
}
FIELD = [216.0, 72.0]


def some_interaction(*, pressed: bool = False) -> dict[str, Any]:
    """Return a person's input statistics, different each time; larger if the person has pressed the check's button."""
    draw = random.SystemRandom()
    own = {"durationMs": draw.randrange(4_000, 60_000), "variation": draw.randrange(4_000, 14_000) / 10_000}
    if pressed:
        own |= {"pointerMoves": INTERACTION["pointerMoves"] + 40, "clicks": INTERACTION["clicks"] + 2}
    return {**INTERACTION, **own}


# The rules call it automation: challenge at least.
DRIVEN = {**SIGNALS, "webdriver": True}

# Each visitor has a separate address, so that no test reaches the limits of another by accident.
_addresses = itertools.count(1)


def new_address() -> str:
    """Return an address in a network that was never used before."""
    number = next(_addresses)
    return f"81.{number >> 8 & 255}.{number & 255}.7"


class BrowserClient:
    """A page of a site, and the visitor who has it open."""

    def __init__(
        self,
        service: RunningService,
        site_key: str,
        *,
        action: str = "login",
        origin: str | None = ORIGIN,
        address: str | None = None,
    ) -> None:
        self.service = service
        self.site_key = site_key
        self.action = action
        self.origin = origin
        self.address = address or new_address()

    @property
    def headers(self) -> dict[str, str]:
        """The headers that the page's browser sends."""
        origin = {} if self.origin is None else {"Origin": self.origin}
        return {**HEADERS, **origin, "X-Forwarded-For": self.address}

    def post(self, route: str, body: Any, **headers: str) -> httpx.Response:
        """Call a route of the check."""
        return self.service.public.post(f"/v1/browser/{route}", json=body, headers={**self.headers, **headers})

    def challenge(self, **fields: Any) -> httpx.Response:
        """Ask for a challenge."""
        return self.post("challenge", {"schema": 1, "siteKey": self.site_key, "action": self.action, **fields})

    def instrument(self, challenge_id: str, **headers: str) -> httpx.Response:
        """Ask for the program."""
        url = f"/v1/browser/instrument?challengeId={challenge_id}"
        return self.service.public.get(url, headers={**self.headers, **headers})

    def solution(self, challenge: dict[str, Any], **fields: Any) -> dict[str, Any]:
        """Return the body of a verification that is right; `fields` replace what they name."""
        return {
            "schema": 1,
            "siteKey": self.site_key,
            "action": self.action,
            "challengeId": challenge["challengeId"],
            "work": [] if "work" in fields else solve(challenge["work"]),
            "instrument": self.program_answer(challenge["challengeId"]),
            "signals": SIGNALS,
            **self.probes(challenge),
            "interaction": some_interaction(pressed="answer" in fields),
            **fields,
        }

    def verify(self, challenge: dict[str, Any], **fields: Any) -> httpx.Response:
        """Send correct values, except for the given fields."""
        return self.post("verify", self.solution(challenge, **fields))

    def probes(self, challenge: dict[str, Any]) -> dict[str, Any]:
        """Return Chrome's results of the challenge's probes; nothing if it has none."""
        if "probes" not in challenge:
            return {}
        return {"probes": self._probed(challenge["probes"], challenge["challengeId"])}

    def probes_again(self, step_up: dict[str, Any], challenge_id: str) -> dict[str, Any]:
        """Return Chrome's results of the interactive challenge's own probes."""
        return self._probed(step_up["probes"], challenge_id, fresh=True)

    def _probed(self, probes: dict[str, Any], challenge_id: str, *, fresh: bool = False) -> dict[str, Any]:
        draw, found = probes["draw"], self._stored(challenge_id)
        seed = fresh_of(found).seed if fresh else found.seed
        ticket = unseal(draw, seed, challenge_id)
        assert ticket is not None
        answers = [list(asked.answer or ()) for asked in ticket.asked]
        answers += [blink_answer(chain, 1) for chain in draw_chains(seed)]
        return {"draw": draw, "answers": answers}

    def seed_of(self, challenge_id: str) -> bytes:
        """Return what only the service knows of a challenge."""
        return self._stored(challenge_id).seed

    def _stored(self, challenge_id: str) -> StoredChallenge:
        found = self.service.run(self.service.application.stores.challenges.find_challenge(challenge_id))
        assert found is not None
        return found

    def program_answer(self, challenge_id: str) -> dict[str, str]:
        """Return what a real browser would get out of the program."""
        answer = right_answer(self.seed_of(challenge_id), challenge_id)
        return {"page": answer.page, "worker": answer.worker or ""}

    def answer(self, step_up: dict[str, Any], **fields: Any) -> dict[str, Any]:
        """Return a right solution of a step-up. The caller must wait before sending it."""
        steps = [
            {"input": "pointer", "afterMs": 1800, "trusted": True, "press": PRESS},
            {"input": "pointer", "afterMs": step_up["waitMs"] + 240, "trusted": True, "press": second_press(step_up)},
        ]
        work = [] if "work" in fields else solve(step_up["work"])
        return {"kind": "confirm", "steps": steps, "work": work, "field": FIELD, **fields}


def second_press(step_up: dict[str, Any]) -> dict[str, Any]:
    """Return a hand's press of the button in its second place."""
    (x1, y1), (x2, y2) = step_up["places"]
    reach = math.hypot((x2 - x1) * FIELD[0] / 100, (y2 - y1) * FIELD[1] / 100)
    return {**PRESS, "reachPx": reach, "wayPx": reach * 1.1}


def solve(work: dict[str, Any]) -> list[int]:
    """Solve the puzzles."""
    if work["algorithm"] == "scrypt":
        asked = Work(**work)
        return [scrypt_answer(asked, index) for index in range(asked.count)]
    assert work["algorithm"] == "SHA-256"
    return list(_solutions(work["salt"], work["count"], work["bits"]))


@lru_cache(maxsize=64)
def _solutions(salt: str, count: int, bits: int) -> tuple[int, ...]:
    shift = 32 - bits
    found = []
    for index in range(count):
        start = hashlib.sha256(f"{salt}:{index}:".encode())
        for number in itertools.count():
            attempt = start.copy()
            attempt.update(b"%d" % number)
            if int.from_bytes(attempt.digest()[:4], "big") >> shift == 0:
                found.append(number)
                break
    return tuple(found)


def get_token(
    service: RunningService, site_key: str, action: str = "login", origin: str = ORIGIN, **options: Any
) -> str:
    """Run the check as an ordinary visitor and return the token. `address` and `cData` are among the options."""
    client = BrowserClient(service, site_key, action=action, origin=origin, address=options.pop("address", None))
    challenge = client.challenge(**{name: options.pop(name) for name in ("cData", "widget") if name in options})
    assert challenge.status_code == 200, challenge.text
    verified = client.verify(challenge.json(), **options)
    assert verified.status_code == 200, verified.text
    token: str = verified.json()["token"]
    return token


def create_site(service: RunningService, **fields: Any) -> str:
    """Create a site with the origin and action of this module and return its key once the service knows it."""
    body = {
        "name": "Shop",
        "allowedOrigins": [ORIGIN],
        "mode": "enforce",
        "assistants": "block",
        "actions": {"login": {"browserRequired": True}, "signup": {"browserRequired": True}},
        **fields,
    }
    response = service.operator.post("/v1/admin/sites", json=body)
    assert response.status_code == 201, response.text
    service.run(service.application.refresher.refresh())
    site_key: str = response.json()["siteKey"]
    return site_key


def decision_of(service: RunningService, site_key: str, decision_id: str) -> dict[str, Any]:
    """Return what was recorded under a decision's ID, once it is written."""
    while service.application.recorder.waiting:
        time.sleep(0.01)
    reply = service.operator.get(f"/v1/admin/decisions/{decision_id}", params={"siteKey": site_key})
    assert reply.status_code == 200, reply.text
    decision: dict[str, Any] = reply.json()["decision"]
    return decision
