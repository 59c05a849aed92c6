"""How pointer and keys were used: statistics from the SDK, compared with what hands and devices do.

Each label has benign causes: voice control clicks without moving the pointer there, remote desktops send few moves,
password managers type at once, touchpads tap. So the labels are weighed in groups (`families.py`), and no group decides
alone.
"""

from collections.abc import Callable

from agentgate.decision.signals.evidence import EvidencePart, read_evidence
from agentgate.decision.signals.families import FAMILIES
from agentgate.decision.signals.signal_input import Labels, SignalInput

# Minimum number of events of each kind before a label applies, and the minimum share of them.
LEAST_MOVES = 5
LEAST_EVENTS = 8
LEAST_STROKES = 2
LEAST_PRESSES = 2
LEAST_HOLDS = 4
LEAST_KEYS = 4
LEAST_INSERTS = 3
LEAST_FIELDS = 2
LEAST_LETTERS = 12
# A password manager fills in at most so many fields: name, password, and the password once more.
MOST_SIGN_IN_FIELDS = 3
MOST = 0.8
JUMPS = 0.7
HALF = 0.5
# On average, people hold keys longer, and the quickest typists need longer from key to key.
SHORT_HOLD_MS = 35.0
FAST_GAP_MS = 65.0
# The distance between the quartiles of gaps and holds of keys, divided by their median: the steadiest typist has 0.25.
EVEN_KEYS = 0.1
EVEN_HOLDS = 0.1
# The standard deviation of the holds of a button, divided by their mean.
EVEN_PRESSES = 0.06
# So many of the traits of a robot's presses and keys at once.
ROBOTIC_TRAITS = 3

# Statistics of what sends a form or activates a page. A pointer also passes over a page by chance, and scripts can
# cause scrolling and focus.
PRESSES = ("touches", "keys", "clicks")

Check = Callable[[EvidencePart, SignalInput], bool]


def input_labels(request: SignalInput) -> Labels:
    """Return `input.*`; nothing where no browser check took part."""
    if request.facts.evidence is None:
        return ()
    evidence = read_evidence(request.facts.evidence)
    interaction = evidence.part("interaction")
    # Every release of the SDK sends these statistics, even for a page without any input.
    if interaction.number("pointerMoves") is None:
        return ("input.missing",)
    labels = [label for label, check in CHECKS if check(interaction, request)]
    if len(MANNERS.intersection(labels)) >= ROBOTIC_TRAITS:
        labels.append("input.robotic")
    if "input.foreign_clock" in labels and not SYNTHETIC.isdisjoint(labels):
        labels.append("input.synthetic")
    return labels


def _share(part: EvidencePart, name: str, of: str, least: int) -> float:
    """Return which share of the sum `of` the sum `name` is; 0 where there are fewer than `least`."""
    whole, counted = part.number(of) or 0, part.number(name) or 0
    return counted / whole if whole >= least else 0.0


def _counts_whole_milliseconds(request: SignalInput) -> bool:
    """X11 and Wayland tell input in whole milliseconds; other systems do it in finer ones."""
    return request.user_agent.platform == "Linux"


def _has_whole_pixels(request: SignalInput) -> bool:
    """A mouse is on whole pixels here; on macOS it may be between them."""
    return request.user_agent.platform in {"Linux", "Windows"} and request.user_agent.engine == "chromium"


def _foreign_clock(interaction: EvidencePart, request: SignalInput) -> bool:
    return (
        _counts_whole_milliseconds(request) and _share(interaction.part("clock"), "off", "events", LEAST_EVENTS) > HALF
    )


def _between_pixels(interaction: EvidencePart, request: SignalInput) -> bool:
    pointer = interaction.part("pointer")
    return _has_whole_pixels(request) and (pointer.number("fractional") or 0) > 0


def _adrift(interaction: EvidencePart, request: SignalInput) -> bool:
    # Privacy settings of Firefox intentionally report other screen positions of a page.
    return request.user_agent.engine == "chromium" and _share(interaction.part("pointer"), "adrift", "moves", 1) > HALF


def _still(interaction: EvidencePart, _request: SignalInput) -> bool:
    return _share(interaction.part("pointer"), "still", "moves", LEAST_MOVES) > HALF


def _odd_pressure(interaction: EvidencePart, _request: SignalInput) -> bool:
    return _share(interaction.part("pointer"), "pressure", "presses", 1) > HALF


def _ruled_path(interaction: EvidencePart, _request: SignalInput) -> bool:
    return _share(interaction.part("pointer"), "straight", "strokes", LEAST_STROKES) >= MOST


def _even_path(interaction: EvidencePart, _request: SignalInput) -> bool:
    return _share(interaction.part("pointer"), "even", "strokes", LEAST_STROKES) >= MOST


def _abrupt(interaction: EvidencePart, _request: SignalInput) -> bool:
    return _share(interaction.part("pointer"), "abrupt", "presses", LEAST_PRESSES) >= MOST


def _codeless_keys(interaction: EvidencePart, request: SignalInput) -> bool:
    # Keyboards on the screen of a phone have no keys.
    return (
        not request.user_agent.mobile and _share(interaction.part("typed"), "codeless", "letters", LEAST_KEYS) >= MOST
    )


def _even_presses(interaction: EvidencePart, _request: SignalInput) -> bool:
    pointer = interaction.part("pointer")
    spread = pointer.number("holdSpread")
    return (pointer.number("presses") or 0) >= LEAST_HOLDS and spread is not None and spread < EVEN_PRESSES


def _short_press(interaction: EvidencePart, _request: SignalInput) -> bool:
    return _share(interaction.part("pointer"), "short", "presses", 1) >= MOST


def _jump(interaction: EvidencePart, _request: SignalInput) -> bool:
    return _share(interaction.part("pointer"), "jumps", "presses", LEAST_PRESSES) >= JUMPS


def _centred(interaction: EvidencePart, _request: SignalInput) -> bool:
    return _share(interaction.part("pointer"), "centred", "presses", LEAST_PRESSES) >= MOST


def _short_keys(interaction: EvidencePart, _request: SignalInput) -> bool:
    typed = interaction.part("typed")
    hold_ms = typed.number("holdMs")
    return (typed.number("presses") or 0) >= LEAST_KEYS and hold_ms is not None and hold_ms < SHORT_HOLD_MS


def _fast_keys(interaction: EvidencePart, _request: SignalInput) -> bool:
    typed = interaction.part("typed")
    gap_ms = typed.number("gapMs")
    return (typed.number("presses") or 0) >= LEAST_EVENTS and gap_ms is not None and gap_ms < FAST_GAP_MS


def _even_keys(interaction: EvidencePart, _request: SignalInput) -> bool:
    typed = interaction.part("typed")
    if (typed.number("presses") or 0) < LEAST_EVENTS:
        return False
    gaps, holds = typed.number("gapSpread"), typed.number("holdSpread")
    return (gaps is not None and gaps < EVEN_KEYS) or (holds is not None and holds < EVEN_HOLDS)


def _text_without_keys(interaction: EvidencePart, request: SignalInput) -> bool:
    # Keyboards on the screen of a phone need no key events.
    return not request.user_agent.mobile and _share(interaction.part("typed"), "bare", "inserts", LEAST_INSERTS) >= MOST


def _untouched_text(interaction: EvidencePart, request: SignalInput) -> bool:
    typed = interaction.part("typed")
    return (
        not request.user_agent.mobile and typed.is_false("active") and (typed.number("inserts") or 0) >= LEAST_INSERTS
    )


def _lone_letters(interaction: EvidencePart, request: SignalInput) -> bool:
    typed, signals = interaction.part("typed"), read_evidence(request.facts.evidence).part("signals")
    # A driver can send touches to a screen that knows none.
    is_touched = bool(interaction.number("touches")) and signals.number("touchPoints") != 0
    is_lone = _share(typed, "lone", "inserts", LEAST_LETTERS) >= MOST
    return is_lone and not is_touched and not request.user_agent.mobile


def is_untouched(interaction: EvidencePart) -> bool:
    """Return whether the page saw no press of a key, button or finger, though it watched from before the first one."""
    typed, pressed = interaction.part("typed"), interaction.part("pointer").number("downs") or 0
    # A press in a frame activates the page too.
    may_be_framed = typed.is_true("active") and (typed.number("frames") or 0) > 0
    is_watched = typed.is_false("wasActive") and not may_be_framed
    return is_watched and not pressed and not any(interaction.number(name) for name in PRESSES)


def _untouched_form(interaction: EvidencePart, request: SignalInput) -> bool:
    """Return whether text fields were filled in and sent without any input, and not by a password manager."""
    typed, screen = interaction.part("typed"), read_evidence(request.facts.evidence).part("signals").part("screen")
    # A press on the page around a frame activates the frame too, if both have one origin.
    if typed.is_true("active") and screen.is_false("isTop"):
        return False
    filled = typed.number("filled") or 0
    is_sign_in = (typed.number("passwords") or 0) > 0 and filled <= MOST_SIGN_IN_FIELDS
    return filled > 0 and not typed.number("autofilled") and not is_sign_in and is_untouched(interaction)


def _unled_focus(interaction: EvidencePart, _request: SignalInput) -> bool:
    return _share(interaction.part("typed"), "unled", "focused", LEAST_FIELDS) >= MOST


CHECKS: tuple[tuple[str, Check], ...] = (
    ("input.foreign_clock", _foreign_clock),
    ("input.between_pixels", _between_pixels),
    ("input.adrift", _adrift),
    ("input.still_moves", _still),
    ("input.odd_pressure", _odd_pressure),
    ("input.ruled_path", _ruled_path),
    ("input.even_path", _even_path),
    ("input.abrupt", _abrupt),
    ("input.codeless_keys", _codeless_keys),
    ("input.short_press", _short_press),
    ("input.jump", _jump),
    ("input.centred", _centred),
    ("input.short_keys", _short_keys),
    ("input.fast_keys", _fast_keys),
    ("input.even_presses", _even_presses),
    ("input.even_keys", _even_keys),
    ("input.text_without_keys", _text_without_keys),
    ("input.untouched_text", _untouched_text),
    ("input.unled_focus", _unled_focus),
    ("input.lone_letters", _lone_letters),
    ("input.untouched_form", _untouched_form),
)
# Traits that a hand's movements do not have. Assistive tools share one or two of them.
MANNERS = frozenset(FAMILIES["manner"])
# Traits that no device has, apart from its clock. What window managers get wrong is none of them.
SYNTHETIC = frozenset(("input.between_pixels", "input.still_moves", "input.odd_pressure", "input.codeless_keys"))
