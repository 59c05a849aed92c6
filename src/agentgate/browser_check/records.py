"""Bodies of the browser check. Site key, action and challenge ID are plain text: wrong ones have separate codes."""

from typing import Annotated, Any, ClassVar, Literal

from msgspec import UNSET, Meta, UnsetType

from agentgate.lib.enums import VerifyStatus, WidgetMode
from agentgate.lib.limits import CUSTOM_DATA_CHARACTERS
from agentgate.lib.moment import Moment
from agentgate.lib.records import Input, Query, Record

SCHEMA = 1
LARGEST_SOLUTION = 2**32 - 1
# More puzzles than any level has; more characters than any result of the program has.
MOST_SOLUTIONS = 512
ANSWER_CHARACTERS = 128
MOST_STEPS = 8
LOCALE_CHARACTERS = 64
LONGEST_STEP_MS = 3_600_000
LARGEST_HOOK = 999_999
# Pixels and moves: more than any screen has or any hand makes within the time.
LARGEST_SUM = 1_000_000

# A draw has a dozen programs, the longest result a few dozen numbers; the sealed ticket some hundred characters.
MOST_PROBES = 16
MOST_PROBE_NUMBERS = 64
TICKET_CHARACTERS = 2048

ProbeAnswer = Annotated[list[Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]], Meta(max_length=MOST_PROBE_NUMBERS)]
Solutions = Annotated[list[Annotated[int, Meta(ge=0, le=LARGEST_SOLUTION)]], Meta(max_length=MOST_SOLUTIONS)]
FieldSize = Annotated[float, Meta(ge=0, le=LARGEST_SUM)]
ProgramAnswer = Annotated[str, Meta(max_length=ANSWER_CHARACTERS)]


class Work(Record, frozen=True, kw_only=True):
    """Puzzles, for each i below `count`.

    `SHA-256`: an n such that the hash of `salt:i:n` begins with `bits` zero bits. `scrypt`: the first 32 bits of scrypt
    of `salt:i`, without salt, with N = 2^`bits`, r = 1, p = 1.
    """

    algorithm: str
    salt: str
    count: int
    bits: int


class Probes(Record, frozen=True, kw_only=True):
    """Probe programs that need a real engine, as described in `docs/signals.md`. Return `draw` with the results."""

    draw: str
    programs: list[Any]


class StepUp(Record, frozen=True, kw_only=True):
    """The interactive challenge: a button to press `steps` times, `wait_ms` apart, during additional proof of work."""

    kind: str
    steps: int
    wait_ms: int
    work: Work
    # The button's position for each press, in percent of the free width and height of its field.
    places: list[tuple[int, int]]
    # Additional programs, if a verification required the interactive challenge.
    probes: Probes | UnsetType = UNSET
    # A driver controls the browser, so that the challenge explains why it is shown.
    assistant: bool | UnsetType = UNSET


class ChallengeInput(Input, frozen=True, kw_only=True):
    """A request for a challenge. `widget` may be stricter than the site's setting, but not less strict."""

    shape_version: ClassVar = ("schema", SCHEMA, "schema_unsupported")

    schema: Literal[1]
    site_key: str
    action: str
    widget: WidgetMode | UnsetType = UNSET
    locale: Annotated[str, Meta(max_length=LOCALE_CHARACTERS)] | UnsetType = UNSET
    c_data: Annotated[str, Meta(max_length=CUSTOM_DATA_CHARACTERS)] | UnsetType = UNSET


class Challenge(Record, frozen=True, kw_only=True):
    """A challenge: proof of work, program and probes. `instrument` is the path of the challenge's program."""

    challenge_id: str
    schema: int
    expires_at: Moment
    attempts: int
    # How the challenge is displayed: as the page requested, or as the site is configured.
    widget: WidgetMode
    show: bool
    work: Work
    instrument: str
    # For clients that claim to be a browser with support for probes.
    probes: Probes | UnsetType = UNSET
    step_up: StepUp | UnsetType = UNSET
    # The path to which a browser may send a private token; omitted if the site trusts no issuer.
    private_token: str | UnsetType = UNSET


class ChallengeQuery(Query, frozen=True, kw_only=True):
    """A page wants challenge and program in one script, which calls `globalThis["agentgate:" + hook]` with both."""

    schema: Annotated[int, Meta(ge=0, le=LARGEST_HOOK)]
    site_key: str
    action: str
    # A number, so that nothing of the caller's can become a part of the script.
    hook: Annotated[int, Meta(ge=0, le=LARGEST_HOOK)]
    widget: WidgetMode | UnsetType = UNSET


class PrivateTokenResult(Record, frozen=True, kw_only=True):
    """The private token was accepted for the challenge."""

    status: Literal["accepted"]


class InstrumentQuery(Query, frozen=True, kw_only=True):
    """The challenge whose program is requested."""

    challenge_id: str


class InstrumentInput(Input, frozen=True, kw_only=True):
    """The results of the program in the page and, if available, in the worker."""

    page: ProgramAnswer
    worker: ProgramAnswer | UnsetType = UNSET


class ProbesInput(Input, frozen=True, kw_only=True):
    """A browser's results of each program: numbers, or null if its window is too small. `none` if there is no layout,
    `error` if the page's policy blocks the programs.
    """

    draw: Annotated[str, Meta(max_length=TICKET_CHARACTERS)]
    answers: Literal["none", "error"] | Annotated[list[ProbeAnswer | None], Meta(max_length=MOST_PROBES)]


class PressInput(Input, frozen=True, kw_only=True):
    """Input statistics between the previous press and this one; 0 for values that the device does not report."""

    moves: Annotated[int, Meta(ge=0, le=LARGEST_SUM)] = 0
    # The way of the pointer, and the distance between where it was pressed before and now.
    way_px: Annotated[float, Meta(ge=0, le=LARGEST_SUM)] = 0
    reach_px: Annotated[float, Meta(ge=0, le=LARGEST_SUM)] = 0
    # Events off the raster of whole milliseconds that the first one was on: Linux counts input in those.
    off: Annotated[int, Meta(ge=0, le=LARGEST_SUM)] = 0
    # From the first of those moves to the press, and from the press to its end.
    travel_ms: Annotated[float, Meta(ge=0, le=LONGEST_STEP_MS)] = 0
    hold_ms: Annotated[float, Meta(ge=0, le=LONGEST_STEP_MS)] = 0
    # From the button's center.
    off_x: Annotated[float, Meta(ge=-LARGEST_SUM, le=LARGEST_SUM)] = 0
    off_y: Annotated[float, Meta(ge=-LARGEST_SUM, le=LARGEST_SUM)] = 0
    # How wide the finger is.
    size_px: Annotated[float, Meta(ge=0, le=LARGEST_SUM)] = 0
    # Of the last stroke: the distance between its ends, how far it leaves the line between them, and its longest step
    # divided by the mean of its steps.
    stroke_px: Annotated[float, Meta(ge=0, le=LARGEST_SUM)] = 0
    bend_px: Annotated[float, Meta(ge=0, le=LARGEST_SUM)] = 0
    pace: Annotated[float, Meta(ge=0, le=LARGEST_SUM)] = 0


class StepInput(Input, frozen=True, kw_only=True):
    """One press of the button: input device, time since the previous press, and whether the browser marks it as
    trusted."""

    input: Literal["pointer", "touch", "keyboard", "assistive"]
    after_ms: Annotated[float, Meta(ge=0, le=LONGEST_STEP_MS)]
    trusted: bool
    # Of a press by hand. Assistive tools press without one.
    press: PressInput | UnsetType = UNSET


class AnswerInput(Input, frozen=True, kw_only=True):
    """The solution of an interactive challenge."""

    kind: Literal["confirm"]
    steps: Annotated[list[StepInput], Meta(max_length=MOST_STEPS)]
    work: Solutions
    # The results of the step-up's own programs.
    probes: ProbesInput | UnsetType = UNSET
    # The free width and height of the button's field, in pixels.
    field: tuple[FieldSize, FieldSize] | UnsetType = UNSET


class VerifyInput(Input, frozen=True, kw_only=True):
    """The page's solution and evidence. `signals` and `interaction` may have any shape; unknown parts are ignored."""

    shape_version: ClassVar = ("schema", SCHEMA, "schema_unsupported")

    schema: Literal[1]
    site_key: str
    action: str
    challenge_id: str
    work: Solutions
    instrument: InstrumentInput
    signals: dict[str, Any]
    probes: ProbesInput | UnsetType = UNSET
    interaction: dict[str, Any] | UnsetType = UNSET
    answer: AnswerInput | UnsetType = UNSET
    # Replaces the value of the challenge: a page that requests a script has no body to send it in.
    c_data: Annotated[str, Meta(max_length=CUSTOM_DATA_CHARACTERS)] | UnsetType = UNSET


class ClearanceCookie(Record, frozen=True, kw_only=True):
    """A cookie for the SDK to set, first party."""

    name: str
    value: str
    expires_at: Moment


class VerifyResult(Record, frozen=True, kw_only=True):
    """A token (`passed`) or an interactive challenge (`step_up`)."""

    status: VerifyStatus
    token: str | UnsetType = UNSET
    expires_at: Moment | UnsetType = UNSET
    decision_id: str | UnsetType = UNSET
    clearance: ClearanceCookie | UnsetType = UNSET
    step_up: StepUp | UnsetType = UNSET
    attempts_left: int | UnsetType = UNSET
