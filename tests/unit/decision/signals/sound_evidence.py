"""The evidence of an ordinary browser."""

from tests.unit.decision.signals.requests import CHROME

SOUND = {
    "webdriver": False,
    "automation": [],
    "userAgent": CHROME,
    "languages": ["en-GB", "en"],
    "plugins": 5,
    "renderer": "ANGLE (Intel, Mesa Intel UHD)",
    "screen": {"width": 1920, "height": 1080, "outerWidth": 1900},
    "platform": "Win32",
    "hardwareConcurrency": 8,
    "touchPoints": 0,
    "timezone": "Europe/Berlin",
    "worker": {"userAgent": CHROME, "platform": "Win32", "hardwareConcurrency": 8},
    "frame": {"languages": ["en-GB", "en"]},
    "permissions": {"notification": "default", "query": "prompt"},
}
