// Makes a page that was written for Turnstile, reCAPTCHA or hCaptcha work unchanged: registers the service's global.

import { serviceOf, whenParsed } from "./services";
import { type Options, call, query, render, vendor } from "./widgets";

const page = window as unknown as Options & { ___grecaptcha_cfg?: { fns?: (() => void)[] } };
const name = query.get("compat") || vendor;
const service = serviceOf(name);

if (service) {
  page[service.name] = service.api;
  if (query.get("render") !== "explicit") {
    whenParsed(() => {
      for (const element of document.querySelectorAll<HTMLElement>(service.selector)) render(service.dialect, element);
    });
  }
  // The page may name a function of a script that comes later, and elements that do.
  whenParsed(() => call({ onload: query.get("onload") }, "onload"));
  // Where pages put what waits for `grecaptcha`.
  for (const waiting of page.___grecaptcha_cfg?.fns ?? []) whenParsed(waiting);
} else {
  console.warn(`agentgate: compat=${name} is unknown; it may be turnstile, recaptcha or hcaptcha.`);
}
