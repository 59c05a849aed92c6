/**
 * The page's state in its address: every filter, range, sort and open detail. Back works, a copied link shows the same.
 */

import { useLocation } from "preact-iso";
import { useCallback } from "preact/hooks";

export type Params = Record<string, string>;

export function useParams(): [Params, (change: Record<string, string | undefined>, replace?: boolean) => void] {
  const { query, path, route } = useLocation();
  const set = useCallback(
    (change: Record<string, string | undefined>, replace = false) => {
      // From the address itself: two changes in one turn must not undo each other.
      const next = new URLSearchParams(location.search);
      for (const [name, value] of Object.entries(change)) {
        if (value === undefined || value === "") next.delete(name);
        else next.set(name, value);
      }
      const text = next.toString();
      route(`${location.pathname}${text ? `?${text}` : ""}`, replace);
    },
    [path, route],
  );
  return [query as Params, set];
}
