"""The browser class from a User-Agent: engine, version, platform, and kind of device."""

import re
from collections.abc import Iterator

from msgspec import Struct

from agentgate.decision.signals.words import WORDS
from agentgate.decision.threat_data.user_agent_tokens import WordSearch

IOS_SYSTEMS = ("(iPhone", "(iPad", "(iPod")
PLATFORMS = (
    ("Windows NT", "Windows"),
    ("Android", "Android"),
    ("CrOS", "Chrome OS"),
    ("iPhone", "iOS"),
    ("iPad", "iOS"),
    ("Macintosh", "macOS"),
    ("X11; Linux", "Linux"),
)
_WORDS = tuple((word, device) for device, words in (*WORDS.devices.items(), ("legacy", WORDS.legacy)) for word in words)
_DEVICE_WORDS, _DEVICES = WordSearch([word for word, _ in _WORDS]), tuple(device for _, device in _WORDS)
_LEGACY_WORDS = WordSearch(WORDS.legacy)
BRACKET = re.compile(r"[()]")
SYSTEM_VERSION = re.compile(r" OS (\d{1,2})[_. ]")
# No version of iOS is as high; such a text was put together by hand.
MADE_UP = 40
TRIDENT_VERSION = re.compile(r"MSIE (\d{1,2})|rv:(\d{1,2})")
# A phone writes its model and build here, and people's phones have all kinds of names.
ANDROID_MARK = "android"


class BrowserClass(Struct, frozen=True, gc=False):
    """A browser as its User-Agent describes it. No engine: it claims none."""

    # `chromium`, `firefox`, `safari`, `webkit` (of other makers), `edgehtml`, `trident`, `legacy`, or nothing.
    engine: str = ""
    major: int = 0
    # As Sec-CH-UA-Platform writes it; nothing when it is not clear.
    platform: str = ""
    # `tv`, `console`, `webview`, `legacy`, or nothing for computers and phones.
    device: str = ""
    mobile: bool = False


NO_BROWSER = BrowserClass()


def browser_class(text: str) -> BrowserClass:
    """Return the browser that a User-Agent claims to be."""
    engine, major = _engine(text)
    if not engine:
        return NO_BROWSER
    device = _device(text) or ("legacy" if engine in {"legacy", "trident"} else "")
    return BrowserClass(engine, major, _platform(text), device, "Mobile" in text)


def names_part(lowered: str) -> str:
    """Return a User-Agent in lower case without a phone's model and build, which do not name programs."""
    mark = lowered.find(ANDROID_MARK)
    opened = lowered.rfind("(", 0, mark) if mark > 0 else -1
    if opened < 0 or "compatible" in lowered[opened:mark]:
        return lowered
    end = _closing(lowered, opened)
    return lowered[: mark + len(ANDROID_MARK)] + lowered[end:]


def _closing(text: str, opened: int) -> int:
    """Return where the bracket ends that opens here; models have brackets too, as in `Moto G (5)`."""
    depth = 0
    for bracket in BRACKET.finditer(text, opened):
        depth += 1 if bracket[0] == "(" else -1
        if not depth:
            return bracket.start()
    # Never closed: the rest of the text would be hidden, so nothing is.
    return opened + len(ANDROID_MARK)


def _engine(text: str) -> tuple[str, int]:
    if "Trident/" in text or " MSIE " in text:
        found = TRIDENT_VERSION.search(text)
        return ("trident", int(found[1] or found[2])) if found and text.startswith("Mozilla/") else ("", 0)
    if text.startswith("Mozilla/5.0 "):
        modern = _modern_engine(text)
        if modern[0]:
            return modern
    is_phone = text[:16].lower().startswith(WORDS.makers)
    return ("legacy", 0) if is_phone or _LEGACY_WORDS.has_any(text) else ("", 0)


def _modern_engine(text: str) -> tuple[str, int]:
    # On iOS every browser is Safari underneath, whatever its own name.
    if text.startswith(IOS_SYSTEMS, len("Mozilla/5.0 ")):
        found = SYSTEM_VERSION.search(text)
        # From version 26 on, the User-Agent still names system 18, and only Safari's own version is right.
        return "safari", max(int(found[1]) if found else 0, _number_after(text, " Version/")) % MADE_UP
    if " Edge/" in text:
        return "edgehtml", _number_after(text, " Edge/")
    for engine, product in (("chromium", "Chrome/"), ("chromium", " Chromium/"), ("firefox", " Firefox/")):
        major = _number_after(text, product)
        if major:
            return engine, major
    if "(Macintosh" in text and " Safari/" in text:
        return "safari", _number_after(text, " Version/")
    if " Safari/" in text or "AppleWebKit/" in text:
        return "webkit", _number_after(text, " Version/")
    return ("legacy", 0) if " Gecko/" in text else ("", 0)


def _number_after(text: str, product: str) -> int:
    """Return the number that follows a product's name; 0 when there is none."""
    _, found, rest = text.partition(product)
    number = rest[:4].partition(".")[0] if found else ""
    return int(number) if number.isascii() and number.isdigit() else 0


def _platform(text: str) -> str:
    for part, platform in PLATFORMS:
        if part in text:
            return platform
    return ""


def _device(text: str) -> str:
    found = _DEVICE_WORDS.find(text)
    return _DEVICES[min(found)] if found else ""


def device_labels(browser: BrowserClass) -> Iterator[str]:
    """Yield the label of a browser's kind of device."""
    if browser.device:
        yield f"ua.{browser.device}"
