/** What was typed survives a reload and a session that ended: kept in this tab only, and dropped once it is sent. */

import { useEffect, useState } from "preact/hooks";

export function useDraft(name: string, initial: string): [string, (value: string) => void, () => void] {
  const place = `draft:${name}`;
  const [value, setValue] = useState(() => sessionStorage.getItem(place) ?? initial);
  useEffect(() => {
    if (value === initial) sessionStorage.removeItem(place);
    else sessionStorage.setItem(place, value);
  }, [value, initial, place]);
  const drop = () => {
    sessionStorage.removeItem(place);
    setValue(initial);
  };
  return [value, setValue, drop];
}
