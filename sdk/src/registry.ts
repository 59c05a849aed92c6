/** All widgets of the page: how they are found, made and taken away. */

import type { Target } from "../types/agentgate";
import { AgentGateError } from "./errors";
import { type Given, settle } from "./options";
import { callBack, declared, listen } from "./page";
import { bare, ofDocument } from "./safe";
import { makeWidget, type Place, type Widget } from "./widget";

const widgets: Widget[] = [];
let made = 0;

function keep(test: (widget: Widget) => boolean): void {
  let kept = 0;
  for (let i = 0; i < widgets.length; i++) {
    const widget = widgets[i] as Widget;
    if (test(widget)) widgets[kept++] = widget;
    else widget.remove();
  }
  widgets.length = kept;
}

function elementOf(target: Target): HTMLElement {
  const { querySelector } = Document.prototype;
  const found = typeof target === "string" ? querySelector.call(document, target) : target;
  if (!(found instanceof HTMLElement)) throw new AgentGateError("error", { message: `There is no element ${target}.` });
  return found;
}

/** The widget of an ID, an element or a selector; without one, the first. */
export function find(target?: Target): Widget | undefined {
  if (target === undefined) return widgets[0];
  for (let i = 0; i < widgets.length; i++) {
    const widget = widgets[i] as Widget;
    if (widget.id === target || widget.element === target) return widget;
  }
  if (typeof target !== "string") return undefined;
  try {
    return find(elementOf(target));
  } catch {
    return undefined;
  }
}

/** Make the widget of an element in place of the one it has. */
export function add(place: Place, ...options: readonly (Given | DOMStringMap | undefined)[]): Widget {
  const settings = settle(...options);
  keep((widget) => widget.element !== place.element);
  return (widgets[widgets.length] = makeWidget(`agentgate-${++made}`, settings, place));
}

export function render(target: Target, options?: Given): string {
  const element = elementOf(target);
  return add({ element, parent: element }, element.dataset, options).id;
}

export function remove(target?: Target): void {
  const gone = find(target);
  keep((widget) => widget !== gone);
}

/** Elements that were declared and are not rendered yet; widgets whose element has left the page. */
function sweep(declarative: boolean): void {
  keep((widget) => widget.attach());
  for (let i = 0; declarative && i < declared.length; i++) {
    const element = declared[i] as HTMLElement;
    // One element's mistake is told, and is not the next one's.
    if (element.dataset?.sitekey && !find(element)) callBack(render, element);
  }
}

/** Watch the page for elements that come and go, as in single-page applications. */
export function watch(declarative: boolean): void {
  let due = false;
  const later = (): void => {
    if (due) return;
    due = true;
    // A moved element leaves and comes back in one go; by then it is back.
    setTimeout(() => {
      due = false;
      sweep(declarative);
    });
  };
  new MutationObserver(later).observe(ofDocument("documentElement"), bare({ childList: true, subtree: true }));
  const look = (): void => {
    for (let i = 0; i < widgets.length; i++) (widgets[i] as Widget).look();
  };
  listen(document, "visibilitychange", look);
  listen(window, "pageshow", look);
  sweep(declarative);
}
