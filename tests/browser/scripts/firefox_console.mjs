// Walks through journeys in a real Firefox. Reads {executable, journeys: {name: [step, ...]}}; a step is one of
// ["goto", url], ["see", selector, text], ["keep", selector], ["press", key]; with a pointer ["click", selector] and
// ["fill", selector, text]; with the keyboard alone ["reach", selector] (by Tab) and ["type", text].
// Writes {name: {kept: [text, ...], error}}.
import { text } from 'node:stream/consumers';
import puppeteer from 'puppeteer-core';

const MOST_MS = 20000;
const MOST_TABS = 80;

const steps = {
  goto: (page, url) => page.goto(url, { waitUntil: 'load' }),
  press: (page, key) => page.keyboard.press(key),
  async fill(page, selector, value) {
    await page.waitForSelector(selector, { timeout: MOST_MS });
    await steps.click(page, selector);
    await page.keyboard.type(value);
  },
  type: (page, value) => page.keyboard.type(value),
  async reach(page, selector) {
    await page.waitForSelector(selector, { timeout: MOST_MS });
    /* eslint-disable-next-line no-undef -- runs in the page */
    const here = (wanted) => document.activeElement.matches(wanted);
    for (let tabs = 0; tabs < MOST_TABS; tabs++) {
      if (await page.evaluate(here, selector)) return;
      await page.keyboard.press('Tab');
    }
    throw new Error(`Tab does not reach it at ${page.url()}`);
  },
  async click(page, selector) {
    const found = await page.waitForSelector(selector, { timeout: MOST_MS });
    await found.click();
  },
  async see(page, selector, wanted) {
    // Asked again and again: waiting inside the page would need what its policy forbids.
    const until = Date.now() + MOST_MS;
    /* eslint-disable-next-line no-undef -- runs in the page */
    const look = (where, what) => [...document.querySelectorAll(where)].some((element) => element.textContent.includes(what));
    while (Date.now() < until) {
      // A page that is being left has nothing to look at.
      if (await page.evaluate(look, selector, wanted).catch(() => false)) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`not seen at ${page.url()}`);
  },
};

const { executable, journeys } = JSON.parse(await text(process.stdin));
const browser = await puppeteer.launch({ browser: 'firefox', executablePath: executable, headless: true, defaultViewport: null, args: ['--width=1280', '--height=800'] });
const found = {};
try {
  for (const [name, journey] of Object.entries(journeys)) {
    const kept = [];
    const context = await browser.createBrowserContext();
    const page = await context.newPage();
    let at = '';
    try {
      for (const [step, ...given] of journey) {
        at = JSON.stringify([step, ...given]);
        if (step === 'keep') {
          const element = await page.waitForSelector(given[0], { timeout: MOST_MS });
          kept.push(await element.evaluate((each) => each.textContent));
        } else await steps[step](page, ...given);
      }
      found[name] = { kept };
    } catch (error) {
      found[name] = { kept, error: `${at}: ${error}` };
    }
    await context.close();
  }
} finally {
  await browser.close();
}
process.stdout.write(JSON.stringify(found));
