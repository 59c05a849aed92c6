/** Something that is edited in place: what is typed survives a reload, and is dropped once it is saved. */

import { useState } from "preact/hooks";

export function useEdited<T>(
  name: string,
  loaded: T | undefined,
): { value: T | undefined; dirty: boolean; set: (value: T) => void; drop: () => void } {
  const place = `draft:${name}`;
  const [kept, setKept] = useState<T | undefined>(() => {
    const text = sessionStorage.getItem(place);
    return text === null ? undefined : (JSON.parse(text) as T);
  });
  const set = (value: T) => {
    sessionStorage.setItem(place, JSON.stringify(value));
    setKept(value);
  };
  const drop = () => {
    sessionStorage.removeItem(place);
    setKept(undefined);
  };
  const dirty = kept !== undefined && loaded !== undefined && JSON.stringify(kept) !== JSON.stringify(loaded);
  return { value: kept ?? loaded, dirty, set, drop };
}
