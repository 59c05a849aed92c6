// Runs instrument programs where there is no browser: in documents written in JavaScript, and in none at all.
// Reads {programs: [{id, script}], counts: {engine: how many}} and writes the answers of each engine; a program that never answers gives null.
import { text } from "node:stream/consumers";
import vm from "node:vm";
import { Window } from "happy-dom";
import { JSDOM, VirtualConsole } from "jsdom";

const HTML = "<!doctype html><html><head></head><body><p>A page.</p></body></html>";
const LENGTHS = [
  "offsetWidth", "offsetHeight", "offsetLeft", "offsetTop", "clientWidth", "clientHeight", "scrollWidth", "scrollHeight",
];

// The one who wrote this knows the program's kind: sizes as the style says them.
const FROM_STYLE = {
  offsetWidth: "width", clientWidth: "width", scrollWidth: "width", offsetHeight: "height", clientHeight: "height",
  scrollHeight: "height", offsetLeft: "left", offsetTop: "top",
};

function define(window, name, read) {
  for (const kind of [window.HTMLElement, window.Element]) {
    Object.defineProperty(kind.prototype, name, { configurable: true, get: read });
  }
}

function patchConstant(window) {
  for (const name of LENGTHS) define(window, name, () => 100);
}

function patchFromStyle(window) {
  for (const name of LENGTHS) {
    define(window, name, function read() {
      return Number.parseFloat(this.style.getPropertyValue(FROM_STYLE[name])) || 0;
    });
  }
}

function jsdom(options, patch = () => {}) {
  // Without a console: what a program throws is its answer, not news.
  const { window } = new JSDOM(HTML, { url: "https://shop.example/", virtualConsole: new VirtualConsole(), ...options });
  patch(window);
  return { target: window, run: (script) => window.eval(script) };
}

function happyDom(patch = () => {}) {
  const window = new Window({
    url: "https://shop.example/",
    settings: { enableJavaScriptEvaluation: true, suppressInsecureJavaScriptEnvironmentWarning: true },
  });
  window.document.write(HTML);
  patch(window);
  return { target: window, run: (script) => window.eval(script) };
}

function bare(globals) {
  const context = vm.createContext({ ...globals });
  return { target: context, run: (script) => vm.runInContext(script, context) };
}

const ENGINES = {
  jsdom: () => jsdom({ runScripts: "outside-only" }),
  "jsdom visual": () => jsdom({ runScripts: "dangerously", pretendToBeVisual: true }),
  "jsdom constant": () => jsdom({ runScripts: "outside-only", pretendToBeVisual: true }, patchConstant),
  "jsdom styled": () => jsdom({ runScripts: "outside-only", pretendToBeVisual: true }, patchFromStyle),
  "happy-dom": () => happyDom(),
  "happy-dom constant": () => happyDom(patchConstant),
  "happy-dom styled": () => happyDom(patchFromStyle),
  node: () => bare({}),
  "node with a document": () => bare({ document: {} }),
};

function answersOf({ target, run }, programs) {
  return programs.map(({ id, script }) => {
    let answer = null;
    target[`agentgate:${id}`] = (given) => {
      answer = given;
    };
    try {
      run(script);
    } catch {
      answer = null;
    }
    return answer;
  });
}

const { programs, counts } = JSON.parse(await text(process.stdin));
const found = Object.entries(counts).map(([name, count]) => [name, answersOf(ENGINES[name](), programs.slice(0, count))]);
// A document's timers would keep the process alive.
process.stdout.write(JSON.stringify(Object.fromEntries(found)), () => process.exit(0));
