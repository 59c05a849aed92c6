// Runs instrument programs in a real Firefox: in a page, and in a worker made of a Blob as the SDK makes it.
// Reads {executable, url, programs: [{id, script}]} and writes [[page's answer, worker's answer], ...].
import { text } from "node:stream/consumers";
import puppeteer from "puppeteer-core";

// This function runs in the page.
async function answersOf(programs) {
  const inPage = ({ id, script }) =>
    new Promise((resolve) => {
      globalThis[`agentgate:${id}`] = resolve;
      const element = document.createElement("script");
      element.src = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
      element.onerror = () => resolve("not run");
      document.head.append(element);
    });
  const inWorker = ({ id, script }) =>
    new Promise((resolve) => {
      const start = `globalThis["agentgate:${id}"]=(answer)=>postMessage(answer);`;
      const worker = new Worker(URL.createObjectURL(new Blob([start, script], { type: "text/javascript" })));
      worker.onmessage = (event) => {
        worker.terminate();
        resolve(event.data);
      };
      worker.onerror = () => resolve("not run");
    });
  const answers = [];
  for (const program of programs) answers.push([await inPage(program), await inWorker(program)]);
  return answers;
}

const { executable, url, programs } = JSON.parse(await text(process.stdin));
const browser = await puppeteer.launch({
  browser: "firefox", executablePath: executable, headless: true, timeout: 90_000,
});
try {
  const page = await browser.newPage();
  await page.goto(url);
  process.stdout.write(JSON.stringify(await page.evaluate(answersOf, programs)));
} finally {
  await browser.close();
}
