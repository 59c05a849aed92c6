/** What the address of one of our scripts says: which service's page it is for, and where the service's root is. */

/** Where the other services have their script, below the service's root. */
const VENDORS: readonly (readonly [RegExp, string, string])[] = [
  [/\/turnstile\/v0\/api\.js$/, "turnstile", "../../"],
  [/\/recaptcha\/(api|enterprise)\.js$/, "recaptcha", "../"],
  [/\/1\/api\.js$/, "hcaptcha", "../"],
];

export interface ScriptAddress {
  query: URLSearchParams;
  /** The service that the path is of. */
  vendor: string | undefined;
  /** The folder of the SDK's files. */
  files: URL;
}

export function readAddress(url: string, base: string): ScriptAddress {
  const address = new URL(url, base);
  const { search } = address;
  let given = "";
  // Some packages append `?render=...` to an address that has a query already.
  for (let at = 1; at < search.length; at++) given += search[at] === "?" ? "&" : search[at];
  const query = new URLSearchParams(given);
  for (let at = 0; at < VENDORS.length; at++) {
    const [path, vendor, root] = VENDORS[at]!;
    if (path.test(address.pathname)) return { query, vendor, files: new URL(root + "sdk/v1/", address) };
  }
  return { query, vendor: undefined, files: new URL(".", address) };
}
