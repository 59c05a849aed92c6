"""The people of the bench: stock browsers, X11 events only. Half of them are held out while detectors are tuned."""

from dataclasses import dataclass, field

from bench.adversaries.drivers.stock import Setup
from bench.adversaries.motion import Hand

TUNING = "tuning"
HELD_OUT = "held-out"

CURVED = Hand()
JITTERY = Hand(tremor=2.2, bow=0.2, overshoot=0.6, typo=0.07, hold_s=0.11)
SLOW = Hand(reach_s=0.35, doubling_s=0.3, tremor=1.3, gap_s=0.38, hold_s=0.13, thought_s=1.6, typo=0.05)
HURRIED = Hand(reach_s=0.05, doubling_s=0.085, bow=0.08, tremor=0.5, gap_s=0.105, hold_s=0.085, thought_s=0.15)
STEADY = Hand(bow=0.05, tremor=0.3, overshoot=0.15, typo=0.0)
# With a screen reader: the keyboard alone, and a pause at each field to hear what it is.
READER = Hand(gap_s=0.24, hold_s=0.11, thought_s=3.5, typo=0.03)

STRICT = (
    ("browser.contentblocking.category", "strict"),
    ("privacy.trackingprotection.enabled", True),
    ("privacy.fingerprintingProtection", True),
    ("network.cookie.cookieBehavior", 5),
)
# Dictation by an extension: phrases appear in the field that has the focus.
DICTATION = """
const PHRASES = {
  name: ['Maria ', 'Lopez'],
  email: ['maria@mail', '.example'],
  message: ['Do you ', 'ship to ', 'islands', ' too'],
};
document.addEventListener('focusin', (event) => {
  const phrases = PHRASES[event.target.id] ?? [];
  phrases.forEach((phrase, at) => setTimeout(() => document.execCommand('insertText', false, phrase), 1200 + 700 * at));
});
"""
# An extension that fills in its owner's name and address, who writes the message.
FILLER = """
setTimeout(() => {
  for (const [id, text] of [['name', 'Maria Lopez'], ['email', 'maria@mail.example']]) {
    const field = document.getElementById(id);
    field.value = text;
    field.dispatchEvent(new Event('input', { bubbles: true }));
    field.dispatchEvent(new Event('change', { bubbles: true }));
  }
}, 1500);
"""
RESIST = (("privacy.resistFingerprinting", True),)


@dataclass(frozen=True)
class Persona:
    """A person: their browser, their hands, and the way they fill in the form."""

    name: str
    half: str
    setup: Setup = field(default_factory=Setup)
    hand: Hand = CURVED
    # pointer: clicks into each field; tabs: clicks the first and uses Tab for the others; keyboard: no pointer at all;
    # paste: pastes the text; short: sends with little more than a click; dictate: an extension inserts text;
    # message: clicks into the last field alone.
    way: str = "pointer"
    screen: tuple[int, int] = (1366, 768)
    dpi: int = 96
    # The check runs when the form is sent, or as soon as the page has loaded.
    check: str = "submit"


def _c(**fields: object) -> Setup:
    return Setup(**fields)  # type: ignore[arg-type]


PERSONAS = (
    Persona("chromium curved", TUNING),
    Persona("chromium jittery", HELD_OUT, hand=JITTERY),
    Persona("chromium slow", TUNING, hand=SLOW, way="tabs"),
    Persona("chromium hurried", HELD_OUT, hand=HURRIED, way="tabs"),
    Persona("chromium keyboard only", TUNING, way="keyboard"),
    Persona("chromium paste", HELD_OUT, way="paste"),
    Persona("chromium zoom 0.67", TUNING, _c(zoom=0.67)),
    Persona("chromium zoom 1.5", HELD_OUT, _c(zoom=1.5)),
    Persona("chromium large screen", TUNING, _c(window=(1900, 1000)), screen=(2560, 1440)),
    Persona("chromium two monitors", HELD_OUT, _c(window=(1500, 900)), screen=(3840, 1080)),
    Persona("chromium dense screen", TUNING, _c(density=1.5), screen=(1920, 1080)),
    Persona("chromium small window", HELD_OUT, _c(window=(520, 640))),
    Persona("chromium private", TUNING, _c(private=True), hand=STEADY),
    Persona("chromium no WebGL", HELD_OUT, _c(arguments=("--disable-3d-apis",))),
    Persona("chromium slow processor", TUNING, _c(processor=80), hand=SLOW, way="short"),
    Persona("chromium Japanese", HELD_OUT, _c(locale="ja,en", timezone="Asia/Tokyo")),
    Persona("chromium Arabic", TUNING, _c(locale="ar,en", timezone="Africa/Cairo"), hand=HURRIED),
    Persona("chromium reads only", HELD_OUT, way="short", check="load"),
    Persona("chromium check at load", TUNING, check="load"),
    Persona("firefox curved", HELD_OUT, _c(browser="firefox")),
    Persona("firefox jittery tabs", TUNING, _c(browser="firefox"), hand=JITTERY, way="tabs"),
    Persona("firefox keyboard only", HELD_OUT, _c(browser="firefox"), way="keyboard"),
    Persona("firefox strict protection", TUNING, _c(browser="firefox", preferences=STRICT)),
    Persona("firefox resists fingerprinting", HELD_OUT, _c(browser="firefox", preferences=RESIST), hand=STEADY),
    Persona(
        "firefox private German", TUNING, _c(browser="firefox", private=True, locale="de,en", timezone="Europe/Berlin")
    ),
    Persona("firefox zoom 1.25", HELD_OUT, _c(browser="firefox", zoom=1.25), hand=HURRIED),
    Persona(
        "firefox no WebGL paste", TUNING, _c(browser="firefox", preferences=(("webgl.disabled", True),)), way="paste"
    ),
    Persona("chromium screen reader", HELD_OUT, hand=READER, way="keyboard"),
    Persona("firefox screen reader", TUNING, _c(browser="firefox"), hand=READER, way="keyboard"),
    Persona("chromium zoom 2", TUNING, _c(zoom=2.0, window=(1800, 1000)), screen=(1920, 1080)),
    Persona("chromium dictation", HELD_OUT, _c(extension=DICTATION), way="dictate"),
    Persona("chromium dictation at load", TUNING, _c(extension=DICTATION), way="dictate", check="load"),
    Persona("chromium filler at load", HELD_OUT, _c(extension=FILLER), way="message", check="load"),
    Persona("chromium keyboard only at load", TUNING, way="keyboard", check="load"),
    Persona("webkit curved", HELD_OUT, _c(browser="webkit")),
    Persona("webkit tabs slow", TUNING, _c(browser="webkit"), hand=SLOW, way="tabs"),
    Persona("webkit private", HELD_OUT, _c(browser="webkit", private=True), hand=STEADY),
)
BY_NAME = {persona.name: persona for persona in PERSONAS}
