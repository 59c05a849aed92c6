// Opens pages in a real Firefox and drives their check. Reads {executable, visits: [{name, url, options, press}]},
// writes {name: {token | code, workers}}. `press` lists keys that are pressed, with pauses, once the check is shown.
import { text } from 'node:stream/consumers';
import puppeteer from 'puppeteer-core';

const LOOK_MS = 50;
const MOST_LOOKS = 400;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(look) {
  for (let i = 0; i < MOST_LOOKS; i++) {
    const found = await look();
    if (found) return found;
    await pause(LOOK_MS);
  }
  throw new Error('nothing came of it');
}

/* eslint-disable no-undef -- these functions run in the page */
function begin(options) {
  globalThis.workers = 0;
  globalThis.violations = [];
  document.addEventListener('securitypolicyviolation', (event) => violations.push(event.violatedDirective));
  const Kept = globalThis.Worker;
  globalThis.Worker = function CountedWorker(...given) {
    globalThis.workers++;
    return new Kept(...given);
  };
  agentgate.execute(options).then(
    (found) => (globalThis.result = { token: found.token, decisionId: found.decisionId }),
    (error) => (globalThis.result = { code: error.code, message: error.message, decisionId: error.decisionId }),
  );
}

const isAsked = () =>
  [...document.querySelectorAll('*')].some((element) => element.shadowRoot?.activeElement?.matches?.('button.press'));
/* eslint-enable no-undef */

async function visit(browser, { url, options, press }) {
  const page = await browser.newPage();
  await page.goto(url);
  await page.evaluate(begin, options);
  if (press) {
    await until(() => page.evaluate(isAsked));
    for (const key of press) {
      await page.keyboard.press(key, { delay: 60 });
      await pause(1100);
    }
  }
  const result = await until(() => page.evaluate(() => globalThis.result));
  const seen = await page.evaluate(() => ({ workers: globalThis.workers, violations: globalThis.violations }));
  await page.close();
  return { ...result, ...seen };
}

const { executable, visits } = JSON.parse(await text(process.stdin));
const browser = await puppeteer.launch({ browser: 'firefox', executablePath: executable, headless: true });
const found = {};
try {
  for (const one of visits) {
    try {
      found[one.name] = await visit(browser, one);
    } catch (error) {
      found[one.name] = { failure: String(error) };
    }
  }
} finally {
  await browser.close();
}
process.stdout.write(JSON.stringify(found));
