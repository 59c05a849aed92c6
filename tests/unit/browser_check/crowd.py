"""Visitors of a site, for tests of clusters: their requests, their computers and what they do."""

import random

from agentgate.http.request import Request
from tests.support.browser_client import CHROME, SIGNALS

NOTHING = {"pointerMoves": 0, "touches": 0, "keys": 0, "scrolls": 0, "clicks": 0, "untrusted": 0, "durationMs": 0}
ANDROID = CHROME.replace("Windows NT 10.0; Win64; x64", "Linux; Android 10; K").replace(" Safari", " Mobile Safari")
IPHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/18.6 Mobile/15E148 Safari/604.1"
)
PHONE = {**SIGNALS, "platform": "iPhone", "renderer": "Apple GPU", "touchPoints": 5, "userAgent": IPHONE, "plugins": 5}
# The computers of visitors of one country.
SCREENS = {(1920, 1080): 40, (1366, 768): 14, (1536, 864): 14, (2560, 1440): 12, (1440, 900): 8, (1280, 720): 12}
GRAPHICS = (
    "UHD Graphics 620",
    "UHD Graphics 630",
    "Iris Xe Graphics",
    "GeForce RTX 3060",
    "Radeon Graphics",
    "UHD 770",
)
CORES = {8: 40, 4: 20, 12: 15, 16: 15, 6: 10}


def request(address: str, agent: str = CHROME, ja4: str = "") -> Request:
    headers = [(b"x-ja4", ja4.encode())] if ja4 else []
    headers += [
        (b"user-agent", agent.encode()),
        (b"accept-language", b"de-DE,de;q=0.9"),
        (b"origin", b"https://a.example"),
    ]
    return Request(
        method="POST", path="/v1/browser/verify", query_string=b"", headers=headers, address=address, secure=True
    )


def somewhere(draw: random.Random) -> str:
    return ".".join(str(draw.randrange(1, 224)) for _ in range(4))


def input_of(draw: random.Random) -> dict[str, float]:
    if draw.random() < 0.4:
        # The check ran as the page was loaded.
        return NOTHING
    return {
        **NOTHING,
        "pointerMoves": draw.randrange(300),
        "keys": draw.randrange(40),
        "scrolls": draw.randrange(30),
        "clicks": draw.randrange(4),
        "durationMs": draw.randrange(300, 60_000),
        "variation": round(draw.uniform(0.3, 3), 4),
    }


def computer(draw: random.Random) -> dict[str, object]:
    width, height = draw.choices(list(SCREENS), list(SCREENS.values()))[0]
    is_whole = draw.random() < 0.6
    outer = (width, height - 40) if is_whole else (draw.randrange(800, width), draw.randrange(600, height))
    return {
        **SIGNALS,
        "screen": {"width": width, "height": height, "outerWidth": outer[0], "outerHeight": outer[1]},
        "hardwareConcurrency": draw.choices(list(CORES), list(CORES.values()))[0],
        "renderer": f"ANGLE (Intel, {draw.choice(GRAPHICS)} Direct3D11)",
        "timezone": "Europe/Berlin",
    }
