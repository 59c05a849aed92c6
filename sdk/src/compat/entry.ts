// compat.js: makes a page that was written for Turnstile, reCAPTCHA or hCaptcha work unchanged.
// agentgate.js loads it beside itself when its own address says `?compat=`, and hands its query on.

import { serviceOf, whenParsed } from "./services";
import { type Options, call, query, render } from "./widgets";

const page = window as unknown as Options & { ___grecaptcha_cfg?: { fns?: (() => void)[] } };
const service = serviceOf(query.get("compat"));

if (service) {
  page[service.name] = service.api;
  if (query.get("render") !== "explicit") {
    whenParsed(() => {
      for (const element of document.querySelectorAll<HTMLElement>(service.selector)) render(service.dialect, element);
    });
  }
  // The page may name a function of a script that comes later, and elements that do.
  whenParsed(() => call({ onload: query.get("onload") }, "onload"));
  // Where pages, and the stand-in that agentgate.js leaves until now, put what waits for `grecaptcha`.
  for (const waiting of page.___grecaptcha_cfg?.fns ?? []) whenParsed(waiting);
}
