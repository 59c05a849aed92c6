/** Reading from the API in a component: old data stays while new data comes, a stale answer is never shown. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../api/client";

const AGAIN_MS = 5000;

export interface Loaded<T> {
  data: T | undefined;
  error: ApiError | undefined;
  /** Reading now. With `data` there, it is what was read before. */
  loading: boolean;
  reload: () => void;
  set: (data: T) => void;
}

/** Reads when `key` changes; null reads nothing. */
export function useQuery<T>(key: string | null, read: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<{ data?: T; error?: ApiError; loading: boolean }>({ loading: key !== null });
  const [turn, setTurn] = useState(0);
  const latest = useRef(read);
  latest.current = read;
  useEffect(() => {
    if (key === null) return;
    const controller = new AbortController();
    setState((before) => ({ ...before, loading: true }));
    latest
      .current(controller.signal)
      .then((data) => !controller.signal.aborted && setState({ data, loading: false }))
      .catch((failure: unknown) => {
        if (controller.signal.aborted) return;
        const error = failure instanceof ApiError ? failure : new ApiError(0, "bug", String(failure));
        setState((before) => ({ data: before.data as T, error, loading: false }));
      });
    return () => controller.abort();
  }, [key, turn]);
  const isAway = state.error !== undefined && (state.error.status === 0 || state.error.status >= 500);
  // The page recovers without a reload once the service answers again.
  useEffect(() => {
    if (!isAway) return;
    const timer = setTimeout(() => setTurn((before) => before + 1), AGAIN_MS);
    return () => clearTimeout(timer);
  }, [isAway, state.error]);
  const reload = useCallback(() => setTurn((before) => before + 1), []);
  const set = useCallback((data: T) => setState({ data, loading: false }), []);
  return { data: state.data, error: state.error, loading: state.loading, reload, set };
}

/** Calls again and again while the page is looked at. */
export function useEvery(milliseconds: number | null, work: () => void): void {
  const latest = useRef(work);
  latest.current = work;
  useEffect(() => {
    if (milliseconds === null) return;
    const timer = setInterval(() => document.visibilityState === "visible" && latest.current(), milliseconds);
    return () => clearInterval(timer);
  }, [milliseconds]);
}
