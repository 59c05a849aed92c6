"""Browser check results from page and worker: traits of automation, and whether the results agree with each other.

The detector reads `signals` of the evidence and `instrument`. The label catalog describes each label.
"""

from collections.abc import Callable

from agentgate.decision.signals.detectors.input import is_untouched
from agentgate.decision.signals.evidence import EvidencePart, read_evidence
from agentgate.decision.signals.signal_input import Labels, SignalInput

SOFTWARE_RENDERERS = ("swiftshader", "llvmpipe", "softpipe", "microsoft basic render", "mesa offscreen", "virtualbox")
WORKER_FACTS = ("userAgent", "platform", "hardwareConcurrency", "language", "timezone")
# A frame of the page's own also has the page's languages, all of them.
FRAME_FACTS = (*WORKER_FACTS, "languages")
# A window's frame may reach over the screen's edges by so much when it is maximized.
FRAME_PX = 32

Check = Callable[[EvidencePart, SignalInput], bool]


def browser_labels(request: SignalInput) -> Labels:
    """Return `browser.*`; nothing where no browser check took part."""
    if request.facts.evidence is None:
        return ()
    evidence = read_evidence(request.facts.evidence)
    signals = evidence.part("signals")
    if not signals.values:
        return ("browser.no_evidence",)
    labels = [label for label, check in CHECKS if check(signals, request)]
    if _unseen_activation(evidence):
        labels.append("browser.unseen_activation")
    if evidence.is_false("instrument") or evidence.text("instrument") == "failed":
        labels.append("browser.instrument_failed")
    labels.append("browser.evidence")
    return labels


def _webdriver(signals: EvidencePart, _request: SignalInput) -> bool:
    return signals.is_true("webdriver")


def _automation(signals: EvidencePart, _request: SignalInput) -> bool:
    return bool(signals.texts("automation"))


def _headless(signals: EvidencePart, _request: SignalInput) -> bool:
    text = signals.text("userAgent")
    return signals.is_true("headless") or (text is not None and "Headless" in text)


def _software_renderer(signals: EvidencePart, _request: SignalInput) -> bool:
    renderer = (signals.text("renderer") or "").lower()
    return any(name in renderer for name in SOFTWARE_RENDERERS)


def _no_languages(signals: EvidencePart, _request: SignalInput) -> bool:
    return signals.texts("languages") == ()


def _no_plugins(signals: EvidencePart, request: SignalInput) -> bool:
    # Since 2021 every desktop Chromium reports the same five.
    claimed = request.user_agent
    return claimed.engine == "chromium" and not claimed.mobile and signals.number("plugins") == 0


def _no_screen(signals: EvidencePart, _request: SignalInput) -> bool:
    screen = signals.part("screen")
    return screen.number("width") == 0 or screen.number("height") == 0


def _no_window_frame(signals: EvidencePart, request: SignalInput) -> bool:
    screen = signals.part("screen")
    return not request.user_agent.mobile and screen.number("outerWidth") == 0


def _worker_mismatch(signals: EvidencePart, _request: SignalInput) -> bool:
    return _disagrees(signals, signals.part("worker"), WORKER_FACTS)


def _frame_mismatch(signals: EvidencePart, _request: SignalInput) -> bool:
    return _disagrees(signals, signals.part("frame"), FRAME_FACTS)


def _disagrees(signals: EvidencePart, other: EvidencePart, names: tuple[str, ...]) -> bool:
    return any(other.has(name) and signals.has(name) and other.values[name] != signals.values[name] for name in names)


def _worker_missing(signals: EvidencePart, request: SignalInput) -> bool:
    # Every Chromium, Firefox and Safari of this decade has workers; a page's policy may forbid them.
    return bool(request.user_agent.engine) and not signals.part("worker").values


def _frame_missing(signals: EvidencePart, request: SignalInput) -> bool:
    return bool(request.user_agent.engine) and not signals.part("frame").values


def _incomplete(signals: EvidencePart, _request: SignalInput) -> bool:
    has_flag = signals.is_true("webdriver") or signals.is_false("webdriver")
    return not (has_flag and signals.text("userAgent") and signals.part("screen").number("width") is not None)


def _window_mismatch(signals: EvidencePart, request: SignalInput) -> bool:
    """Return whether the page is as large as the screen without filling it, as where the screen is made up."""
    screen = signals.part("screen")
    sizes = [screen.number(name) for name in ("width", "height", "innerWidth", "innerHeight", "outerWidth")]
    width, height, inner_width, inner_height, outer_width = (size or 0 for size in sizes)
    outer_height, ratio = screen.number("outerHeight") or 0, screen.number("ratio")
    # With fingerprinting resistance, Firefox returns the page's size as the screen's size. Televisions and apps have no
    # window.
    claimed = request.user_agent
    if claimed.engine != "chromium" or claimed.mobile or claimed.device or not screen.is_true("isTop") or ratio != 1:
        return False
    fills = (inner_width, inner_height) == (width, height) and width > 0
    is_larger = outer_width > width + FRAME_PX and outer_height > height + FRAME_PX
    return is_larger or (fills and (outer_height > height or screen.is_false("isWhole")))


def _injected(signals: EvidencePart, _request: SignalInput) -> bool:
    return bool(signals.texts("injected"))


def _user_agent_mismatch(signals: EvidencePart, request: SignalInput) -> bool:
    text, sent = signals.text("userAgent"), request.headers.get("user-agent")
    return text is not None and sent is not None and text != sent[: len(text) or 1]


def _language_mismatch(signals: EvidencePart, request: SignalInput) -> bool:
    languages, accepted = signals.texts("languages"), request.headers.get("accept-language")
    if not languages or accepted is None:
        return False
    first = languages[0].partition("-")[0].lower()
    return first not in accepted.lower()


def _platform_mismatch(signals: EvidencePart, request: SignalInput) -> bool:
    platform, claimed = (signals.text("platform") or "").lower(), request.user_agent.platform
    if not platform or not claimed:
        return False
    fitting = {
        "Windows": ("win",),
        "macOS": ("mac",),
        "Linux": ("linux",),
        "Android": ("linux", "android", "arm"),
        "iOS": ("iphone", "ipad", "ipod", "mac"),
        "Chrome OS": ("linux", "cros", "chrome"),
    }
    return not platform.startswith(fitting[claimed])


def _touch_mismatch(signals: EvidencePart, request: SignalInput) -> bool:
    return request.user_agent.mobile and signals.number("touchPoints") == 0


def _patched(signals: EvidencePart, _request: SignalInput) -> bool:
    return bool(signals.texts("patched")) or signals.is_true("patched")


def _no_timezone(signals: EvidencePart, _request: SignalInput) -> bool:
    return signals.text("timezone") == ""


def _debugger(signals: EvidencePart, _request: SignalInput) -> bool:
    return signals.is_true("debugger")


def _unseen_activation(evidence: EvidencePart) -> bool:
    """Return whether the browser reports user activation, and the page, which has no frames, saw no cause of it."""
    interaction, screen = evidence.part("interaction"), evidence.part("signals").part("screen")
    is_active = interaction.part("typed").is_true("active")
    return screen.is_true("isTop") and is_active and is_untouched(interaction)


def _permission_mismatch(signals: EvidencePart, _request: SignalInput) -> bool:
    # Headless Chromium denies notifications, although its permission query returns `prompt`.
    permissions = signals.part("permissions")
    return permissions.text("notification") == "denied" and permissions.text("query") == "prompt"


CHECKS: tuple[tuple[str, Check], ...] = (
    ("browser.webdriver", _webdriver),
    ("browser.automation", _automation),
    ("browser.headless", _headless),
    ("browser.software_renderer", _software_renderer),
    ("browser.no_languages", _no_languages),
    ("browser.no_plugins", _no_plugins),
    ("browser.no_screen", _no_screen),
    ("browser.no_window_frame", _no_window_frame),
    ("browser.window_mismatch", _window_mismatch),
    ("browser.worker_mismatch", _worker_mismatch),
    ("browser.worker_missing", _worker_missing),
    ("browser.frame_mismatch", _frame_mismatch),
    ("browser.frame_missing", _frame_missing),
    ("browser.injected", _injected),
    ("browser.incomplete", _incomplete),
    ("browser.user_agent_mismatch", _user_agent_mismatch),
    ("browser.language_mismatch", _language_mismatch),
    ("browser.platform_mismatch", _platform_mismatch),
    ("browser.touch_mismatch", _touch_mismatch),
    ("browser.patched", _patched),
    ("browser.no_timezone", _no_timezone),
    ("browser.debugger", _debugger),
    ("browser.permission_mismatch", _permission_mismatch),
)
