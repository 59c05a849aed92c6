// Loads agentgate.js from the service, once for a page, and puts widgets into elements. What a framework's wrapper
// needs; nothing here looks at `window` before it is called, so that it can be imported on a server.

/** The options of a widget that are values and not callbacks. */
export const OPTIONS = [
  "sitekey",
  "action",
  "mode",
  "theme",
  "size",
  "language",
  "cData",
  "timeout",
  "checkTimeout",
  "signal",
  "retry",
  "refreshExpired",
  "execution",
  "responseField",
  "responseFieldName",
  "holdSubmit",
  "events",
];

let loading;

function fail(code, message) {
  return Object.assign(new Error(message), { name: "AgentGateError", code, retryable: code === "network" });
}

function loadScript(src, nonce) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = src + (src.includes("?") ? "&" : "?") + "render=explicit";
    script.async = true;
    script.crossOrigin = "anonymous";
    if (nonce) script.nonce = nonce;
    script.onload = resolve;
    script.onerror = () => {
      script.remove();
      // Whoever asks next tries again.
      loading = undefined;
      reject(fail("network", `${src} could not be loaded.`));
    };
    document.head.append(script);
  });
}

/** Resolves with `window.agentgate`, which the page may have loaded itself. */
export async function load(src, { nonce } = {}) {
  if (typeof window.agentgate?.ready !== "function") await (loading ??= loadScript(src, nonce));
  await window.agentgate.ready();
  return window.agentgate;
}

/** Puts a widget into an element as soon as the SDK is there. Its methods can be called at once. */
export function mount(element, src, { nonce, ...options }) {
  let gone = false;
  let agentgate;
  let id;
  const made = load(src, { nonce }).then((loaded) => {
    if (gone) throw fail("aborted", "The widget was removed before it was there.");
    agentgate = loaded;
    id = agentgate.render(element, options);
  });
  made.catch((error) => gone || options.errorCallback?.(error));
  return {
    execute: () => made.then(() => agentgate.execute(id)),
    reset: () => agentgate?.reset(id),
    getResponse: () => agentgate?.getResponse(id),
    isExpired: () => !!agentgate?.isExpired(id),
    remove: () => {
      gone = true;
      agentgate?.remove(id);
    },
  };
}
