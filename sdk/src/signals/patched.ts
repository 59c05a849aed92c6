/** Properties of the navigator that something in the page has replaced. */

/** What tools replace that hide a browser's nature, and what pages have no reason to touch. */
const PROPERTIES = ["webdriver", "userAgent", "languages", "plugins", "platform", "hardwareConcurrency"] as const;

/** `source` writes a function as text; one of another window is not the page's to replace. */
export function findPatched(source: () => string): string[] {
  const found: string[] = [];
  const owner = Navigator.prototype as unknown as Record<string, unknown>;
  for (const name of PROPERTIES) {
    const get = Reflect.getOwnPropertyDescriptor(owner, name)?.get;
    if (Reflect.getOwnPropertyDescriptor(navigator, name) || (get && !isNative(get, name, owner, source))) {
      found[found.length] = name;
    }
  }
  return found;
}

/**
 * A built-in getter is written as native code, has its own name, no prototype, and refuses the prototype as its object.
 */
function isNative(get: () => unknown, name: string, owner: object, source: () => string): boolean {
  if (get.name !== "get " + name || "prototype" in get || !/\[native code\]/.test(`${source.call(get)}`)) return false;
  try {
    Reflect.apply(get, owner, []);
    return false;
  } catch {
    return true;
  }
}
