// The widgets of a page that was written for another service: its options in, its fields and callbacks out.
// Everything is done through the public API of `window.agentgate`. Functions and no class: names of methods are not
// shortened, and this file is loaded by every such page.

import type { AgentGate, Options as OwnOptions } from "../../types/agentgate";
import { address } from "../script";

/** Options of another service, by the names that its attributes have without `data-`. */
export type Options = Record<string, unknown>;

/** What names a widget: its own name, the element it was rendered into, or a selector of that. */
export type Reference = string | number | HTMLElement;

/** What is peculiar to one service. */
export interface Dialect {
  /** The hidden fields that carry the token. */
  fields: readonly string[];
  /** What the names of widgets begin with; they are plain numbers without it. */
  prefix?: string;
  /** Whether a widget of size `invisible` waits for `execute`. */
  invisibleWaits?: boolean;
  /** What a widget that people see tells the service about itself. */
  cData?: string;
  /** The address that the frame of the service's dialog contains, which some wrappers look for. */
  frame?: string;
  /** What the service calls an error; the name it has here otherwise. */
  codeOf?(code: string): string;
}

export interface Widget {
  name: Reference;
  id: string;
  element: HTMLElement;
  options: Options;
  /** Whether the check waits for `execute`. */
  waits: boolean;
  fields: HTMLInputElement[];
  token: string;
  dialog?: HTMLElement;
  failing?: boolean;
}

/** How the site keys begin that the services' documentation gives for tests, and ours for the same. */
const TEST_KEYS: readonly (readonly [RegExp, string])[] = [
  [/^(1x0{9}|6LeIxAcTAAAAAJc|[1-3]0{7}-ffff)/, "always_pass"],
  [/^2x0{9}/, "always_fail"],
  [/^3x0{9}/, "interactive"],
];

const widgets: Widget[] = [];
let count = 0;

export const { query, vendor } = address;

/** The SDK, which has loaded this file. */
export const gate = (): AgentGate => window.agentgate as AgentGate;

/** Calls what the page gave for an event: a function, or the name of a global one. */
export function call(options: Options, name: string, ...values: unknown[]): void {
  const given = options[name];
  const found = typeof given === "string" ? (window as unknown as Options)[given] : given;
  if (typeof found === "function") found(...values);
}

/** Which site and action are checked. An action of another service may have capitals and dashes; ours has neither. */
export function subject(sitekey: unknown, action: unknown): Pick<OwnOptions, "sitekey" | "action"> {
  const given = String(sitekey);
  const testKey = TEST_KEYS.find(([pattern]) => pattern.test(given));
  return {
    sitekey: testKey ? "site_test_" + testKey[1] : given,
    // A site without actions of its own has this one.
    action: String(action || query.get("action") || "submit")
      .toLowerCase()
      .replace(/\W/g, "_"),
  };
}

/** The widget that is meant; without a reference the first that is still in the page. */
export function find(reference?: Reference): Widget | undefined {
  const element = elementOf(reference);
  return widgets.find((widget) =>
    reference === undefined ? widget.element.isConnected : reference === widget.name || element === widget.element,
  );
}

/**
 * Puts a widget into an element, or behind a button, whose click then runs the check. With options alone it has a place
 * of its own: version 3 of reCAPTCHA shows no more than a badge.
 */
export function render(dialect: Dialect, container: Reference | Options, given?: Options): Reference {
  if (typeof container === "object" && !(container instanceof HTMLElement)) {
    given = container;
    document.body.append((container = document.createElement("div")));
  }
  const element = elementOf(container);
  if (!element) throw new Error("No such element");
  const options: Options = { ...attributes(element), ...given };
  const isButton = element.matches("button,input");
  // Nothing can be shown inside a button.
  const host = isButton ? document.createElement("div") : element;
  if (isButton) element.after(host);
  const widget: Widget = {
    name: dialect.prefix ? dialect.prefix + count : count,
    id: "",
    element,
    options,
    waits: isButton || options["execution"] === "execute" || (!!dialect.invisibleWaits && isInvisible(options)),
    fields: addFields(dialect, host, options),
    token: "",
  };
  count++;
  widgets.push(widget);
  if (dialect.frame && widget.waits) widget.dialog = addDialog(dialect.frame);
  widget.id = start(dialect, host, widget);
  if (isButton) {
    element.addEventListener("click", (event) => {
      event.preventDefault();
      execute(widget);
    });
  }
  return widget.name;
}

/** Runs the check. The page's callbacks are called in any case; the promise is for those who wait. */
export function execute(widget: Widget): Promise<string> {
  const token = gate()
    .execute(widget.id)
    .then((result) => result.token);
  // Whoever does not look at the promise hears of a failure through the callback.
  token.catch(() => 0);
  return token;
}

export function reset(widget: Widget): void {
  fill(widget, "");
  // Some wrappers reset from within the error callback. Starting again there would never end.
  if (!widget.failing) gate().reset(widget.id);
}

export function remove(widget: Widget): void {
  gate().remove(widget.id);
  widget.dialog?.remove();
  for (const field of widget.fields) field.remove();
  widgets.splice(widgets.indexOf(widget), 1);
}

function addFields(dialect: Dialect, host: HTMLElement, options: Options): HTMLInputElement[] {
  if (String(options["response-field"]) === "false") return [];
  const own = options["response-field-name"] as string | undefined;
  return (own ? [own] : dialect.fields).map((name) => {
    const field = document.createElement("input");
    field.type = "hidden";
    field.name = name;
    host.append(field);
    return field;
  });
}

/** Adds the elements of a vendor's dialog, never visible: a frame that loads nothing, and its two boxes. */
function addDialog(address: string): HTMLElement {
  const dialog = document.createElement("div");
  const frame = document.createElement("iframe");
  frame.src = "about:blank#" + address;
  dialog.hidden = true;
  dialog.style.opacity = "0";
  dialog.append(document.createElement("div"));
  dialog.firstElementChild!.append(frame);
  document.body.append(dialog);
  return dialog;
}

function start(dialect: Dialect, host: HTMLElement, widget: Widget): string {
  const { options, waits } = widget;
  const hidden = waits || isInvisible(options) || options["appearance"] === "interaction-only";
  return gate().render(host, {
    ...passedOn(options),
    ...subject(options["sitekey"], options["action"]),
    mode: hidden ? "invisible" : "managed",
    ...(!hidden && dialect.cData && { cData: dialect.cData }),
    execution: waits ? "execute" : "render",
    refreshExpired: waits || (options["refresh-expired"] || "auto") !== "auto" ? "never" : "auto",
    responseField: false,
    // Their elements have events of their own, some by the same names.
    events: false,
    // Their widgets never hold a form back, and pages have their own ways with one that is sent too early.
    holdSubmit: false,
    callback: (token) => {
      fill(widget, token);
      call(options, "callback", token);
    },
    expiredCallback: () => {
      fill(widget, "");
      call(options, "expired-callback");
    },
    errorCallback: (error) => {
      fill(widget, "");
      widget.failing = true;
      if (error.code === "canceled") call(options, "close-callback");
      call(options, "error-callback", dialect.codeOf?.(error.code) ?? error.code);
      widget.failing = false;
    },
    timeoutCallback: () => {
      call(options, "timeout-callback");
    },
    beforeInteractiveCallback: () => {
      if (widget.dialog) widget.dialog.style.opacity = "1";
      call(options, "before-interactive-callback");
      call(options, "open-callback");
    },
    afterInteractiveCallback: () => {
      if (widget.dialog) widget.dialog.style.opacity = "0";
      call(options, "after-interactive-callback");
    },
  });
}

const isInvisible = (options: Options): boolean => options["size"] === "invisible";

function fill(widget: Widget, token: string): void {
  widget.token = token;
  for (const field of widget.fields) field.value = token;
}

/** What means the same here as there. */
function passedOn(options: Options): Partial<OwnOptions> {
  const named: Options = {
    theme: options["theme"],
    size: options["size"] === "compact" && "compact",
    language: options["language"] || options["hl"] || query.get("hl"),
    cData: options["cData"] || options["cdata"],
    retry: options["retry"],
  };
  for (const name in named) if (!named[name]) delete named[name];
  return named as Partial<OwnOptions>;
}

function elementOf(reference?: Reference): HTMLElement | null | undefined {
  if (typeof reference !== "string") return typeof reference === "number" ? null : reference;
  try {
    return document.getElementById(reference) || document.querySelector<HTMLElement>(reference);
  } catch {
    // Not a selector, so it names nothing here.
    return null;
  }
}

function attributes(element: HTMLElement): Options {
  const options: Options = {};
  for (const { name, value } of element.attributes) {
    if (name.startsWith("data-")) options[name.slice(5)] = value;
  }
  return options;
}
