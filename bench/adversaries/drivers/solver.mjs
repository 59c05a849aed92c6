// A solver without an engine that has read the service's source: jsdom for the document, formulas for paths,
// V8's undetectable object for `document.all`, OpenSSL for the work, a person's input statistics with noise.
import { createHash, scryptSync } from 'node:crypto';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import http from 'node:http';

const job = JSON.parse(readFileSync(0, 'utf8'));
const claim = job.variant.split(' ')[1];
const CHROME = (major) => `Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${major}.0.0.0 Safari/537.36`;
const GTK = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15';
const seen = /Chrome\/(\d+)/.exec(job.recorded.signals?.userAgent ?? '')?.[1] ?? '156';
const major = { newer: '199', old: '82' }[claim] ?? seen;
const agent = claim === 'webkit' ? GTK : CHROME(major);
const noise = (low, high) => low + Math.random() * (high - low);

// --- Requests, with a browser's headers in a browser's order ---
function ask(method, path, body) {
  const hints = claim === 'webkit' ? [] : [['sec-ch-ua-platform', '"Linux"']];
  const brands = claim === 'webkit' ? [] : [['sec-ch-ua', `"Chromium";v="${major}", "Not_A Brand";v="99"`]];
  const mobile = claim === 'webkit' ? [] : [['sec-ch-ua-mobile', '?0']];
  const headers = [
    ['Host', new URL(job.gate).host], ['Connection', 'keep-alive'], ...(body ? [['Content-Length', `${Buffer.byteLength(body)}`]] : []),
    ...hints, ['User-Agent', agent], ...brands, ...(body ? [['Content-Type', 'text/plain;charset=UTF-8']] : []), ...mobile,
    ['Accept', '*/*'], ['Origin', job.origin], ['Sec-Fetch-Site', 'same-origin'], ['Sec-Fetch-Mode', 'cors'],
    ['Sec-Fetch-Dest', 'empty'], ['Referer', job.page], ['Accept-Encoding', 'gzip, deflate, br, zstd'], ['Accept-Language', 'en-US,en;q=0.9'],
  ];
  return new Promise((resolve, reject) => {
    const request = http.request(job.gate + path, { method, headers: headers.flat(), setHost: false }, async (reply) => {
      const parts = [];
      for await (const part of reply) parts.push(part);
      const whole = Buffer.concat(parts);
      const { unzipSync, brotliDecompressSync, zstdDecompressSync } = await import('node:zlib');
      const open = { gzip: unzipSync, br: brotliDecompressSync, zstd: zstdDecompressSync }[reply.headers['content-encoding']];
      resolve((open ? open(whole) : whole).toString());
    });
    request.on('error', reject);
    request.end(body);
  });
}

// --- The work, natively ---
const solve = ({ algorithm, salt, count, bits }) =>
  Array.from({ length: count }, (_, index) => {
    if (algorithm === 'scrypt') return scryptSync(`${salt}:${index}`, '', 32, { N: 1 << bits, r: 1, p: 1 }).readUInt32BE(0);
    for (let number = 0; ; number++) {
      if (createHash('sha256').update(`${salt}:${index}:${number}`).digest().readUInt32BE(0) >>> (32 - bits) === 0) return number;
    }
  });

// --- What only native objects are ---
function shim(window) {
  const { Document, Reflect: reflect } = window;
  setFlagsFromString('--allow-natives-syntax');
  const everything = new Function('return %GetUndetectable()')();
  Object.defineProperty(Document.prototype, 'all', { configurable: true, get: () => everything });
  const { ownKeys } = reflect;
  reflect.ownKeys = (object) => ownKeys(object).filter((key) => typeof key !== 'symbol');
}

// --- Probes: paths by formulas; of layouts the sizes that styles name ---
function arc([x1, y1], [rx, ry, turn, large, sweep, x2, y2]) {
  const phi = (turn * Math.PI) / 180;
  const [c, s] = [Math.cos(phi), Math.sin(phi)];
  const [dx, dy] = [(x1 - x2) / 2, (y1 - y2) / 2];
  const [x, y] = [c * dx + s * dy, c * dy - s * dx];
  const grow = Math.sqrt(Math.max(1, (x / rx) ** 2 + (y / ry) ** 2));
  const [a, b] = [rx * grow, ry * grow];
  const root = Math.sqrt(Math.max(0, (a * a * b * b - a * a * y * y - b * b * x * x) / (a * a * y * y + b * b * x * x))) * (large === sweep ? -1 : 1);
  const [cx, cy] = [(root * a * y) / b, (-root * b * x) / a];
  const from = Math.atan2((y - cy) / b, (x - cx) / a);
  let by = Math.atan2((-y - cy) / b, (-x - cx) / a) - from;
  if (sweep && by < 0) by += 2 * Math.PI;
  if (!sweep && by > 0) by -= 2 * Math.PI;
  const [mx, my] = [c * cx - s * cy + (x1 + x2) / 2, s * cx + c * cy + (y1 + y2) / 2];
  return (t) => [mx + c * a * Math.cos(from + by * t) - s * b * Math.sin(from + by * t), my + s * a * Math.cos(from + by * t) + c * b * Math.sin(from + by * t)];
}
const bezier = (points) => (t) => {
  let left = points;
  while (left.length > 1) left = left.slice(1).map(([x, y], at) => [left[at][0] + (x - left[at][0]) * t, left[at][1] + (y - left[at][1]) * t]);
  return left[0];
};
function path([, text, one, two, three, ...asked]) {
  const points = [];
  for (const [, kind, rest] of text.matchAll(/([MLQCAZ])([^MLQCAZ]*)/g)) {
    const n = rest.trim().split(/[ ,]+/).map(Number);
    const from = points.at(-1);
    if (kind === 'M') points.push(n);
    else {
      const pairs = kind === 'Z' ? [points[0]] : n.flatMap((_, at) => (at % 2 ? [] : [n.slice(at, at + 2)]));
      const curve = kind === 'A' ? arc(from, n) : bezier([from, ...pairs]);
      for (let step = 1; step <= 400; step++) points.push(curve(step / 400));
    }
  }
  const along = [0];
  for (let at = 1; at < points.length; at++) along.push(along[at - 1] + Math.hypot(points[at][0] - points[at - 1][0], points[at][1] - points[at - 1][1]));
  const [xs, ys] = [points.map((point) => point[0]), points.map((point) => point[1])];
  const [x, y] = [Math.min(...xs), Math.min(...ys)];
  const where = (far) => points[Math.min(points.length - 1, Math.max(0, along.findIndex((each) => each >= far)) || (far >= along.at(-1) ? points.length - 1 : 0))];
  const inside = (px, py) => points.reduce((turns, [ax, ay], at) => {
    const [bx, by] = points[(at + 1) % points.length];
    const side = (bx - ax) * (py - ay) - (px - ax) * (by - ay);
    return turns + (ay <= py ? by > py && side > 0 : -(by <= py && side < 0));
  }, 0) !== 0;
  const out = [x, y, Math.max(...xs) - x, Math.max(...ys) - y, along.at(-1), ...[one, two, three].flatMap(where)].map((each) => Math.round(each * 16));
  for (let at = 0; at < asked.length; at += 2) out.push(inside(asked[at], asked[at + 1]) ? 16 : 0);
  return out;
}
function answer([, measures]) {
  return measures.flatMap((measure) => ({ s: () => path(measure), A: () => [], e: () => [0, 0], h: () => measure.slice(1).flatMap((_, at) => (at % 2 ? [] : [0])) })[measure[0]]?.() ?? [0, 0, 1600, 320]);
}
const probe = ({ draw, programs }) => ({ draw, answers: claim === 'none' || claim === 'error' ? claim : programs.map(answer) });

// --- One try ---
const { JSDOM } = createRequire(pathToFileURL(`${job.modules}/`))('jsdom');
const { window } = new JSDOM('<!doctype html><title>Contact</title><body>', { runScripts: 'outside-only', url: job.page, beforeParse: shim });
const call = async (route, body) => JSON.parse(await ask('POST', `/v1/browser/${route}`, JSON.stringify(body)));
async function run(challengeId) {
  const text = await ask('GET', `/v1/browser/instrument?challengeId=${challengeId}`);
  return new Promise((resolve) => {
    window[`agentgate:${challengeId}`] = resolve;
    window.eval(text);
  });
}
function evidence() {
  const { signals, interaction } = structuredClone(job.recorded);
  for (const facts of [signals, signals.frame, signals.worker]) if (facts?.userAgent) facts.userAgent = agent;
  for (const name of ['durationMs', 'pointerMoves', 'straightness', 'variation']) {
    if (interaction[name]) interaction[name] = Math.round(interaction[name] * noise(101, 120)) / (Number.isInteger(interaction[name]) ? 100 : 1e2) || 0;
    if (Number.isInteger(job.recorded.interaction[name])) interaction[name] = Math.round(interaction[name]);
  }
  if (claim === 'none') {
    signals.screen = { ...signals.screen, isTop: false };
    interaction.pointerMoves = interaction.clicks = 0;
  }
  return { signals, interaction };
}
function press(stepUp, interaction) {
  const [[x1, y1], [x2, y2]] = stepUp.places;
  const field = [216, 72];
  const reach = Math.hypot(((x2 - x1) * field[0]) / 100, ((y2 - y1) * field[1]) / 100);
  const steps = [160, reach].map((far, at) => {
    const moves = Math.round(noise(14, 30));
    interaction.pointerMoves += moves;
    interaction.clicks += 1;
    return {
      input: 'pointer', afterMs: at ? stepUp.waitMs + noise(260, 500) : noise(900, 1400), trusted: true,
      press: { moves, wayPx: far * noise(1.05, 1.2), reachPx: far, travelMs: noise(300, 700), holdMs: noise(60, 120), offX: noise(-9, 9), offY: noise(-9, 9), sizePx: 1, strokePx: far, bendPx: noise(4, 12), pace: noise(1.6, 2.2) },
    };
  });
  return { kind: stepUp.kind, field, steps, work: solve(stepUp.work), ...(stepUp.probes ? { probes: probe(stepUp.probes) } : {}) };
}
const known = { schema: 1, siteKey: job.site_key, action: job.action };
for (let number = 0; number < job.tries; number++) {
  const challenge = await call('challenge', known);
  if (!challenge.challengeId) throw new Error(`no challenge: ${JSON.stringify(challenge)}`);
  const body = { ...known, challengeId: challenge.challengeId, work: solve(challenge.work), instrument: { page: await run(challenge.challengeId) }, ...evidence() };
  if (challenge.probes) body.probes = probe(challenge.probes);
  let verdict = await call('verify', body);
  if (verdict.stepUp) {
    await new Promise((resolve) => setTimeout(resolve, verdict.stepUp.waitMs + 2500));
    body.answer = press(verdict.stepUp, body.interaction);
    verdict = await call('verify', body);
  }
  if (verdict.token) await fetch(`${job.origin}/send`, { method: 'POST', body: new URLSearchParams({ 'agentgate-token': verdict.token }) });
}
process.exit(0);
