/** Keys of the page. One listener; pages add rows for as long as they are shown. Not while somebody types. */

import { useEffect, useRef } from "preact/hooks";
import { signal } from "@preact/signals";
import { settings } from "./settings";

export interface Key {
  /** As pressed: `j`, `?`, `Escape`; `g d` for one after the other. */
  key: string;
  /** What it does, for the sheet. Without it the key is not listed. */
  help?: string;
  run: (event: KeyboardEvent) => void;
}

const stack = signal<Key[][]>([]);
export const known = () => stack.value.flat().filter(({ help }) => help);
let before = "";
let beforeAt = 0;
const TOGETHER_MS = 1200;

/** Adds the keys of a part of the page; what was added last is asked first. */
export function useKeys(keys: Key[]): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const rows = latest.current.map((row, index): Key => ({
      ...row,
      run: (event) => latest.current[index]?.run(event),
    }));
    stack.value = [...stack.value, rows];
    return () => {
      stack.value = stack.value.filter((each) => each !== rows);
    };
  }, [keys.map(({ key }) => key).join()]);
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

function find(pressed: string): Key | undefined {
  const rows = [...stack.value].reverse();
  return rows.flatMap((each) => each).find(({ key }) => key === pressed);
}

export function listen(openPalette: () => void): void {
  document.addEventListener("keydown", (event) => {
    if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      openPalette();
      return;
    }
    if (event.metaKey || event.ctrlKey || event.altKey || event.isComposing) return;
    const radio = event.target instanceof HTMLInputElement && event.target.type === "radio";
    if (isTyping(event.target) && !(event.key === "Escape") && !radio) return;
    if (radio && event.key.startsWith("Arrow")) return;
    if (document.querySelector("dialog[open]")) return;
    if (!settings.value.keys && event.key !== "Escape") return;
    const pressed = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const pair = Date.now() - beforeAt < TOGETHER_MS && before ? `${before} ${pressed}` : "";
    const row = (pair && find(pair)) || find(pressed);
    before = row && row.key === pressed ? "" : pressed;
    beforeAt = Date.now();
    if (row) {
      if (row.key !== "Escape") event.preventDefault();
      row.run(event);
    }
  });
}
