/** The widget as people see it: a status with an icon, and the check with its button. Built of native elements only. */

import type { AgentGateError, State } from "../../types/agentgate";
import { listen, make } from "../page";
import type { Presses, StepUp } from "../protocol";
import { bare, ofDocument } from "../safe";
import type { View, ViewSettings } from "../ui";
import { watchPresses } from "./presses";
import { choosePack, ENGLISH, loadStrings, quote, RIGHT_TO_LEFT, type Strings, type Word } from "./strings";
import { applyStyle, tint } from "./style";

const SHIELD = "M12 3l7.5 3v5.5c0 4.6-3.1 8-7.5 9.5-4.4-1.5-7.5-4.9-7.5-9.5V6zM8.8 12l2.3 2.3 4.1-4.4";
const WARNING = "M12 7.5v5M12 16v.5M12 3a9 9 0 1 0 .1 0";
const ICONS: Partial<Record<State | "canceled", string>> = bare({
  checking: "M12 3a9 9 0 1 0 9 9",
  verified: "M4 12.5l5 5L20 6.5",
  failed: WARNING,
  expired: WARNING,
});
/** So long nothing is seen, rather than words whose language changes under the reader's eyes; pressed it can be. */
const PATIENCE_MS = 150;

function add<K extends keyof HTMLElementTagNameMap>(parent: Node, name: K, className = ""): HTMLElementTagNameMap[K] {
  const element = make(name);
  if (className) element.className = className;
  parent.appendChild(element);
  return element;
}

function addButton(parent: Node, className: string, press?: () => void): HTMLButtonElement {
  const button = add(parent, "button", className);
  button.type = "button";
  if (press) listen(button, "click", press);
  return button;
}

function drawIcon(path: string): SVGElement {
  const space = "http://www.w3.org/2000/svg";
  const { createElementNS } = Document.prototype;
  const svg = createElementNS.call(document, space, "svg") as SVGElement;
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.appendChild(createElementNS.call(document, space, "path")).setAttribute("d", path);
  return svg;
}

function deepFocus(): Element | null {
  let active = ofDocument("activeElement");
  while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
  return active;
}

export function mount(parent: Node, { theme, size, accent, language, packs, overlay, nonce }: ViewSettings): View {
  const code = choosePack(language);
  const host = add(parent, "div");
  const root = host.attachShadow(bare({ mode: "open" }));
  const layer = overlay ? add(root, "dialog") : undefined;
  const box = add(layer ?? root, "div");
  const row = add(box, "div", "row");
  const status = add(row, "p");
  const body = add(box, "div");
  const restyle = applyStyle(root, nonce);
  let strings: Strings | undefined;
  let write: (strings: Strings) => void = () => 0;
  let finish: ((presses?: Presses) => void) | undefined;
  let button: HTMLButtonElement | undefined;

  /** Write the words of what is shown; called again when the language has arrived. */
  const speak = (known: Strings): void => {
    strings = known;
    box.style.opacity = "";
    box.setAttribute("aria-label", known.title);
    write(known);
    restyle?.();
  };

  const say = (writer: (strings: Strings) => void): void => {
    write = writer;
    if (strings) speak(strings);
  };

  const clear = (state: State | "canceled"): void => {
    // What has the focus is taken away: the next press of Tab goes on from here.
    if (root.activeElement) box.focus();
    button = undefined;
    box.className = `box ${theme === "dark" || theme === "light" ? theme : "auto"} ${size ?? ""} ${state}`;
    while (body.firstChild) body.removeChild(body.firstChild);
    if (status.previousSibling) row.removeChild(status.previousSibling);
    const path = ICONS[state];
    if (path) row.insertBefore(drawIcon(path), status);
    tint(box, accent);
  };

  /** A question that opens its answer. */
  const addMore = (foot: Node, question: Word, answer: Word, decisionId?: string): ((strings: Strings) => void) => {
    const details = add(foot, "details");
    const summary = add(details, "summary");
    const text = add(details, "p", "help");
    return (known) => {
      summary.textContent = known[question];
      text.textContent = known[answer] + (decisionId ? " " + quote(known, decisionId) : "");
    };
  };

  /** Help for those who cannot go on. The number leads the site's owner to the decision. */
  const addTrouble = (foot: Node, decisionId?: string): ((strings: Strings) => void) =>
    addMore(foot, "trouble", "help", decisionId);

  const show = (state: State, error?: AgentGateError, retry?: () => void): void => {
    // The check has put itself there already.
    if (state === "interactive") return;
    finish?.();
    const failed = state === "failed";
    const code = failed && error!.code;
    // Closed by the person: nothing has gone wrong, so nothing warns.
    const seen = code === "canceled" ? code : state;
    clear(seen);
    const word: Word = seen === "failed" && code !== "challenge_failed" ? "offline" : (seen as Word);
    const again = retry && (failed || state === "expired") ? addButton(body, "main", retry) : undefined;
    const help = failed && addTrouble(add(body, "div", "foot"), error!.decisionId);
    button = again;
    say((known) => {
      status.textContent = known[word] ?? "";
      if (again) again.textContent = known.retry;
      if (help) help(known);
    });
  };

  const build = (stepUp: StepUp, done: (presses?: Presses) => void): (() => void) => {
    const head = add(body, "div", "head");
    head.appendChild(drawIcon(SHIELD));
    const title = add(head, "p", "name");
    const lead = add(body, "p", "lead");
    const hint = add(body, "p", "hint");
    const field = add(body, "div", "field");
    const press = (button = addButton(field, "press"));
    press.appendChild(drawIcon(ICONS.verified!));
    add(press, "i");
    press.style.setProperty("--wait", `${stepUp.waitMs}ms`);
    const foot = add(body, "div", "foot");
    const why = addMore(foot, "why", stepUp.assistant ? "assistant" : "reason");
    if (stepUp.assistant) (foot.firstChild as HTMLDetailsElement).open = true;
    const help = addTrouble(foot);
    const cancel = addButton(foot, "", () => done());
    /** The free width and height: what is left of the field beside the button. */
    const free = (): [number, number] => [
      field.clientWidth - press.offsetWidth,
      field.clientHeight - press.offsetHeight,
    ];
    const put = (at: number): void => {
      const [x, y] = stepUp.places[at] ?? [50, 50];
      // By shares, so that the button stays in its place when the field changes its size.
      press.style.setProperty("inset-inline-start", `calc(${x} * (100% - var(--s)) / 100)`);
      press.style.setProperty("inset-block-start", `calc(${y} * (100% - var(--s)) / 100)`);
    };
    const tell = (word: Word): void =>
      say((known) => {
        // Heard, not seen: what the button says changes without the focus moving.
        status.textContent = known[word];
        title.textContent = known.title;
        // What is seen stays: a line more or less would move the button under somebody's hand.
        lead.textContent = known.confirm;
        press.setAttribute("aria-label", known[word]);
        hint.textContent = known.hint;
        cancel.textContent = known.cancel;
        why(known);
        help(known);
      });
    const end = watchPresses(press, stepUp, {
      waiting(waiting, at) {
        press.setAttribute("aria-disabled", `${waiting}`);
        put(at);
        tell(waiting ? "wait" : "continue");
      },
      done: (steps) => done({ steps, field: free() }),
    });
    put(0);
    tell("confirm");
    return end;
  };

  const ask = (stepUp: StepUp, focus: boolean): Promise<Presses | undefined> =>
    new Promise((resolve) => {
      const before = deepFocus();
      const { offsetHeight } = host;
      clear("interactive");
      let end: () => void = () => 0;
      finish = (presses) => {
        finish = undefined;
        end();
        const had = root.activeElement;
        clear("idle");
        layer?.close?.();
        // Back to where it was, unless the person has gone elsewhere meanwhile.
        if (had && before instanceof HTMLElement) before.focus();
        resolve(presses);
      };
      end = build(stepUp, finish);
      if (!layer) {
        // Over the page, in the place that was taken already: what somebody is about to press stays where it is. In the
        // page's flow only where an element of the page would cut it off.
        host.style.cssText = `position:relative;min-height:${offsetHeight}px`;
        box.className += " open";
        const { bottom } = box.getBoundingClientRect();
        for (let node: Element | null = host; (node = node.parentElement);) {
          const isCut = getComputedStyle(node).overflowY === "hidden" && node.getBoundingClientRect().bottom < bottom;
          if (isCut) box.classList.remove("open");
        }
      }
      if (layer?.showModal) layer.showModal();
      else layer?.setAttribute("open", "");
      if (focus) {
        button!.focus();
        // Somebody waits for it: all of it has to be seen. For the focus, Firefox scrolls only to what is quite hidden.
        box.scrollIntoView({ block: "nearest" });
      }
    });

  box.lang = code;
  box.dir = RIGHT_TO_LEFT.test(code) ? "rtl" : "ltr";
  box.tabIndex = -1;
  box.style.opacity = "0";
  box.setAttribute("part", "box");
  box.setAttribute("role", "group");
  status.setAttribute("role", "status");
  clear("idle");
  listen(box, "keydown", (event) => {
    if ((event as KeyboardEvent).key !== "Escape" || !finish) return;
    event.preventDefault();
    event.stopPropagation();
    finish();
  });
  // The ways to close a dialog that are not a key, such as a gesture.
  if (layer) listen(layer, "cancel", () => finish?.());
  setTimeout(() => speak(strings ?? ENGLISH), PATIENCE_MS);
  void loadStrings(packs, code).then(speak);
  return {
    show,
    ask,
    focus: () => button?.focus(),
    remove() {
      finish?.();
      host.remove();
    },
  };
}
