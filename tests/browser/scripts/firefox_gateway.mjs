// Visits a gated site in a real Firefox: one visit after the other, each in a profile of its own. Reads {executable, origin},
// writes {photo, worker, fragment}: what stood on the page in the end, and where it was.
import { text } from 'node:stream/consumers';
import puppeteer from 'puppeteer-core';

const LOOK_MS = 50;
const MOST_LOOKS = 400;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(page, words) {
  for (let i = 0; i < MOST_LOOKS; i++) {
    try {
      const said = await page.evaluate(() => document.body?.innerText ?? '');
      if (said.includes(words)) return said;
    } catch {
      // On the way to the next page.
    }
    await pause(LOOK_MS);
  }
  throw new Error(`never said: ${words}`);
}

/* eslint-disable no-undef -- these functions run in the page */
const fillPhoto = (size) => {
  document.querySelector('[name=title]').value = 'Evening by the lake';
  const files = new DataTransfer();
  files.items.add(new File([new Uint8Array(size)], 'a.jpg', { type: 'image/jpeg' }));
  document.querySelector('[name=photo]').files = files.files;
  document.querySelector('#send').click();
};
const read = () => ({ text: document.body.innerText, url: location.href });
/* eslint-enable no-undef */

const VISITS = {
  async photo(page, origin) {
    await page.goto(`${origin}/photo`);
    await page.evaluate(fillPhoto, 100_000);
    await until(page, 'could not be kept');
    await page.click('#button');
    await until(page, 'Site GET /photo');
    await page.evaluate(fillPhoto, 100_000);
    await until(page, 'Site POST /members');
    return page.evaluate(read);
  },
  async worker(page, origin) {
    await page.goto(`${origin}/worker`);
    // eslint-disable-next-line no-undef -- runs in the page
    await page.waitForFunction(() => document.title === 'ready' && navigator.serviceWorker.controller);
    await page.goto(`${origin}/members#part`);
    await until(page, 'Site GET /members');
    return page.evaluate(read);
  },
  async fragment(page, origin) {
    await page.goto(`${origin}/members?a=b#part`);
    await until(page, 'Site GET /members');
    return page.evaluate(read);
  },
};

const { executable, origin } = JSON.parse(await text(process.stdin));
const browser = await puppeteer.launch({ browser: 'firefox', executablePath: executable, headless: true });
const found = {};
try {
  for (const [name, visit] of Object.entries(VISITS)) {
    const context = await browser.createBrowserContext();
    try {
      found[name] = await visit(await context.newPage(), origin);
    } catch (error) {
      found[name] = { failure: String(error) };
    }
    await context.close();
  }
} finally {
  await browser.close();
}
process.stdout.write(JSON.stringify(found));
