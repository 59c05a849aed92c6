// Walks through journeys in a real Firefox. Reads {executable, journeys: {name: [step, ...]}}; a step is one of
// ["goto", url], ["fill", selector, text], ["press", key], ["click", selector], ["see", selector, text],
// ["keep", selector]. Writes {name: {kept: [text, ...], error}}.
import { text } from 'node:stream/consumers';
import puppeteer from 'puppeteer-core';

const MOST_MS = 20000;

const steps = {
  goto: (page, url) => page.goto(url, { waitUntil: 'load' }),
  press: (page, key) => page.keyboard.press(key),
  async fill(page, selector, value) {
    await page.waitForSelector(selector, { timeout: MOST_MS });
    await page.focus(selector);
    await page.keyboard.type(value);
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
const browser = await puppeteer.launch({ browser: 'firefox', executablePath: executable, headless: true });
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
