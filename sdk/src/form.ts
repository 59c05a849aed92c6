/**
 * A form that is sent before there is a token, with one that was sent before, or with one that is older than what was
 * filled in, is held back until there is a new one.
 */

import { isLate } from "./evidence";
import { listen } from "./page";

/** How long a held form waits after `rate_limited` without a Retry-After. */
const WAIT_S = 5;

export interface Guarded {
  given: boolean;
  isReady(): boolean;
  execute(): Promise<unknown>;
  reset(): void;
}

/** Guard a form, which has the token under a name; gives back what ends it. */
export function guardForm(form: HTMLFormElement, widget: Guarded, name: string): (() => void)[] {
  let held = false;
  // A check that fails does not keep the form: the site's server decides, and nothing that was typed is lost.
  let free = false;
  const hold = (event: Event): void => {
    if (event.defaultPrevented || event.target !== form) return;
    const late = isLate();
    if (free || (widget.isReady() && !late)) {
      widget.given = true;
      free = false;
      return;
    }
    event.preventDefault();
    event.stopImmediatePropagation();
    if (held) return;
    held = true;
    // The input since then is evidence too. Where the check fails, the form has no token.
    if (widget.isReady()) widget.reset();
    const submitter = (event as SubmitEvent).submitter as HTMLElement | null;
    const go = (): void => {
      held = false;
      free = true;
      if (form.isConnected) submit(form, submitter);
      free = false;
    };
    const check = (mayWait: boolean): void => {
      widget.execute().then(
        () => {
          // It is handed to the form now, not to somebody else before.
          widget.given = false;
          go();
        },
        (error: { code?: string; retryAfter?: number }) => {
          // A person who closed the check does not want to send.
          if (error.code === "canceled") held = false;
          else if (mayWait && error.code === "rate_limited") {
            setTimeout(check, (error.retryAfter || WAIT_S) * 1000 + 100, false);
          } else go();
        },
      );
    };
    check(true);
  };
  // A script that sends the form without a submit sends no token of before it filled the form in.
  const strip = (event: Event): void => {
    if (isLate() > 1) (event as FormDataEvent).formData.delete(name);
  };
  return [listen(form, "submit", hold), listen(form, "formdata", strip)];
}

/**
 * Send the form as the person did. Fields may be called `submit` or `requestSubmit`, so its own properties are not
 * used.
 */
function submit(form: HTMLFormElement, submitter: HTMLElement | null): void {
  const { requestSubmit, submit: send } = HTMLFormElement.prototype;
  const button = submitter?.isConnected ? submitter : null;
  if (requestSubmit) requestSubmit.call(form, button);
  else if (button) button.click();
  else send.call(form);
}
