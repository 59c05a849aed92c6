/**
 * The life of one check: whatever it waits for, it ends when it is stopped, when its time is up, or when it is done.
 */

import { AgentGateError } from "./errors";
import { listen } from "./page";

export interface Scope {
  readonly signal: AbortSignal;
  /** From now on there is so much time. */
  limit(timeMs: number): void;
  /** Wait for something, but no longer than the check lives. */
  race<T>(promise: Promise<T>): Promise<T>;
  /** Do something at the end; at once when that is past. */
  onEnd(ender: () => void): void;
  end(): void;
}

export function openScope(...outer: (AbortSignal | undefined)[]): Scope {
  const controller = new AbortController();
  const enders = [() => controller.abort()];
  let over = false;
  let timer: ReturnType<typeof setTimeout>;
  let refuse: (reason: AgentGateError) => void;
  const stopped = new Promise<never>((_, reject) => {
    refuse = reject;
  });
  // Being stopped while nothing waits is no unhandled error.
  stopped.then(undefined, () => 0);

  const end = (): void => {
    if (over) return;
    over = true;
    clearTimeout(timer);
    for (const ender of enders) ender();
  };
  const onEnd = (ender: () => void): void => {
    if (over) ender();
    else enders[enders.length] = ender;
  };
  const stop = (code: string): void => {
    refuse(new AgentGateError(code));
    end();
  };
  for (const signal of outer) {
    if (signal?.aborted) stop("aborted");
    else if (signal) onEnd(listen(signal, "abort", () => stop("aborted")));
  }
  return {
    signal: controller.signal,
    limit(timeMs) {
      clearTimeout(timer);
      if (!over) timer = setTimeout(() => stop("timeout"), timeMs);
    },
    race: (promise) =>
      new Promise((resolve, reject) => {
        // Being stopped has the first word: what fails because of it fails later.
        stopped.then(undefined, reject);
        promise.then(resolve, reject);
      }),
    onEnd,
    end,
  };
}
