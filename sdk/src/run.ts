/** One check from the first request to the token. What people see of it is the stage's business. */

import type { Mode, Result } from "../types/agentgate";
import { AgentGateError, asError } from "./errors";
import { loadKit } from "./kit";
import { languageOf, type Settings } from "./options";
import { setCookie } from "./page";
import { bare } from "./safe";
import type { Answer, Challenge, Step, StepUp, Verdict } from "./protocol";
import { openScope, type Scope } from "./scope";
import { loadScript, serviceUrl } from "./script";
import { sumBehavior } from "./signals/behavior";
import { post } from "./transport";
import { type Crew, fetchCode, hire } from "./work/crew";

/** A challenge lives this long; from that and its expiry we know what time it is at the service. */
const CHALLENGE_MS = 300_000;
/** Asking for the graphics driver takes time on some machines; nobody waits longer for it. */
const RENDERER_MS = 60;
const AGAIN = /^(challenge_expired|challenge_invalid|network|unavailable)$/;

export interface Stage {
  /** Told once it is known how much the site wants people to see. */
  learn?(mode: Mode | undefined): void;
  /** Show the check; resolves with the presses. Absent: nothing may be shown. */
  ask?(stepUp: StepUp, signal: AbortSignal): Promise<readonly Step[]>;
}

export interface Passed extends Result {
  /** The expiry by this machine's clock, however wrong that is. */
  readonly untilMs: number;
}

export async function runCheck(settings: Settings, stage: Stage, signal?: AbortSignal): Promise<Passed> {
  const scope = openScope(settings.signal, signal);
  scope.limit(settings.timeout);
  try {
    for (let again = settings.retry !== "never"; ; again = false) {
      try {
        return await attempt(settings, stage, scope);
      } catch (thrown) {
        const error = asError(thrown);
        if (!again || !AGAIN.test(error.code)) throw error;
        await scope.race(new Promise((resolve) => setTimeout(resolve, error.retryAfter * 1000 || 400)));
      }
    }
  } finally {
    scope.end();
  }
}

async function attempt(settings: Settings, stage: Stage, scope: Scope): Promise<Passed> {
  const { race, signal } = scope;
  const { sitekey: siteKey, action, mode: widget, cData } = settings;
  const startMs = performance.now();
  // Stopped before it began, it asks for nothing.
  await race(Promise.resolve());
  const known = { schema: 1, siteKey, action } as const;
  void fetchCode();
  const kit = handled(loadKit());
  const asked = { ...known, widget, cData, locale: languageOf(settings) };
  const challenge = await race(post<Challenge>("challenge", asked, signal));
  const { challengeId, expiresAt, instrument } = challenge;
  const skewMs = Date.now() - Date.parse(expiresAt) + CHALLENGE_MS;
  stage.learn?.(challenge.widget);
  const program = serviceUrl(instrument);
  const page = handled(loadScript<string>(program, challengeId));
  const hired = hire(challengeId, program, signal);
  const solved = handled(hired.then((crew) => (scope.onEnd(crew.end), crew.solve(challenge.work))));

  /** Ask a person; meanwhile the further work is done. */
  const ask = async (stepUp: StepUp): Promise<Answer> => {
    if (!stage.ask) throw new AgentGateError("canceled");
    const further = handled(solved.then(() => hired).then((crew) => crew.solve(stepUp.work)));
    scope.limit(settings.checkTimeout);
    const steps = await race(stage.ask(stepUp, signal));
    scope.limit(settings.timeout);
    return { kind: stepUp.kind, steps, work: await race(further) };
  };

  let stepUp = challenge.show ? challenge.stepUp : undefined;
  for (;;) {
    const answer = stepUp && (await ask(stepUp));
    const work = await race(solved);
    const crew = await race(hired);
    const answered = await race(page);
    await race(rendererOf(crew));
    const { readSignals } = await race(kit);
    const signals = await race(readSignals(crew, Math.round(performance.now() - startMs)));
    const evidence = { work, instrument: { page: answered, worker: crew.instrument }, signals, interaction: sumBehavior() };
    const verdict = await race(post<Verdict>("verify", { ...known, challengeId, ...evidence, answer }, signal));
    if (verdict.status === "passed") return pass(verdict, skewMs);
    stepUp = verdict.stepUp;
    if (!stepUp) throw new AgentGateError("error");
  }
}

/** What is waited for later; until then its failure is not unhandled. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.then(undefined, () => 0);
  return promise;
}

/** What the page gets of it. */
export function resultOf({ token, expiresAt, decisionId }: Passed): Result {
  return bare({ token, expiresAt, decisionId });
}

/** Until the worker knows the graphics driver, but not for long. */
function rendererOf(crew: Crew): Promise<void> {
  return new Promise((resolve) => {
    if (!crew.facts || crew.renderer !== undefined) resolve();
    crew.onRenderer = resolve;
    setTimeout(resolve, RENDERER_MS);
  });
}

function pass({ token, expiresAt, decisionId, clearance }: Verdict, skewMs: number): Passed {
  if (typeof token !== "string" || typeof expiresAt !== "string") throw new AgentGateError("error");
  if (clearance) {
    const { name, value, expiresAt: end } = clearance;
    const age = Math.max(0, Math.round((Date.parse(end) + skewMs - Date.now()) / 1000));
    const secure = location.protocol === "https:" ? "; Secure" : "";
    const framed = window.top !== window.self ? "; Partitioned" : "";
    setCookie(`${name}=${value}; Path=/; SameSite=Lax; Max-Age=${age}${secure}${framed}`);
  }
  return { token, expiresAt, decisionId, untilMs: Date.parse(expiresAt) + skewMs };
}
