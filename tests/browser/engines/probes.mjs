// Runs probes where there is no layout. Reads {engine, script, draws} and writes what probes.js answers to each draw.
// "jsdom styled" also has a layout of its own: it believes the style that a box has.
import { text } from "node:stream/consumers";
import { Window } from "happy-dom";
import { JSDOM, VirtualConsole } from "jsdom";

const HTML = "<!doctype html><html><head></head><body><p>A page.</p></body></html>";

function believeStyle(window) {
  window.Element.prototype.getBoundingClientRect = function read() {
    const of = (name) => Number.parseFloat(this.style?.getPropertyValue(name)) || 0;
    return { left: of("left"), top: of("top"), width: of("width"), height: of("height") };
  };
  window.Element.prototype.animate = () => ({ pause() {}, cancel() {} });
}

function open(engine) {
  if (engine === "happy-dom") {
    const settings = { enableJavaScriptEvaluation: true, suppressInsecureJavaScriptEnvironmentWarning: true };
    const window = new Window({ url: "https://shop.example/", settings });
    window.document.write(HTML);
    return window;
  }
  const options = { url: "https://shop.example/", virtualConsole: new VirtualConsole(), runScripts: "outside-only" };
  const { window } = new JSDOM(HTML, options);
  if (engine === "jsdom styled") believeStyle(window);
  return window;
}

const { engine, script, draws } = JSON.parse(await text(process.stdin));
const window = open(engine);
let probe;
window["agentgate:probes"] = (given) => {
  probe = given;
};
window.eval(script);
const found = [];
for (const programs of draws) found.push((await probe({ draw: "", programs })).answers);
process.stdout.write(JSON.stringify(found));
process.exit(0);
