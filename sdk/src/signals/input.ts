/**
 * How pointer and keys were used since the page was loaded: sums only. Positions and times are looked at while a stroke
 * lasts and then forgotten; which keys were pressed is never looked at.
 */

import { listen, passive } from "../page";

/** Moves that are further apart belong to different strokes. */
const STROKE_GAP_MS = 120;
const STROKE_MOVES = 8;
const STROKE_PX = 60;
/** A hand leaves the line between two points by more than this, and its steps differ by more than that. */
const STRAIGHT_PX = 0.8;
const EVEN_SPREAD = 0.08;
/** Steps that are all as long differ by so much once they are rounded to pixels; shorter ones say nothing. */
const ROUNDED_PX = 1.5;
const LEAST_STEP_PX = 3;
const SHORT_MS = 10;
const JUMP_PX = 40;
const CENTER_PX = 1;
/** What came so shortly before may have been the cause. */
const CAUSE_MS = 1000;
/** So much may browser and window manager put around a page that is not in their figures. */
const FRAME_PX = 40;
/** Inserts up to so long are no words; from this letter on, scripts are written by hand or picked from lists. */
const MOST_LETTERS = 3;
const EAST = "\u2e80";

const counts = { pointerMoves: 0, touches: 0, keys: 0, scrolls: 0, clicks: 0, untrusted: 0 };
const pointer = {
  /** Moves by a mouse; with a fraction of a pixel; that moved and say that they did not; on another screen position. */
  ...{ moves: 0, fractional: 0, still: 0, adrift: 0 },
  /** Strokes; that are straight lines; whose steps are all as long; that end in a press without slowing down. */
  ...{ strokes: 0, straight: 0, even: 0, abrupt: 0 },
  /** Presses of a mouse; shorter than a hand's; after a jump; in the very center; with a pressure that none has. */
  ...{ presses: 0, short: 0, jumps: 0, centred: 0, pressure: 0 },
  /** Presses of anything that points, with any of its buttons. */
  downs: 0,
};
const typed = { presses: 0, letters: 0, codeless: 0, inserts: 0, bare: 0, lone: 0, focused: 0, unled: 0 };
/** Fields with a text at the last submit; the most frames that the page has had. */
const most = { filled: 0, frames: 0 };
/** Fields of the page: with a text, for a password, filled in by the browser. */
const fields = { texts: 0, passwords: 0, autofilled: 0 };
/** Events of devices, and those that are off the raster of whole milliseconds that the first one was on. */
const clock = { events: 0, off: 0 };

/** Count, mean and sum of squared distances from the mean (Welford's way). */
function makeSpread() {
  let count = 0;
  let mean = 0;
  let squares = 0;
  return {
    add(value: number): void {
      const off = value - mean;
      mean += off / ++count;
      squares += off * (value - mean);
    },
    count: () => count,
    mean: () => mean,
    /** The standard deviation divided by the mean. */
    ratio: () => (count > 1 && mean > 0 ? Math.sqrt(squares / count) / mean : undefined),
  };
}

const round = (value: number | undefined): number | undefined =>
  value === undefined ? undefined : Math.round(value * 1e4) / 1e4;

/** Median and quartiles of at most so many values: a machine that is busy for a moment changes neither. */
const MOST_VALUES = 256;

function makeQuartiles() {
  const values: number[] = [];
  const at = (share: number): number => values[Math.floor((values.length - 1) * share)] ?? 0;
  return {
    /** Put it in its place by hand: a page may have replaced the array's own way to sort. */
    add(value: number): void {
      if (values.length >= MOST_VALUES) return;
      let place = values.length;
      for (; place && values[place - 1]! > value; place--) values[place] = values[place - 1]!;
      values[place] = value;
    },
    median: () => Math.round(at(0.5)),
    /** The distance between the quartiles divided by the median. */
    spread: () => (at(0.5) > 0 ? round((at(0.75) - at(0.25)) / at(0.5)) : undefined),
  };
}

const gaps = makeSpread();
const keyGaps = makeQuartiles();
const keyHolds = makeQuartiles();
const pressHolds = makeSpread();

type Point = readonly [x: number, y: number];

let watchedMs = 0;
let lastMs = 0;
let lastKeyMs = 0;
let fraction: number | undefined;
let begun: Point | undefined;
let at: Point = [0, 0];
let way = 0;
let stroke: Point[] = [];
let strokeMs = 0;
let pressedMs = 0;
let pressedAt: Point | undefined;
// Moves since the last press.
let approach = 0;
let causeMs = -CAUSE_MS;
// A key went down or up since the last insert, or a button in the page was pressed: it may be a keyboard's.
let isKeyed = false;
// Fields with a text at the last check, and those that it reported as filled in.
let checkedTexts = 0;
let checkedFilled = 0;
/** Whether the page was touched before anybody watched. */
let wasActive: boolean | undefined;
const downMs: Record<string, number> = {};

const isTop = window.top === window.self;
const between = (a: Point, b: Point): number => Math.hypot(a[0] - b[0], a[1] - b[1]);

/** As the browser says it. */
const isActive = (): boolean | undefined => navigator.userActivation?.hasBeenActive;

function time({ timeStamp }: Event): void {
  if (lastMs) gaps.add(timeStamp - lastMs);
  lastMs = timeStamp;
}

/** Where the system counts input in whole milliseconds, all events share what is left of one. */
function readClock({ timeStamp }: Event): void {
  fraction ??= timeStamp % 1;
  const off = Math.abs((timeStamp % 1) - fraction);
  clock.events++;
  if (off > 0.15 && off < 0.85) clock.off++;
}

/** Sum a stroke up and forget it. */
function endStroke(isPressed = false): void {
  const first = stroke[0];
  const last = stroke[stroke.length - 1];
  if (first && last && stroke.length >= STROKE_MOVES && between(first, last) >= STROKE_PX) {
    const steps = makeSpread();
    let leave = 0;
    let step = 0;
    let shortest = Infinity;
    let longest = 0;
    const length = between(first, last);
    for (let i = 1; i < stroke.length; i++) {
      const here = stroke[i]!;
      step = between(here, stroke[i - 1]!);
      shortest = Math.min(shortest, step);
      longest = Math.max(longest, step);
      steps.add(step);
      const across = (last[0] - first[0]) * (first[1] - here[1]) - (first[0] - here[0]) * (last[1] - first[1]);
      leave = Math.max(leave, Math.abs(across) / length);
    }
    const mean = steps.mean();
    const isLong = mean >= LEAST_STEP_PX;
    const isEven = (steps.ratio() ?? 1) < EVEN_SPREAD || (isLong && longest - shortest <= ROUNDED_PX);
    pointer.strokes++;
    // A line along an axis is what a hand on a touchpad or a trackpoint draws too, though not at one pace.
    if (leave <= STRAIGHT_PX && (isEven || (first[0] !== last[0] && first[1] !== last[1]))) pointer.straight++;
    if (isEven) pointer.even++;
    if (isPressed && isLong && step >= mean) pointer.abrupt++;
  }
  stroke = [];
}

function isAdrift({ screenX: x, screenY: y, clientX, clientY }: PointerEvent): boolean {
  const { outerWidth, innerWidth, outerHeight, innerHeight, screenX: left, screenY: top, devicePixelRatio } = window;
  if (!isTop || devicePixelRatio !== 1) return false;
  return (
    x - clientX > left + outerWidth - innerWidth + FRAME_PX || y - clientY > top + outerHeight - innerHeight + FRAME_PX
  );
}

function move(event: PointerEvent): void {
  const { clientX, clientY, movementX, movementY, timeStamp } = event;
  const here: Point = [clientX, clientY];
  if (begun) way += between(here, at);
  else begun = here;
  if (event.pointerType === "mouse") {
    readClock(event);
    pointer.moves++;
    approach++;
    const raw = event.getCoalescedEvents?.() ?? [];
    if (isTop && devicePixelRatio === 1 && (clientX % 1 || clientY % 1)) pointer.fractional++;
    if (stroke.length && between(here, at) > 2 && !movementX && !movementY) pointer.still++;
    if (isAdrift(event)) pointer.adrift++;
    if (timeStamp - strokeMs > STROKE_GAP_MS || stroke.length > 255) endStroke();
    // What the browser joins to one event for a picture is as many steps of the device.
    for (let i = 0; i < raw.length; i++) stroke[stroke.length] = [raw[i]!.clientX, raw[i]!.clientY];
    if (!raw.length) stroke[stroke.length] = here;
    strokeMs = timeStamp;
  }
  at = here;
}

function press(event: PointerEvent): void {
  causeMs = event.timeStamp;
  isKeyed = true;
  pointer.downs++;
  if (event.pointerType !== "mouse" || event.button) return;
  readClock(event);
  pressedMs = event.timeStamp;
  pointer.presses++;
  if (event.pressure !== 0.5) pointer.pressure++;
  const here: Point = [event.clientX, event.clientY];
  // The whole way in one event or two.
  if (approach < 3 && (!pressedAt || between(here, pressedAt) > JUMP_PX)) pointer.jumps++;
  approach = 0;
  pressedAt = here;
  endStroke(true);
  // An event that waited has no path any more.
  const target = event.composedPath()[0] ?? event.target;
  if (!(target instanceof Element)) return;
  const { left, top, width, height } = target.getBoundingClientRect();
  const center: Point = [left + width / 2, top + height / 2];
  if (Math.max(Math.abs(here[0] - center[0]), Math.abs(here[1] - center[1])) <= CENTER_PX) pointer.centred++;
}

function release(event: PointerEvent): void {
  if (!pressedMs) return;
  const holdMs = event.timeStamp - pressedMs;
  pressHolds.add(holdMs);
  if (holdMs < SHORT_MS) pointer.short++;
  pressedMs = 0;
}

function key(event: KeyboardEvent): void {
  const { timeStamp, code, repeat } = event;
  causeMs = timeStamp;
  isKeyed = true;
  if (repeat) return;
  readClock(event);
  // A pause to think is no gap between keys.
  if (lastKeyMs && timeStamp - lastKeyMs < CAUSE_MS) keyGaps.add(timeStamp - lastKeyMs);
  lastKeyMs = timeStamp;
  // Every keyboard has a number for each of its letters; which one is not looked at.
  if (event.key.length === 1) {
    typed.letters++;
    if (!event.keyCode) typed.codeless++;
  }
  // Kept until it is released, to know how long; then no more.
  downMs[code] = timeStamp;
}

function keyEnd({ timeStamp, code }: KeyboardEvent): void {
  // A page may keep the key's beginning to itself.
  isKeyed = true;
  const since = downMs[code];
  if (!since) return;
  delete downMs[code];
  typed.presses++;
  keyHolds.add(timeStamp - since);
}

/** Text that neither a key nor a composition, the clipboard or the browser itself put there. */
function insert({ timeStamp, inputType, isComposing, data }: InputEvent): void {
  if (inputType !== "insertText" || isComposing) return;
  typed.inserts++;
  // A letter or a few, while no key went down or up. Han letters are drawn with a mouse, emojis picked.
  if (!isKeyed && data && data.length <= MOST_LETTERS && data < EAST) typed.lone++;
  isKeyed = false;
  if (timeStamp - causeMs > CAUSE_MS) typed.bare++;
}

function focus(event: FocusEvent): void {
  if (!(event.target instanceof HTMLInputElement)) return;
  typed.focused++;
  if (event.timeStamp - causeMs > CAUSE_MS) typed.unled++;
}

type Watch = readonly [type: string, count: keyof typeof counts | undefined, see?: (event: never) => void];

const EVENTS: readonly Watch[] = [
  ["pointermove", "pointerMoves", move],
  ["touchstart", "touches"],
  ["keydown", "keys", key],
  ["scroll", "scrolls"],
  ["click", "clicks"],
  ["pointerdown", undefined, press],
  ["pointerup", undefined, release],
  ["keyup", undefined, keyEnd],
  ["beforeinput", undefined, insert],
  ["focusin", undefined, focus],
  // The page loses the focus to a frame.
  ["blur", undefined],
];

/**
 * Scripts of pages and extensions fill in forms by events of their own; a pointer that moves by itself is no such
 * thing.
 */
export function countUntrusted(): void {
  counts.untrusted++;
}

const handlers: Record<string, (event: Event) => void> = {};

const countFrames = (): number => (most.frames = Math.max(most.frames, window.length));

/** See what happened before anybody watched. */
export function replay(events: readonly Event[]): void {
  if (events[0]) watchedMs = Math.min(watchedMs, events[0].timeStamp);
  for (let at = 0; at < events.length; at++) handlers[events[at]!.type]?.(events[at]!);
}

export function watchInput(): void {
  watchedMs = performance.now();
  wasActive = isActive();
  for (const [type, count, see] of EVENTS) {
    const handle = (handlers[type] = (event: Event): void => {
      if (event.isTrusted) {
        countFrames();
        if (count) {
          counts[count]++;
          // Scrolling and keys that are held down repeat by a clock, whoever does it.
          if (count !== "scrolls" && !(event as KeyboardEvent).repeat) time(event);
        }
        see?.(event as never);
      } else if (count === "pointerMoves") countUntrusted();
    });
    listen(window, type, handle, passive);
  }
  listen(window, "submit", (handlers.submit = isLate), passive);
}

/** Elements of a selector; none where the browser does not know it. */
function all(selector: string): readonly HTMLInputElement[] {
  try {
    return Document.prototype.querySelectorAll.call(document, selector) as never;
  } catch {
    return [];
  }
}

/** Count them; gives back how many have another text than the page came with. */
function countFields(): number {
  let changed = 0;
  fields.texts = 0;
  for (const { value, defaultValue } of all("input:read-write,textarea")) {
    if (value) fields.texts++;
    if (value && value !== defaultValue) changed++;
  }
  fields.passwords = all("[type=password]").length;
  fields.autofilled = all(":autofill").length;
  return changed;
}

/** Nothing was pressed that could send a form: pointers also pass over a page by chance. */
const isUntouched = (): boolean => !counts.keys && !counts.clicks && !counts.touches && !pointer.downs;

/**
 * At a submit: 0 where the last check knows of the filled fields, 2 where nobody pressed anything. Password managers
 * and browsers fill in and send by themselves.
 */
export function isLate(): number {
  const changed = countFields();
  const { texts, passwords, autofilled } = fields;
  const isAlone = isUntouched();
  if (texts <= checkedTexts && (!isAlone || !changed || changed === checkedFilled)) return 0;
  most.filled = changed || texts;
  return isAlone && !passwords && !autofilled ? 2 : 1;
}

export function sumInput(): object {
  countFields();
  checkedTexts = fields.texts;
  checkedFilled = most.filled;
  countFrames();
  const distance = begun ? between(at, begun) : 0;
  return {
    ...counts,
    durationMs: lastMs ? Math.round(lastMs - watchedMs) : 0,
    straightness: distance > 0 ? round(way / distance) : undefined,
    variation: round(gaps.ratio()),
    pointer: { ...pointer, holdMs: Math.round(pressHolds.mean()), holdSpread: round(pressHolds.ratio()) },
    typed: {
      ...typed,
      ...fields,
      ...most,
      gapMs: keyGaps.median(),
      gapSpread: keyGaps.spread(),
      holdMs: keyHolds.median(),
      holdSpread: keyHolds.spread(),
      // Whether a finger or a key has touched the page, now and before it was watched; frames in it may have been.
      active: isActive(),
      wasActive,
    },
    clock,
  };
}
