// jsdom and happy-dom: documents without a browser, as they are, with workers, and with the lengths that programs ask for.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const job = JSON.parse(readFileSync(0, 'utf8'));
const require = createRequire(pathToFileURL(`${job.modules}/`));
const [tool, ...words] = job.variant.split(' ');
const CHROME = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36';
const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const length = (text) => Number.parseFloat(text) || 0;

/** What a browser has and these lack: requests under the page's name, and boxes with the sizes that styles name. */
function shim(window) {
  const { defineProperty } = Object;
  // Without workers the SDK solves in the page.
  window.URL.createObjectURL ??= () => 'blob:none';
  window.URL.revokeObjectURL ??= () => 0;
  window.fetch = (url, init = {}) =>
    fetch(new URL(url, job.page), {
      ...init,
      signal: undefined,
      mode: undefined,
      headers: { Origin: job.origin, Referer: job.page, 'User-Agent': CHROME, 'Content-Type': 'text/plain;charset=UTF-8' },
    });
  if (!words.includes('shims')) return;
  defineProperty(window.navigator, 'userAgent', { get: () => CHROME });
  defineProperty(window.navigator, 'webdriver', { get: () => false });
  defineProperty(window, 'outerWidth', { value: 1280, configurable: true });
  defineProperty(window, 'outerHeight', { value: 720, configurable: true });
  const box = (element) => {
    const style = window.getComputedStyle(element);
    const around = element.parentElement ? box(element.parentElement) : { left: 0, top: 0 };
    const [left, top, width, height] = [style.left, style.top, style.width, style.height].map(length);
    return { left: around.left + left, top: around.top + top, width, height };
  };
  window.Element.prototype.getBoundingClientRect = function getBoundingClientRect() {
    const { left, top, width, height } = box(this);
    return { left, top, width, height, x: left, y: top, right: left + width, bottom: top + height };
  };
  for (const [name, key] of [['offsetWidth', 'width'], ['offsetHeight', 'height'], ['offsetLeft', 'left'], ['offsetTop', 'top']]) {
    defineProperty(window.HTMLElement.prototype, name, { configurable: true, get() { return Math.round(box(this)[key]); } });
  }
}

async function openJsdom() {
  const { JSDOM, ResourceLoader } = require('jsdom');
  const options = { runScripts: 'dangerously', pretendToBeVisual: true, beforeParse: shim, url: job.page };
  options.resources = ResourceLoader ? new ResourceLoader({ userAgent: CHROME }) : 'usable';
  const dom = await JSDOM.fromURL(job.page, { ...options, url: undefined });
  return dom.window;
}

async function openHappy() {
  const { Browser } = require('happy-dom');
  const settings = { enableJavaScriptEvaluation: true, suppressInsecureJavaScriptEnvironmentWarning: true };
  const browser = new Browser({ settings });
  const page = browser.newPage();
  shim(page.mainFrame.window);
  await page.goto(job.page);
  return page.mainFrame.window;
}

const window = await (tool === 'jsdom' ? openJsdom() : openHappy());
for (let i = 0; i < 100 && !window.agentgate; i++) await rest(100);
if (!window.agentgate) throw new Error('the SDK did not load');
const fields = { sitekey: job.site_key, action: job.action };
const result = await window.agentgate.execute(fields).catch((error) => ({ code: error.code }));
if (result.token) {
  const body = new URLSearchParams({ 'agentgate-token': result.token });
  await fetch(`${job.origin}/send`, { method: 'POST', body });
}
process.exit(0);
