/** What the address of one of our scripts says: which service's page it is for, and where the service's root is. */

/** Where the other services have their script. */
const VENDORS: Readonly<Record<string, string>> = { "turnstile/v0": "turnstile", recaptcha: "recaptcha", 1: "hcaptcha" };
const VENDOR_PATH = /(turnstile\/v0|recaptcha|1)\/(api|enterprise)\.js$/;

export interface ScriptAddress {
  query: URLSearchParams;
  /** The service that the path is of. */
  vendor: string | undefined;
  /** The folder of the SDK's files. */
  files: URL;
}

export function readAddress(url: string, base?: string): ScriptAddress {
  const address = new URL(url, base);
  const path = VENDOR_PATH.exec(address.pathname);
  // Some packages append `?render=...` to an address that has a query already.
  const query = new URLSearchParams(address.search.slice(1).replace(/\?/g, "&"));
  const files = new URL(path ? address.pathname.slice(0, path.index) + "sdk/v1/" : ".", address);
  return { query, vendor: path ? VENDORS[path[1] ?? ""] : undefined, files };
}
