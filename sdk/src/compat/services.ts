// The three services: what their globals are called, what these answer, and which elements they look for.

import {
  type Dialect,
  type Options,
  type Reference,
  type Widget,
  execute,
  find,
  gate,
  query,
  remove,
  render,
  reset,
  subject,
} from "./widgets";

/** One service, ready to be put into a page. */
export interface Service {
  dialect: Dialect;
  /** The name of the global. */
  name: string;
  selector: string;
  api: Options;
}

const response = (reference?: Reference): string => find(reference)?.token ?? "";
/** A method about one widget; it does nothing for a widget that there is not. */
const about =
  <T>(act: (widget: Widget) => T) =>
  (reference?: Reference): T | undefined => {
    const widget = find(reference);
    return widget && act(widget);
  };

/** Calls back once the document is there. */
export const whenParsed = (callback: () => void): void => void gate().ready(callback);

function shared(dialect: Dialect): Options {
  return {
    render: (container: Reference | Options, options?: Options) => render(dialect, container, options),
    reset: about(reset),
    remove: about(remove),
    getResponse: response,
    ready: whenParsed,
  };
}

function turnstile(): Service {
  const dialect: Dialect = {
    fields: ["cf-turnstile-response"],
    prefix: "cf-chl-widget-",
  };
  const api = {
    ...shared(dialect),
    getResponse: (reference?: Reference) => response(reference) || undefined,
    isExpired: about((widget) => gate().isExpired(widget.id)),
    execute: about(execute),
  };
  return { dialect, name: "turnstile", selector: ".cf-turnstile", api };
}

function recaptcha(): Service {
  const dialect: Dialect = {
    fields: ["g-recaptcha-response"],
    invisibleWaits: true,
    frame: "google.com/recaptcha/api2/bframe",
    // Only version 2 has a widget that people see. Siteverify gives such a token no score.
    cData: "recaptcha-v2",
  };
  const api: Options = {
    ...shared(dialect),
    // Version 3 is asked by site key and gives a token each time; version 2 by widget.
    execute: (reference?: Reference, options?: Options) => {
      const widget = find(reference);
      const action = options?.["action"];
      if (widget && !action) return execute(widget);
      const checked = subject(widget?.options["sitekey"] ?? reference ?? query.get("render"), action);
      return gate()
        .execute({ ...checked, mode: "invisible" })
        .then((result) => result.token);
    },
  };
  api["enterprise"] = api;
  return { dialect, name: "grecaptcha", selector: ".g-recaptcha", api };
}

const HCAPTCHA_CODES: Readonly<Record<string, string>> = {
  rate_limited: "rate-limited",
  network: "network-error",
  canceled: "challenge-closed",
  timeout: "challenge-expired",
};
const hcaptchaCode = (code: string): string => HCAPTCHA_CODES[code] ?? "challenge-error";

function hcaptcha(): Service {
  const dialect: Dialect = {
    // Servers that were moved from reCAPTCHA to hCaptcha still read the first one's field.
    fields: ["h-captcha-response", "g-recaptcha-response"],
    prefix: "h-captcha-",
    invisibleWaits: true,
    codeOf: hcaptchaCode,
  };
  const api = {
    ...shared(dialect),
    getRespKey: () => "",
    setData: () => 0,
    close: about((widget) => gate().reset(widget.id)),
    execute: (reference?: Reference, options?: Options | null) => {
      const token = about(execute)(reference);
      if (!options?.["async"]) return undefined;
      return (token ?? Promise.reject({})).then(
        (found) => ({ response: found, key: "" }),
        (error: { code: string }) => Promise.reject(hcaptchaCode(error.code)),
      );
    },
  };
  return { dialect, name: "hcaptcha", selector: ".h-captcha", api };
}

/** The service that a name in `?compat=` means. */
export function serviceOf(name: string | undefined): Service | undefined {
  if (name === "turnstile") return turnstile();
  if (name === "recaptcha") return recaptcha();
  return name === "hcaptcha" ? hcaptcha() : undefined;
}
