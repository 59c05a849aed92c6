/** Toasts with undo, and the page's one live region. */

import { signal } from "@preact/signals";
import { messageOf } from "../api/client";
import { useKeys } from "../lib/keys";
import { t } from "../lib/words";

interface Toast {
  id: number;
  text: string;
  undo?: () => void;
}

const SHOWN_MS = 8000;
const toasts = signal<Toast[]>([]);
const status = signal("");
let next = 1;

export function toast(text: string, undo?: () => void): void {
  const made: Toast = { id: next++, text, undo };
  toasts.value = [...toasts.value.slice(-2), made];
  setTimeout(() => drop(made.id), SHOWN_MS);
}

/** Says a failure in the API's own words. */
export function toastError(failure: unknown): void {
  toast(messageOf(failure));
}

/** Tells a screen reader. */
export function announce(text: string): void {
  status.value = text;
}

function drop(id: number): void {
  toasts.value = toasts.value.filter((each) => each.id !== id);
}

function undo(each: Toast): void {
  drop(each.id);
  each.undo?.();
}

export function Toasts() {
  useKeys([
    {
      key: "z",
      help: t("keys.undo"),
      run: () => {
        const last = toasts.value.findLast((each) => each.undo);
        if (last) undo(last);
      },
    },
  ]);
  return (
    <>
      <div class="vh" role="status">
        {status.value}
      </div>
      <div class="toasts" role="region" aria-label={t("toasts.label")}>
        {toasts.value.map((each) => (
          <div class="toast" role="status" key={each.id}>
            <span>{each.text}</span>
            {each.undo ? (
              <button onClick={() => undo(each)}>
                {t("toasts.undo")} <kbd>Z</kbd>
              </button>
            ) : (
              <button onClick={() => drop(each.id)}>{t("toasts.close")}</button>
            )}
          </div>
        ))}
      </div>
    </>
  );
}
