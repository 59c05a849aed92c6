"""Runs sessions: one program for each, two at a time, and reads the service's decisions about them."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.adversaries import steps
from bench.adversaries.front import Lane, Visit
from bench.adversaries.packages import HERE, Tools, missing
from bench.adversaries.personas import Persona
from bench.adversaries.programs import Program
from bench.adversaries.site import ACTION, SITE_KEY, Laboratory

ROOT = HERE.parents[1]
SESSION_S = 240


@dataclass(frozen=True)
class Plan:
    """One session that is going to be."""

    kind: str
    driver: str
    variant: str
    half: str
    module: str
    seed: int
    tries: int = 1
    sold: bool = False
    copies: bool = False
    # The check runs when the form is sent (`submit`), or at load, and again then (`load`).
    check: str = "submit"


@dataclass
class Result:
    """What became of a session. A token counts once siteverify has accepted it."""

    kind: str
    driver: str
    variant: str
    half: str
    seed: int
    check: str = "submit"
    sessions: int = 1
    tokens: int = 0
    asked: bool = False
    # Seconds from the first sight of the interactive challenge to the token.
    answered_s: float = 0.0
    # Interactive challenge: when each step happened in the page, in milliseconds.
    steps: list[list[Any]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    scores: dict[str, float] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    decisions: list[str] = field(default_factory=list)
    # Why there was no session: a tool that is missing or broke. Such a session is not counted.
    skipped: str = ""
    error: str = ""

    def line(self) -> dict[str, Any]:
        """Return it for a file of JSON lines."""
        return asdict(self)


def plan_program(program: Program, seed: int, check: str = "submit") -> Plan:
    """Plan a session of automation."""
    return Plan(
        "bot",
        program.driver,
        program.variant,
        program.half,
        program.module,
        seed,
        tries=program.tries,
        sold=program.sold,
        copies=program.copies,
        check=check,
    )


def plan_person(persona: Persona, seed: int) -> Plan:
    """Plan a session of a person."""
    return Plan("person", persona.setup.browser, persona.name, persona.half, "person", seed, check=persona.check)


class Runner:
    """Runs plans on the lanes of a laboratory."""

    def __init__(self, lab: Laboratory, tools: Tools, folder: Path, tell: Callable[[str, Result], None]) -> None:
        self._lab = lab
        self._tools = tools
        self._folder = folder
        self._tell = tell
        self._recorded: dict[str, Any] = {}

    def run(self, plans: list[Plan], minutes: float = 600) -> list[Result]:
        """Run all that begin within the time, one on each lane at a time; results in the order of the plans."""
        until_s = time.monotonic() + minutes * 60
        results: dict[int, Result] = {}
        waiting: queue.SimpleQueue[tuple[int, Plan]] = queue.SimpleQueue()
        for item in enumerate(plans):
            waiting.put(item)

        def work(lane: Lane) -> None:
            while time.monotonic() < until_s:
                try:
                    position, plan = waiting.get_nowait()
                except queue.Empty:
                    return
                result = results[position] = self.session(plan, lane)
                self._tell(f"{len(results)}/{len(plans)} {summary(result)}", result)

        threads = [threading.Thread(target=work, args=[lane]) for lane in self._lab.lanes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [results[position] for position in sorted(results)]

    def session(self, plan: Plan, lane: Lane) -> Result:
        """Run one session."""
        result = Result(plan.kind, plan.driver, plan.variant, plan.half, plan.seed, plan.check, sessions=plan.tries)
        result.skipped = missing(plan.module, self._tools)
        if plan.copies and not self._recorded:
            result.skipped = "no person's session was recorded before it"
        if result.skipped:
            return result
        visit = lane.begin(self._lab.new_address())
        # Browsers leave files that are still written when they have gone.
        with tempfile.TemporaryDirectory(dir=self._folder, ignore_cleanup_errors=True) as folder:
            result.error = self._start(plan, lane, Path(folder))
        if not visit.issued:
            # No request reached the service: the tool is broken, so this is not evidence about detection.
            result.skipped = result.error or "it never reached the service"
            return result
        self._judge(plan, visit, result)
        # Copies say that they are Chromium: what another browser said would give them away.
        if plan.kind == "person" and plan.driver == "chromium" and visit.bodies:
            self._recorded = visit.bodies[-1]
        return result

    def _start(self, plan: Plan, lane: Lane, folder: Path) -> str:
        tools = self._tools
        job = {
            "page": lane.origin + "/" + ("?check=load" if plan.check == "load" else ""),
            "origin": lane.origin,
            "gate": lane.origin + "/gate",
            "site_key": SITE_KEY,
            "action": ACTION,
            "driver": plan.driver,
            "variant": plan.variant,
            "seed": plan.seed,
            "folder": str(folder),
            "chromium": tools.chromium,
            "firefox": tools.firefox,
            "modules": tools.modules,
            "recorded": self._recorded if plan.copies else {},
            "tries": plan.tries,
        }
        if plan.module.endswith(".mjs"):
            names = {"name": "Maria Lopez", "email": "maria@mail.example", "text": "When do you open?", "seconds": 90}
            job.update(names)
            command = [tools.node, str(HERE / "drivers" / plan.module)]
            if "windowed" in plan.variant:
                command = [tools.python, "-m", "bench.adversaries.drivers.on_screen", *command]
        else:
            command = [tools.python, "-m", f"bench.adversaries.drivers.{plan.module}"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return _run(command, json.dumps(job), environment)

    def _judge(self, plan: Plan, visit: Visit, result: Result) -> None:
        result.asked = visit.asked
        result.answered_s = round(visit.answered_s, 2)
        result.steps = visit.report.get("steps", [])
        spender = self._lab.new_address() if plan.sold else visit.address
        for token in visit.tokens:
            answer = self._lab.redeem(token, spender)
            if answer.get("success"):
                result.tokens += 1
            else:
                result.refused.append(str(answer.get("error") or answer.get("errorCodes") or "refused"))
        result.refused += [str(answer["error"]) for answer in visit.verified if "error" in answer]
        for answer in visit.verified:
            if "decisionId" not in answer:
                continue
            decision = self._lab.decision(answer["decisionId"])
            result.decisions.append(answer["decisionId"])
            result.labels = sorted({*result.labels, *decision.get("labels", [])})
            result.reasons = sorted({*result.reasons, *decision.get("reasons", [])})
            result.scores = decision.get("scores", {}) or result.scores


def _run(command: list[str], given: str, environment: dict[str, str]) -> str:
    """Run a driver; return the last line of what went wrong. Whatever it started ends with it."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(given, timeout=SESSION_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.communicate(timeout=15)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        return f"it did not end within {SESSION_S} s"
    finally:
        _end_group(process.pid)
    lines = [line for line in (output or "").strip().splitlines() if line.strip()]
    if process.returncode == 0:
        return ""
    return next((line for line in reversed(lines) if "rror" in line), lines[-1] if lines else "it failed")[:900]


def _end_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def summary(result: Result) -> str:
    """Return a line about a result."""
    if result.skipped:
        return f"{result.kind} {result.driver}: {result.variant}: skipped, {result.skipped[:140]}"
    asked = ", asked" if result.asked else ""
    asked += f", answered in {result.answered_s} s" if result.answered_s else ""
    score = result.scores.get("bot", 0)
    seen = ",".join(label for label in result.labels if label not in ("browser.evidence", "ua.browser"))
    refused = f" refused={','.join(sorted(set(result.refused)))}" if result.refused else ""
    parts = f" ({steps.line(result.steps)})" if result.answered_s else ""
    trouble = f" ! {result.error[:100]}" if result.error else ""
    return (
        f"{result.kind} {result.driver}: {result.variant} at {result.check}: {result.tokens} of"
        f" {result.sessions}{asked}{parts} bot={score:.2f} [{seen}]{refused}{trouble}"
    )
