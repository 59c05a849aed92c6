/** One check from the first request to the token. What people see of it is the stage's business. */

import type { Mode, Result } from "../types/agentgate";
import { AgentGateError, asError } from "./errors";
import { loadEvidence } from "./evidence";
import type { Settings } from "./options";
import { setCookie } from "./page";
import { bare } from "./safe";
import type { Answer, Presses, StepUp, Verdict } from "./protocol";
import type { Draw, Probe } from "./probes/program";
import { openScope, type Scope } from "./scope";
import { loadPart, loadText, serviceUrl } from "./script";
import { getTask, post } from "./transport";
import { hire } from "./work/crew";

/** A challenge lives this long; from that and its expiry we know what time it is at the service. */
const CHALLENGE_MS = 300_000;
const VOUCH_MS = 1500;
const AGAIN = /^(challenge_expired|challenge_invalid|network|unavailable)$/;

export interface Stage {
  /** Told once it is known how much the site wants people to see. */
  learn?(mode: Mode | undefined): void;
  /** Show the check; resolves with the presses. Absent: nothing may be shown. */
  ask?(stepUp: StepUp, signal: AbortSignal): Promise<Presses>;
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
  const crew = hire();
  scope.onEnd(crew.end);
  const probing = handled(loadPart<Probe>("probes"));
  const watching = handled(loadEvidence());
  const { challenge, page, program } = await race(getTask({ ...known, widget }, signal));
  const { challengeId, expiresAt } = challenge;
  const skewMs = Date.now() - Date.parse(expiresAt) + CHALLENGE_MS;
  stage.learn?.(challenge.widget);
  const solved = handled(crew.solve(challenge.work));
  const outside = crew.run(program);
  const vouched = vouch(challenge.privateToken);
  const inside = handled(Promise.resolve().then(page));
  const answerProbes = async ({ probes: draw }: { readonly probes?: Draw }): Promise<unknown> =>
    draw && probing.then((probe) => probe(draw)).catch(() => undefined);
  const probed = answerProbes(challenge);
  const lastedMs = (): number => Math.round(performance.now() - startMs);
  // While the workers are at it, the page has nothing else to do.
  const readPage = async (): Promise<object> => (await watching).readSignals(crew, lastedMs());
  let reading = handled(probed.then(readPage));

  /** Ask a person; meanwhile the further work is done. */
  const ask = async (stepUp: StepUp): Promise<Answer> => {
    if (!stage.ask) throw new AgentGateError("canceled");
    const further = handled(solved.then(() => crew.solve(stepUp.work)));
    const again = answerProbes(stepUp);
    // What people do from here on is judged: it has to be seen.
    await race(watching);
    scope.limit(settings.checkTimeout);
    const presses = await race(stage.ask(stepUp, signal));
    scope.limit(settings.timeout);
    return { kind: stepUp.kind, ...presses, probes: await race(again), work: await race(further) };
  };

  let stepUp = challenge.show ? challenge.stepUp : undefined;
  for (;;) {
    const answer = stepUp && (await ask(stepUp));
    // What a person was asked for took time: the page is read anew.
    if (answer) reading = handled(readPage());
    const work = await race(solved);
    const instrument = { page: await race(inside), worker: await race(outside) };
    await race(vouched);
    const { sumInput } = await race(watching);
    // What the worker has said by now, too.
    const signals = { ...(await race(reading)), renderer: crew.renderer, worker: crew.facts, durationMs: lastedMs() };
    const evidence = { work, instrument, signals, probes: await race(probed), interaction: sumInput(), cData };
    const verdict = await race(post<Verdict>("verify", { ...known, challengeId, ...evidence, answer }, signal));
    if (verdict.status === "passed") return pass(verdict, skewMs);
    stepUp = verdict.stepUp;
    if (!stepUp) throw new AgentGateError("error");
  }
}

/** Have Apple's systems show a private token, where the site trusts an issuer. Nobody waits long for it. */
async function vouch(path: string | undefined): Promise<unknown> {
  if (!path || !/^Apple/.test(navigator.vendor)) return;
  return Promise.race([loadText(serviceUrl(path)), new Promise((resolve) => setTimeout(resolve, VOUCH_MS))]);
}

/** What is waited for later; until then its failure is not unhandled. */
export function handled<T>(promise: Promise<T>): Promise<T> {
  promise.then(undefined, () => 0);
  return promise;
}

/** What the page gets of it. */
export function resultOf({ token, expiresAt, decisionId }: Passed): Result {
  return bare({ token, expiresAt, decisionId });
}

function pass({ token, expiresAt, decisionId, clearance }: Verdict, skewMs: number): Passed {
  if (typeof token !== "string" || typeof expiresAt !== "string") throw new AgentGateError("error");
  if (clearance) {
    const { name, value, expiresAt: end } = clearance;
    const age = Math.round((Date.parse(end) + skewMs - Date.now()) / 1000);
    const secure = location.protocol === "https:" ? "; Secure" : "";
    const framed = window.top !== window.self ? "; Partitioned" : "";
    setCookie(`${name}=${value}; Path=/; SameSite=Lax; Max-Age=${age}${secure}${framed}`);
  }
  return { token, expiresAt, decisionId, untilMs: Date.parse(expiresAt) + skewMs };
}
