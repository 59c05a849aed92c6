// ALTCHA and Cap with the defaults of their own documentation, each on a plain page of one small server.
// Prints its port as one line of JSON and ends when its input is closed. CAP_WASM may name Cap's solver.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';
import { createChallenge, randomInt } from 'altcha-lib';
import { deriveKey } from 'altcha-lib/algorithms/pbkdf2';

const require = createRequire(import.meta.url);
const Cap = require('@cap.js/server');

const MODULES = new URL('../../node_modules/', import.meta.url);
const WASM = process.env.CAP_WASM ?? new URL('@cap.js/wasm/browser/cap_wasm_bg.wasm', MODULES).pathname;
// Whoever reads the figures must know whether Cap had its solver: without it, it falls back to slower JavaScript.
const hasWasm = existsSync(WASM);

const altchaPage = (challenge, extra = '') => `<!doctype html><html lang="en"><title>ALTCHA</title><link rel="icon" href="data:,">
<script src="/altcha.js" type="module"></script>
<form><altcha-widget auto="onload" challenge="${challenge}"${extra}></altcha-widget></form>
<script>
document.querySelector('altcha-widget').addEventListener('statechange', (event) => {
  if (event.detail.state === 'verified') window.tokenMs = performance.now();
  if (event.detail.state === 'error') window.failure = 'altcha';
});
</script>`;

const CAP_PAGE = `<!doctype html><html lang="en"><title>Cap</title><link rel="icon" href="data:,"><body>
<script>window.CAP_CUSTOM_WASM_URL = '/cap.wasm';</script>
<script src="/cap.js"></script>
<script>
new Cap({ apiEndpoint: '/cap/' }).solve().then(
  ({ token }) => { window.token = token; window.tokenMs = performance.now(); },
  (error) => { window.failure = String(error); },
);
</script>`;

const FILES = new Map([
  ['/altcha', ['text/html', altchaPage('/altcha/challenge')]],
  ['/altcha-at-once', ['text/html', altchaPage('/altcha/challenge', ` configuration='{"minDuration":0}'`)]],
  ['/altcha-readme', ['text/html', altchaPage('/altcha/long-challenge')]],
  ['/cap', ['text/html', CAP_PAGE]],
  ['/altcha.js', ['text/javascript', readFileSync(new URL('altcha/dist/main/altcha.min.js', MODULES))]],
  ['/cap.js', ['text/javascript', readFileSync(new URL('@cap.js/widget/cap.min.js', MODULES))]],
]);
if (hasWasm) FILES.set('/cap.wasm', ['application/wasm', readFileSync(WASM)]);

const packed = new Map([...FILES].map(([path, [, content]]) => [path, gzipSync(content, { level: 9 })]));
const cap = new Cap({ noFSState: true });

// What the library does by itself: a prefix of one byte, so 256 tries on average. Its README adds a counter between
// 5,000 and 10,000, which is some thirty times as much work.
const newAltchaChallenge = (extra) =>
  createChallenge({
    ...extra,
    algorithm: 'PBKDF2/SHA-256',
    cost: 5_000,
    deriveKey,
    expiresAt: new Date(Date.now() + 600_000),
    hmacSignatureSecret: 'signature secret of the measurement',
  });

const ANSWERS = {
  'GET /altcha/challenge': () => newAltchaChallenge({}),
  'GET /altcha/long-challenge': () =>
    newAltchaChallenge({ counter: randomInt(10_000, 5_000), hmacKeySignatureSecret: 'key secret of the measurement' }),
  'POST /cap/challenge': () => cap.createChallenge(),
  'POST /cap/redeem': (body) => cap.redeemChallenge(JSON.parse(body)),
};

async function readBody(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts).toString();
}

function sendFile(request, response, path) {
  const tag = `"${createHash('sha256').update(packed.get(path)).digest('hex').slice(0, 16)}"`;
  const isPage = FILES.get(path)[0] === 'text/html';
  response.setHeader('Cache-Control', isPage ? 'no-store' : 'public, max-age=3600');
  response.setHeader('ETag', tag);
  response.setHeader('Content-Type', FILES.get(path)[0]);
  response.setHeader('Content-Encoding', 'gzip');
  response.end(packed.get(path));
}

const server = createServer(async (request, response) => {
  const path = request.url.split('?')[0];
  const answer = ANSWERS[`${request.method} ${path}`];
  if (answer) {
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify(await answer(await readBody(request))));
  } else if (packed.has(path)) {
    sendFile(request, response, path);
  } else {
    response.statusCode = 404;
    response.end();
  }
});

server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: server.address().port, hasWasm })));
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
