/** Native dialogs: focus trap, Esc and the return of focus come from the browser. */

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { t } from "../lib/words";

export function Dialog({
  open,
  onClose,
  label,
  className,
  children,
}: {
  open: boolean;
  onClose: () => void;
  label: string;
  className?: string;
  children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  // Before the next paint: what is typed right after the key that opens it belongs into it.
  useLayoutEffect(() => {
    const element = dialog.current;
    if (!element) return;
    if (open && !element.open) element.showModal();
    if (!open && element.open) element.close();
  }, [open]);
  return (
    <dialog
      ref={dialog}
      class={className}
      aria-label={label}
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      {open && children}
    </dialog>
  );
}

/** Asks before what cannot be undone. With `word`, it has to be typed. The safe button is first and has the focus. */
export function Confirm({
  open,
  title,
  children,
  word,
  action,
  good,
  onConfirm,
  onClose,
}: {
  open: boolean;
  title: string;
  children: ComponentChildren;
  word?: string;
  action: string;
  /** What is confirmed destroys nothing. */
  good?: boolean;
  onConfirm: () => void;
  onClose: () => void;
}) {
  const [typed, setTyped] = useState("");
  const ready = !word || typed.trim() === word;
  return (
    <Dialog open={open} onClose={onClose} label={title}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          if (ready) onConfirm();
        }}
      >
        <header>
          <h2>{title}</h2>
          <p>{children}</p>
        </header>
        {word && (
          <div class="in">
            <div class="field">
              <label for="confirm-word">{t("confirm.type", { word })}</label>
              <input
                id="confirm-word"
                type="text"
                value={typed}
                autocomplete="off"
                onInput={(event) => setTyped(event.currentTarget.value)}
              />
            </div>
          </div>
        )}
        <footer>
          <button type="button" class="btn" onClick={onClose} autofocus>
            {t("confirm.keep")}
          </button>
          <button class={good ? "btn main" : "btn bad"} aria-disabled={ready ? undefined : "true"}>
            {action}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
