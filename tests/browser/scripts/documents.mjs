// Runs the real SDK against the real service in documents that are written in JavaScript: jsdom and happy-dom.
// Reads {gate, origin, userAgent, options, engine} and writes the result. What they lack is lent by Node. One document
// for each process: some of them share their globals.
import { text } from 'node:stream/consumers';
import { Window } from 'happy-dom';
import { JSDOM, VirtualConsole } from 'jsdom';

const { gate, origin, userAgent, options, engine } = JSON.parse(await text(process.stdin));
const HTML = '<!doctype html><html lang="en"><head></head><body><p>A page.</p></body></html>';
const sdk = await (await fetch(`${gate}/sdk/v1/agentgate.js`)).text();
const LENGTHS = ['offsetWidth', 'offsetHeight', 'clientWidth', 'clientHeight', 'offsetLeft', 'offsetTop'];

// A client that wants to be taken for a browser sends what a browser sends.
function browserFetch(url, init = {}) {
  const headers = { Origin: origin, Referer: `${origin}/`, 'User-Agent': userAgent, 'Accept-Language': 'en-US,en;q=0.9' };
  return fetch(String(url), { ...init, signal: undefined, headers });
}

// Neither loads scripts of others by itself; a script element's address is fetched and run as a browser would.
function loadScripts(window) {
  const node = window.Node.prototype;
  const append = node.appendChild;
  node.appendChild = function appendChild(child) {
    if (child?.localName !== 'script' || !child.src) return append.call(this, child);
    browserFetch(child.src)
      .then((answer) => answer.text())
      .then((code) => {
        try {
          window.eval(code);
        } finally {
          child.onload?.();
        }
      })
      .catch(() => child.onerror?.());
    return child;
  };
}

function patchSizes(window) {
  for (const name of LENGTHS) {
    Object.defineProperty(window.HTMLElement.prototype, name, { configurable: true, get: () => 100 });
  }
}

function lend(window) {
  const lent = { fetch: browserFetch, Blob, Response, Request, Headers, MessageChannel, TextEncoder, performance };
  const absent = { isSecureContext: false, Worker: undefined };
  for (const [name, value] of Object.entries({ ...lent, ...absent })) {
    Object.defineProperty(window, name, { configurable: true, writable: true, value });
  }
  window.URL.createObjectURL = () => 'blob:nothing';
  window.URL.revokeObjectURL = () => {};
  loadScripts(window);
}

function jsdom(patch) {
  const page = new JSDOM(HTML, {
    url: `${origin}/`,
    runScripts: 'outside-only',
    pretendToBeVisual: true,
    virtualConsole: new VirtualConsole(),
  });
  Object.defineProperty(page.window.navigator, 'userAgent', { value: userAgent });
  patch?.(page.window);
  return page.window;
}

function happyDom(patch) {
  const window = new Window({
    url: `${origin}/`,
    settings: { enableJavaScriptEvaluation: true, suppressInsecureJavaScriptEnvironmentWarning: true, navigator: { userAgent } },
  });
  window.document.write(HTML);
  patch?.(window);
  return window;
}

// The SDK finds the service by its own script element.
function addScript(window) {
  const script = window.document.createElement('script');
  script.setAttribute('src', `${gate}/sdk/v1/agentgate.js?render=explicit`);
  script.type = 'text/plain';
  window.document.head.append(script);
}

async function check(window) {
  addScript(window);
  lend(window);
  window.eval(sdk);
  return window.agentgate.execute({ ...options, timeout: 20_000, retry: 'never' }).then(
    (found) => ({ token: found.token }),
    (error) => ({ code: error.code, message: error.message, decisionId: error.decisionId }),
  );
}

const ENGINES = {
  jsdom: () => jsdom(),
  'jsdom with sizes': () => jsdom(patchSizes),
  'happy-dom': () => happyDom(),
  'happy-dom with sizes': () => happyDom(patchSizes),
};

const found = await check(ENGINES[engine]()).catch((error) => ({ failure: String(error?.stack ?? error) }));
// A document's timers would keep the process alive.
process.stdout.write(JSON.stringify(found), () => process.exit(0));
