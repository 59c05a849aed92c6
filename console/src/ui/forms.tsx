/** Forms in dialogs, and secrets that are shown once. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { messageOf } from "../api/client";
import { t } from "../lib/words";
import { Dialog } from "./dialogs";
import { CopyButton, Note } from "./parts";
import { toast, toastError } from "./toasts";

/** Does something, says that it was done, and reads the page anew. */
export function useAction(reload: () => void): (work: () => Promise<unknown>, done: string) => void {
  return (work, done) =>
    void work()
      .then(() => {
        toast(done);
        reload();
      })
      .catch(toastError);
}

/** Sends a form, once at a time. What the service refuses is `problem`, and nothing that was typed is lost. */
export function useSubmit(send: (form: FormData, element: HTMLFormElement) => Promise<unknown>) {
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (busy) return;
    const element = event.currentTarget as HTMLFormElement;
    setBusy(true);
    setProblem("");
    void send(new FormData(element), element)
      .catch((failure: unknown) => setProblem(messageOf(failure)))
      .finally(() => setBusy(false));
  };
  return { problem, busy, submit, clear: () => setProblem("") };
}

/** A form in a dialog. What the service refuses stands above its buttons, and nothing that was typed is lost. */
export function FormDialog({
  open,
  title,
  lead,
  action,
  bad,
  children,
  onSubmit,
  onClose,
}: {
  open: boolean;
  title: string;
  lead?: ComponentChildren;
  action: string;
  bad?: boolean;
  children: ComponentChildren;
  onSubmit: (form: FormData) => Promise<void>;
  onClose: () => void;
}) {
  const { problem, busy, submit, clear } = useSubmit(onSubmit);
  const close = () => {
    clear();
    onClose();
  };
  return (
    <Dialog open={open} onClose={close} label={title}>
      <form onSubmit={submit}>
        <header>
          <h2>{title}</h2>
          {lead && <p>{lead}</p>}
        </header>
        <div class="in stack">
          {children}
          {problem && (
            <div role="alert">
              <Note tone="block">{problem}</Note>
            </div>
          )}
        </div>
        <footer>
          <button type="button" class="btn" onClick={close}>
            {t("form.cancel")}
          </button>
          <button class={bad ? "btn bad" : "btn main"} aria-busy={busy}>
            {action}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

/** A field to choose one of several. */
export function Select({
  id,
  label,
  help,
  value,
  options,
  onChange,
}: {
  id: string;
  label: string;
  help?: string;
  value?: string;
  options: { value: string; label: string }[];
  onChange?: (value: string) => void;
}) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        name={id}
        value={value}
        onChange={(event) => onChange?.(event.currentTarget.value)}
        aria-describedby={help ? `${id}-h` : undefined}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value} selected={option.value === value}>
            {option.label}
          </option>
        ))}
      </select>
      {help && (
        <p class="help" id={`${id}-h`}>
          {help}
        </p>
      )}
    </div>
  );
}

/** A secret or a link, shown once. */
export function Secret({
  text,
  label,
  note,
  onDone,
}: {
  text: string;
  label: string;
  note: string;
  onDone: () => void;
}) {
  return (
    <section class="card" aria-label={label}>
      <div class="in stack">
        <div class="row apart">
          <h2>{label}</h2>
          <span class="tag" data-o="challenge">
            {t("secret.once")}
          </span>
        </div>
        <div class="secret">
          <code>{text}</code>
          <CopyButton text={text} />
        </div>
        <div class="row apart">
          <p class="soft s">{note}</p>
          <button class="btn" onClick={onDone}>
            {t("secret.kept")}
          </button>
        </div>
      </div>
    </section>
  );
}

/** A switch with its words beside it. */
export function Toggle({
  checked,
  label,
  onChange,
  disabled,
}: {
  checked: boolean;
  label: ComponentChildren;
  onChange: (checked: boolean) => void;
  disabled?: boolean;
}) {
  return (
    <label class="toggle">
      <input
        type="checkbox"
        role="switch"
        checked={checked}
        disabled={disabled}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      {label}
    </label>
  );
}
