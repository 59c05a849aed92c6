"""Input statistics: human input and people's tools get no label, drivers and robots do get one."""

import pytest

from agentgate.decision.signals.observe import observe
from agentgate.decision.threat_data.intel import load_intel
from tests.unit.decision.signals.requests import PHONE, make_facts
from tests.unit.decision.signals.sound_evidence import SOUND

INTEL = load_intel(None)
LINUX = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
MAC = LINUX.replace("X11; Linux x86_64", "Macintosh; Intel Mac OS X 10_15_7")
POINTER = {
    "moves": 114,
    "fractional": 0,
    "still": 1,
    "adrift": 0,
    "strokes": 4,
    "straight": 0,
    "even": 0,
    "abrupt": 0,
    "presses": 3,
    "downs": 3,
    "short": 0,
    "jumps": 0,
    "centred": 0,
    "pressure": 0,
    "holdMs": 92,
    "holdSpread": 0.24,
}
TYPED = {"presses": 22, "short": 0, "inserts": 22, "bare": 0, "focused": 2, "unled": 0}
TYPED |= {"letters": 20, "codeless": 0, "active": True, "wasActive": False, "frames": 0, "lone": 0}
TYPED |= {"filled": 2, "texts": 2, "passwords": 0, "autofilled": 0}
TIMES = {"gapMs": 190, "gapSpread": 0.42, "holdMs": 82, "holdSpread": 0.21}
HAND = {
    "pointerMoves": 114,
    "touches": 0,
    "keys": 22,
    "scrolls": 2,
    "clicks": 3,
    "untrusted": 0,
    "durationMs": 6200,
    "straightness": 1.4,
    "variation": 1.1,
    "pointer": POINTER,
    "typed": {**TYPED, **TIMES},
    "clock": {"events": 140, "off": 0},
}


def found(*, user_agent=LINUX, points=0, **changes):
    interaction = {**HAND}
    for name, change in changes.items():
        interaction[name] = {**HAND[name], **change} if isinstance(change, dict) else change
    signals = {**SOUND, "userAgent": user_agent, "platform": "", "worker": {"userAgent": user_agent}}
    evidence = {"signals": {**signals, "touchPoints": points}, "interaction": interaction, "instrument": True}
    labels = observe(make_facts(user_agent=user_agent, evidence=evidence), INTEL).labels
    return {label.partition(".")[2] for label in labels if label.startswith("input.")}


def test_a_hand_gets_no_label():
    assert found() == set()


def test_a_page_that_no_one_touched_gets_no_label():
    nothing = dict.fromkeys(POINTER, 0)

    assert (
        found(pointerMoves=0, keys=0, clicks=0, pointer=nothing, typed={"filled": 0}, clock={"events": 0, "off": 0})
        == set()
    )


@pytest.mark.parametrize("interaction", [None, [], {}, {"pointerMoves": "many"}])
def test_statistics_that_did_not_come_are_missing(interaction):
    evidence = {"signals": SOUND, "interaction": interaction}

    labels = observe(make_facts(evidence=evidence), INTEL).labels
    assert {"input.missing", "evidence.missing"} <= set(labels)


@pytest.mark.parametrize(
    ("changes", "labels"),
    [
        # What drivers send over the debugging protocol, as measured with Chromium 150.
        ({"clock": {"events": 30, "off": 25}}, {"foreign_clock"}),
        ({"pointer": {"fractional": 12}}, {"between_pixels"}),
        ({"pointer": {"adrift": 110}}, {"adrift"}),
        ({"pointer": {"still": 100}}, {"still_moves"}),
        ({"pointer": {"pressure": 3}}, {"odd_pressure"}),
        ({"pointer": {"straight": 4}}, {"ruled_path"}),
        ({"pointer": {"even": 4}}, {"even_path"}),
        ({"pointer": {"abrupt": 3}}, {"abrupt"}),
        ({"typed": {"codeless": 20}}, {"codeless_keys"}),
        ({"pointer": {"short": 3}}, {"short_press"}),
        ({"pointer": {"jumps": 3}}, {"jump"}),
        ({"pointer": {"centred": 3}}, {"centred"}),
        ({"pointer": {"presses": 4, "jumps": 3}}, {"jump"}),
        ({"pointer": {"presses": 4, "holdSpread": 0.02}}, {"even_presses"}),
        ({"typed": {"holdMs": 20}}, {"short_keys"}),
        ({"typed": {"gapMs": 50}}, {"fast_keys"}),
        ({"typed": {"active": False}}, {"untouched_text"}),
        ({"typed": {"gapSpread": 0.02}}, {"even_keys"}),
        ({"typed": {"holdSpread": 0.01}}, {"even_keys"}),
        ({"typed": {"bare": 22}}, {"text_without_keys"}),
        ({"typed": {"unled": 2}}, {"unled_focus"}),
        ({"typed": {"lone": 20}}, {"lone_letters"}),
        ({"pointer": {"short": 3, "jumps": 3, "centred": 3}}, {"short_press", "jump", "centred", "robotic"}),
        # A robot that follows a hand's way, and types by a clock.
        (
            {"pointer": {"centred": 3}, "typed": {"gapMs": 51, "gapSpread": 0.04, "holdMs": 20, "holdSpread": 0.05}},
            {"centred", "short_keys", "fast_keys", "even_keys", "robotic"},
        ),
        # A hand's script over the debugging protocol.
        (
            {"clock": {"events": 30, "off": 25}, "pointer": {"pressure": 3}},
            {"foreign_clock", "odd_pressure", "synthetic"},
        ),
        ({"clock": {"events": 30, "off": 25}, "pointer": {"adrift": 110}}, {"foreign_clock", "adrift"}),
    ],
)
def test_each_trait_gives_its_label(changes, labels):
    assert found(**changes) == labels


@pytest.mark.parametrize(
    ("user_agent", "changes"),
    [
        # macOS counts time and pixels more finely, phones have keyboards without keys.
        (MAC, {"clock": {"events": 30, "off": 25}}),
        (MAC, {"pointer": {"fractional": 12}}),
        (PHONE, {"typed": {"bare": 22}}),
        # One straight stroke, one press in the center, a few keys: chance.
        (LINUX, {"pointer": {"strokes": 1, "straight": 1}}),
        (LINUX, {"pointer": {"presses": 1, "centred": 1, "jumps": 1}}),
        (LINUX, {"typed": {"presses": 3, "short": 3, "holdMs": 1}}),
        (LINUX, {"typed": {"letters": 3, "codeless": 3}}),
        (PHONE, {"typed": {"codeless": 20, "active": False}}),
        # An input method's letters, a finger's, a few that were picked.
        (LINUX, {"typed": {"inserts": 72, "lone": 30}}),
        (PHONE, {"typed": {"lone": 22}}),
        (LINUX, {"typed": {"inserts": 11, "lone": 11}}),
        (LINUX, {"typed": {"inserts": 2, "active": False}}),
        (LINUX, {"clock": {"events": 7, "off": 7}}),
        (LINUX, {"pointer": {"moves": "x", "presses": float("nan"), "strokes": -1}}),
    ],
)
def test_what_people_do_gives_none(user_agent, changes):
    assert found(user_agent=user_agent, **changes) == set()


@pytest.mark.parametrize(("points", "labels"), [(10, set()), (None, set()), (0, {"lone_letters"})])
def test_letters_after_a_touch_are_a_keyboards_on_a_touch_screen(points, labels):
    assert found(typed={"lone": 22}, touches=1, points=points) == labels


IDLE = {**dict.fromkeys(("pointerMoves", "touches", "keys", "clicks"), 0), "pointer": dict.fromkeys(POINTER, 0)}


def labels_of(*, screen=None, moves=0, downs=0, **typed):
    """Return the labels of a page that saw no press of a device."""
    sums = {**HAND, **IDLE, "typed": {**dict.fromkeys(TYPED, 0), "active": False, "wasActive": False, **typed}}
    sums |= {"pointerMoves": moves, "pointer": {**IDLE["pointer"], "moves": moves, "downs": downs}}
    signals = {**SOUND, "screen": {**SOUND["screen"], "isTop": True, **(screen or {})}}
    evidence = {"signals": signals, "interaction": sums, "instrument": True}
    return set(observe(make_facts(evidence=evidence), INTEL).labels)


def test_a_form_that_is_filled_in_and_sent_without_input_asks():
    for active in (False, True):
        labels = labels_of(filled=3, active=active)
        assert {"input.untouched_form", "evidence.doubtful"} <= labels
        assert "evidence.contradictory" not in labels


@pytest.mark.parametrize(
    "typed",
    [
        # A check at load, a sign-in that a password manager fills in and sends, the browser's own autofill, a page
        # that was touched before the SDK loaded, a browser without this property.
        {"filled": 0},
        {"filled": 2, "passwords": 1},
        {"filled": 3, "passwords": 2},
        {"filled": 3, "autofilled": 1},
        {"filled": 3, "active": True, "wasActive": True},
        {"filled": 3, "active": None, "wasActive": None},
        # A button in a frame, such as for a payment; paste from the context menu.
        {"filled": 3, "active": True, "frames": 1},
        {"filled": 3, "active": True, "downs": 1},
    ],
)
def test_what_tools_of_people_fill_in_does_not_ask(typed):
    assert "input.untouched_form" not in labels_of(**typed)


def test_a_password_field_excuses_no_longer_form():
    assert "input.untouched_form" in labels_of(filled=4, passwords=1)


def test_a_frame_and_a_pointer_that_only_passes_over_the_page_excuse_no_filled_form():
    assert "input.untouched_form" in labels_of(filled=3, moves=40, frames=2)


def test_a_form_in_a_frame_asks_only_without_a_press_on_the_page_around_it():
    inside = {"isTop": False}

    assert "input.untouched_form" not in labels_of(filled=3, active=True, screen=inside)
    # An extension fills in the frame and claims nothing, or a client claims a frame only.
    assert "input.untouched_form" in labels_of(filled=3, screen=inside)
    assert "input.untouched_form" in labels_of(filled=3, active=True, screen={"isTop": None})


@pytest.mark.parametrize("moves", [0, 40])
def test_user_activation_without_a_cause_is_a_drivers(moves):
    assert "browser.unseen_activation" in labels_of(active=True, moves=moves)


@pytest.mark.parametrize(
    ("typed", "screen"),
    [
        ({"active": True, "frames": 1}, {}),
        ({"active": True}, {"isTop": False}),
        ({"active": True, "wasActive": True}, {}),
        # Paste from the context menu.
        ({"active": True, "downs": 1}, {}),
        ({"active": False}, {}),
    ],
)
def test_user_activation_that_the_page_cannot_see_the_cause_of_is_nothing(typed, screen):
    assert "browser.unseen_activation" not in labels_of(screen=screen, **typed)


@pytest.mark.parametrize("seen", ["touches", "keys", "clicks"])
def test_user_activation_after_an_event_is_nothing(seen):
    changed = {**HAND, **IDLE, seen: 1, "typed": {**TYPED, "active": True}}
    signals = {**SOUND, "screen": {**SOUND["screen"], "isTop": True}}
    labels = observe(make_facts(evidence={"signals": signals, "interaction": changed}), INTEL).labels
    assert "browser.unseen_activation" not in labels
