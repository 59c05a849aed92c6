"""The instrument: a program made for one challenge whose answer a real browser finds, and the check of that answer.

The same draw writes the program and computes what it gives, so checking costs no more than making, and neither runs
JavaScript. Pure and deterministic. Whoever knows the seed can compute the answer: it must not leave the service.
"""

import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from agentgate.protection.browser_check.instrument.arrange import arranged
from agentgate.protection.browser_check.instrument.boxes import Arrangement, Boxes
from agentgate.protection.browser_check.instrument.draw import Piece, ProgramStep, RandomChoices, State
from agentgate.protection.browser_check.instrument.language import LANGUAGE
from agentgate.protection.browser_check.instrument.layout import LAYOUTS
from agentgate.protection.browser_check.instrument.methods import METHODS, worker_facts
from agentgate.protection.browser_check.instrument.state import WORDS, Maker, avalanche
from agentgate.protection.browser_check.instrument.tree import TREES, DocumentAccess, native_objects
from agentgate.protection.browser_check.instrument.values import VALUES

# How many pieces of each kind a program has: enough for hundreds of branches, small enough for 6 KB.
MOST_PIECES: Final = 3
METHOD_PIECES: Final = 2
# No piece is added where those before it took as many characters.
LANGUAGE_ROOM: Final = 320
VALUE_ROOM: Final = 200
TREE_ROOM: Final = 230
LAYOUT_ROOM: Final = 500


@dataclass(frozen=True, slots=True)
class Answer:
    """What the program called back with: in the page, and in the worker where there was one."""

    page: str
    worker: str | None = None


def make_program(seed: bytes, challenge_id: str) -> str:
    """Classic script text; it calls `globalThis["agentgate:" + challengeId]` once with its answer."""
    if not challenge_id.replace("_", "").replace("-", "").isalnum() or not challenge_id.isascii():
        raise ValueError("a challenge's id has letters, digits, hyphens and underscores only")
    # The leading semicolon ends whatever script this one was appended to.
    return f';globalThis["agentgate:{challenge_id}"](({make_function(seed, challenge_id)})());\n'


def make_function(seed: bytes, challenge_id: str) -> str:
    """Return the program as a function expression that returns its answer and refers to nothing around it."""
    return _drawn(seed, challenge_id).function()


def check_answer(seed: bytes, challenge_id: str, answer: Answer) -> bool:
    """Say whether the answer is right. A page without a worker has no worker's part; an empty one is wrong."""
    right = right_answer(seed, challenge_id)
    page = _is_same(right.page, answer.page)
    worker = answer.worker is None or _is_same(right.worker or "", answer.worker)
    return page and worker


def right_answer(seed: bytes, challenge_id: str) -> Answer:
    """Compute the answer of a real browser, for the check and for tests."""
    return _drawn(seed, challenge_id).answer()


@dataclass(frozen=True, slots=True)
class _Program:
    maker: Maker
    page: DocumentAccess
    boxes: Boxes
    where: str
    page_start: list[int]
    worker_start: list[int]
    shared: list[ProgramStep]
    in_page: list[ProgramStep]
    in_layout: list[ProgramStep]
    made: list[ProgramStep]
    in_worker: list[ProgramStep]
    end: list[ProgramStep]

    def answer(self) -> Answer:
        page, worker = list(self.page_start), list(self.worker_start)
        for step in (*self.shared, *self.in_page, *self.made, *self.in_layout, *self.end):
            step.run(page)
        for step in (*self.shared, *self.in_worker, *self.end):
            step.run(worker)
        return Answer(page=_hex(page), worker=_hex(worker))

    def function(self) -> str:
        maker, where = self.maker, self.where
        error = maker.draw.name()
        start = maker.start(self.page_start, self.worker_start, where)
        body = (
            f"{maker.runtime()}{start}{maker.declared()}{_joined(self.shared)}"
            f"if({where}){{{self._page_script()}}}else{{{_joined(self.in_worker)}}}{_joined(self.end)}{maker.written()}"
        )
        return (
            f'()=>{{"use strict";const {where}=typeof document!="undefined";'
            f'try{{return(()=>{{{body}}})()}}catch({error}){{return"failed"}}}}'
        )

    def _page_script(self) -> str:
        page, boxes = self.page, self.boxes
        return (
            f"{page.runtime()}{page.declared()}{_joined(self.in_page)}{boxes.runtime()}{_joined(self.made)}"
            f"{boxes.attached()}try{{{_joined(self.in_layout)}}}finally{{{boxes.removed()}}}"
        )


def _drawn(seed: bytes, challenge_id: str) -> _Program:
    draw = RandomChoices(b"agentgate instrument 1\0" + len(seed).to_bytes(2, "big") + seed + challenge_id.encode())
    maker = Maker(draw)
    page = DocumentAccess(maker)
    boxes = Boxes(page)
    pieces = _fitting(maker, [partial(make, maker) for make in draw.some(LANGUAGE, MOST_PIECES)], LANGUAGE_ROOM)
    pieces += _fitting(maker, [partial(make, maker) for make in draw.some(VALUES, MOST_PIECES)], VALUE_ROOM)
    methods = [worker_facts(maker), *(make(maker) for make in draw.some(METHODS, METHOD_PIECES))]
    shared, in_worker = _mixed(maker, pieces), _mixed(maker, methods)
    with page.hoisting():
        trees = _fitting(maker, [partial(make, page) for make in draw.some(TREES, MOST_PIECES)], TREE_ROOM)
        arrangements = _arrangements(boxes)
        in_page = _mixed(maker, [native_objects(page), *trees])
        in_layout = _mixed(maker, [boxes.measured(arrangement.measures) for arrangement in arrangements])
    return _Program(
        maker=maker,
        page=page,
        boxes=boxes,
        where=draw.name(),
        page_start=[draw.word() for _ in range(WORDS)],
        worker_start=[draw.word() for _ in range(WORDS)],
        shared=shared,
        in_page=in_page,
        made=[arrangement.step for arrangement in arrangements],
        in_layout=in_layout,
        in_worker=in_worker,
        end=avalanche(maker),
    )


def _fitting(maker: Maker, makers: Sequence[Callable[[], Piece]], room: int) -> list[Piece]:
    """Make one piece after the other while there is room."""
    pieces: list[Piece] = []
    for make in makers:
        if room > 0:
            declared = len(maker.hoisted)
            pieces.append(make())
            room -= len(pieces[-1].script) + sum(map(len, maker.hoisted[declared:]))
    return pieces


def _arrangements(boxes: Boxes) -> list[Arrangement]:
    """Draw two or three arrangements."""
    drawn = boxes.draw.some(LAYOUTS, MOST_PIECES)
    found = [make(boxes) for make in drawn[:-1]]
    if sum(len(arrangement.step.script) for arrangement in found) < LAYOUT_ROOM:
        found.append(drawn[-1](boxes))
    return found


def _mixed(maker: Maker, pieces: Sequence[Piece]) -> list[ProgramStep]:
    return arranged(maker, [maker.mixed(piece) for piece in maker.draw.shuffled(pieces)])


def _joined(steps: Sequence[ProgramStep]) -> str:
    return "".join(step.script for step in steps)


def _hex(state: State) -> str:
    return "".join(f"{word:08x}" for word in state[:WORDS])


def _is_same(right: str, given: str) -> bool:
    return hmac.compare_digest(right.encode(), given.encode("utf-8", "surrogatepass"))
