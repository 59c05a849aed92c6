// Retries, odd answers, guards and offline verification, against servers on loopback.

import assert from "node:assert/strict";
import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { createServer } from "node:http";
import { test } from "node:test";
import { Unavailable, VerificationFailed, createClient, createOfflineVerifier, expressGuard, fastifyGuard, fetchGuard } from "../index.js";

const NOW_S = 1_800_000_000;
const SITE = "site_shop0001";
const now = () => NOW_S * 1000;

function signer() {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const { x } = publicKey.export({ format: "jwk" });
  const kid = createHash("sha256").update(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`).digest("base64url");
  const encode = (value) => Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
  let made = 0;
  const signed = (claims, header = {}) => {
    const text = `${encode({ alg: "EdDSA", kid, typ: "agentgate-receipt+jwt", ...header })}.${encode(claims)}`;
    return `${text}.${sign(null, Buffer.from(text), privateKey).toString("base64url")}`;
  };
  const receipt = (changes = {}) => {
    made += 1;
    return signed({
      iss: "http://gate.example", aud: SITE, jti: `rcp_${kid}_${made}`, iat: NOW_S, exp: NOW_S + 120, kind: "browser",
      action: "signup", sub: "f".repeat(16), decisionId: "dec_0000000000000", origin: "https://shop.example", ...changes,
    });
  };
  return { kid, receipt, signed, keys: { keys: [{ kty: "OKP", crv: "Ed25519", kid, x }] } };
}

async function serving(behaviors, use) {
  const bodies = [];
  const server = createServer(async (req, res) => {
    let body = "";
    for await (const chunk of req) body += chunk;
    bodies.push(body);
    await behaviors[Math.min(bodies.length, behaviors.length) - 1](req, res, body);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  try {
    await use(`http://127.0.0.1:${server.address().port}`, bodies);
  } finally {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  }
}

const answer = (status, body, headers = {}) => (_req, res) => res.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body));
const echo = (_req, res, body) => {
  const { requestId, expectedAction } = JSON.parse(body);
  res.end(JSON.stringify({ success: true, requestId, action: expectedAction, decisionId: "dec_1" }));
};
const nowhere = "http://127.0.0.1:9";
const failing = (code) => (error) => error instanceof VerificationFailed && error.code === code;

test("one request ID is kept over all attempts", async () => {
  await serving([answer(503, { success: false, error: "unavailable" }), (req) => req.socket.destroy(), echo], async (baseUrl, bodies) => {
    const verified = await createClient({ baseUrl, secret: "ags_x" }).verify({ token: "a.b.c", expectedAction: "signup" });

    assert.equal(verified.source, "service");
    assert.deepEqual(bodies.map((body) => JSON.parse(body).requestId), Array(3).fill(verified.requestId));
  });
});

test("a refusal is told at once with its code", async () => {
  await serving([answer(409, { success: false, error: "token_used", message: "used" })], async (baseUrl, bodies) => {
    await assert.rejects(createClient({ baseUrl, secret: "ags_x" }).verify({ token: "a.b.c", expectedAction: "signup" }), failing("token_used"));
    assert.equal(bodies.length, 1);
  });
});

for (const [name, behavior] of Object.entries({
  "no JSON": answer(200, "<html>"),
  "another question's answer": answer(200, { success: true, requestId: "other", action: "signup" }),
  "success that is not true": answer(200, { success: "true" }),
  "a redirect": answer(302, "", { location: "http://127.0.0.1:9/" }),
  "too many requests": answer(429, { success: false, error: "rate_limited" }),
  "a body that is cut off": (_req, res) => { res.writeHead(200, { "content-length": "500" }); res.write("{"); setTimeout(() => res.destroy(), 20); },
})) {
  test(`an answer that makes no sense never counts as success: ${name}`, async () => {
    await serving([behavior], async (baseUrl) => {
      await assert.rejects(createClient({ baseUrl, secret: "ags_x", retries: 0 }).verify({ token: "a.b.c", expectedAction: "signup" }), Unavailable);
    });
  });
}

test("a slow service costs no more than the deadline", async () => {
  await serving([() => new Promise(() => {})], async (baseUrl) => {
    const started = performance.now();
    await assert.rejects(createClient({ baseUrl, secret: "ags_x", timeoutMs: 150, retries: 1 }).verify({ token: "a.b.c", expectedAction: "signup" }), Unavailable);
    assert.ok(performance.now() - started < 3000);
  });
});

test("nobody there is unavailable unless told to fail open", async () => {
  const asked = { token: "a.b.c", expectedAction: "signup" };
  await assert.rejects(createClient({ baseUrl: nowhere, secret: "ags_x", retries: 0 }).verify(asked), Unavailable);
  const verified = await createClient({ baseUrl: nowhere, secret: "ags_x", retries: 0, failOpen: true }).verify(asked);
  assert.equal(verified.source, "unchecked");
});

test("what cannot be a token is refused without a call", async () => {
  const client = createClient({ baseUrl: nowhere, secret: "ags_x" });
  for (const token of ["", "a.b", "a.b.c.d", "a.b.c\n", `${"a".repeat(3000)}.b.c`, undefined, 5, ["a.b.c"]]) {
    await assert.rejects(client.verify({ token, expectedAction: "signup" }), failing("invalid_token"));
  }
});

test("wrong settings are refused at once", () => {
  assert.throws(() => createClient({ baseUrl: "gate.example", secret: "ags_x" }), TypeError);
  assert.throws(() => createClient({ baseUrl: nowhere, secret: "" }), TypeError);
  assert.throws(() => createClient({ baseUrl: nowhere, secret: "a\r\nb" }), TypeError);
  assert.throws(() => createClient({ baseUrl: nowhere, secret: "ags_x", offline: true }), TypeError);
});

test("offline: a right token is accepted once, and its own repetition gets the same answer", async () => {
  const ours = signer();
  const verifier = createOfflineVerifier({ keys: ours.keys, siteKey: SITE, now });
  const token = ours.receipt({ cData: "basket" });
  const asked = { token, expectedAction: "signup", expectedOrigin: "HTTPS://shop.example:443", requestId: "order-1" };
  const first = await verifier.verify(asked);

  assert.equal(first.source, "offline");
  assert.equal(first.visitorId, "f".repeat(16));
  assert.equal(first.cData, "basket");
  assert.deepEqual(await verifier.verify(asked), first);
  await assert.rejects(verifier.verify({ ...asked, requestId: "order-2" }), failing("token_used"));
});

test("offline: of many at once one wins", async () => {
  const ours = signer();
  const verifier = createOfflineVerifier({ keys: ours.keys, siteKey: SITE, now });
  const token = ours.receipt();
  const outcomes = await Promise.allSettled(Array.from({ length: 50 }, () => verifier.verify({ token, expectedAction: "signup" })));

  assert.equal(outcomes.filter((outcome) => outcome.status === "fulfilled").length, 1);
});

test("offline: what is no receipt for this site, time and action is refused", async () => {
  const ours = signer();
  const stranger = signer();
  const good = ours.receipt();
  const duplicate = '{"aud":"site_shop0001","aud":"site_shop0001","iss":"x"}';
  const verifier = createOfflineVerifier({ keys: ours.keys, siteKey: SITE, now });
  const cases = [
    ["invalid_token", stranger.receipt()],
    ["invalid_token", stranger.signed({}, { kid: ours.kid })],
    ...["none", "HS256", "eddsa", null, ["EdDSA"]].map((alg) => ["invalid_token", ours.signed({}, { alg })]),
    ...[{ typ: "JWT" }, { kid: "__proto__" }, { crit: [] }, { jwk: {} }].map((header) => ["invalid_token", ours.signed({}, header)]),
    ["invalid_token", ours.signed("[]")],
    ["invalid_token", ours.signed(duplicate)],
    ["invalid_token", `${good.slice(0, -1)}${String.fromCharCode(good.charCodeAt(good.length - 1) + 1)}`],
    ["invalid_token", ours.receipt({ aud: "site_other001" })],
    ["invalid_token", ours.receipt({ iat: NOW_S + 6 })],
    ["invalid_token", ours.receipt({ test: true })],
    ["invalid_token", ours.receipt({ kind: "other" })],
    ["invalid_token", ours.receipt({ exp: String(NOW_S + 120) })],
    ["expired_token", ours.receipt({ exp: NOW_S })],
    ["action_mismatch", ours.receipt({ action: "login" })],
    ["origin_mismatch", ours.receipt({ origin: "https://other.example" })],
  ];
  for (const [code, token] of cases) {
    await assert.rejects(verifier.verify({ token, expectedAction: "signup", expectedOrigin: "https://shop.example" }), failing(code), token);
  }
});

test("offline: keys are fetched once, found when new, and kept while the service is away", async () => {
  const ours = signer();
  const next = signer();
  const both = { keys: [...ours.keys.keys, ...next.keys.keys] };
  let time = 0;
  await serving([answer(200, ours.keys, { "cache-control": "max-age=300" }), answer(200, both), answer(503, {})], async (baseUrl, bodies) => {
    const verifier = createOfflineVerifier({ baseUrl, siteKey: SITE, now, monotonic: () => time });
    const ask = (from) => verifier.verify({ token: from.receipt(), expectedAction: "signup" });
    await ask(ours);
    await ask(ours);
    await assert.rejects(ask(next), failing("invalid_token"));
    assert.equal(bodies.length, 1);
    time = 60_000;
    await ask(next);
    assert.equal(bodies.length, 2);
    time = 1_000_000;
    await ask(next);
    assert.equal(bodies.length, 3);
    time = 60_000 + 86_400_000;
    await assert.rejects(ask(next), Unavailable);
  });
});

test("a client whose service is away accepts by signature, keeps the question, and refuses a second use", async () => {
  const ours = signer();
  const kept = [];
  await serving([answer(200, ours.keys), (req) => req.socket.destroy()], async (baseUrl) => {
    const client = createClient({ baseUrl, secret: "ags_x", siteKey: SITE, retries: 0, offline: true, onOffline: (question) => void kept.push(question), now });
    assert.equal(await client.refreshKeys(), true);
    const token = ours.receipt();
    const verified = await client.verify({ token, expectedAction: "signup" });

    assert.equal(verified.source, "offline");
    assert.deepEqual(kept.map((question) => question.requestId), [verified.requestId]);
    await assert.rejects(client.verify({ token, expectedAction: "signup" }), failing("token_used"));
    await assert.rejects(client.verify({ token: signer().receipt(), expectedAction: "signup" }), failing("invalid_token"));
  });
});

const verdicts = {
  "good.to.ken": { source: "service", decisionId: "dec_1" },
  "bad.to.ken": new VerificationFailed("token_used", "used"),
  "wrong.secret.x": new VerificationFailed("invalid_credential", "secret"),
  "away.to.ken": new Unavailable("away", "r"),
};
const judge = {
  async verify({ token }) {
    if (verdicts[token] instanceof Error) throw verdicts[token];
    return verdicts[token];
  },
};
const expected = { "good.to.ken": 200, "bad.to.ken": 403, "wrong.secret.x": 503, "away.to.ken": 503, "": 401 };

test("the Express guard answers refusals and hands the result on", async (context) => {
  context.mock.method(console, "error", () => {});
  const guard = expressGuard(judge, { action: "signup" });
  await serving([(req, res) => guard(req, res, () => res.end(req.agentgate.decisionId))], async (baseUrl) => {
    for (const [token, status] of Object.entries(expected)) {
      const reply = await fetch(baseUrl, { method: "POST", headers: { "x-agentgate-token": token } });
      assert.equal(reply.status, status);
      if (status === 401) assert.equal(reply.headers.get("x-service-reason"), "receipt_required");
      if (status === 503) assert.equal((await reply.json()).error, "unavailable");
    }
  });
});

test("the Express guard reads a parsed form", async () => {
  let passed = false;
  const req = { headers: {}, body: { "agentgate-token": "good.to.ken" } };
  await expressGuard(judge, { action: "signup" })(req, {}, () => (passed = true));

  assert.ok(passed);
});

test("the Fastify guard replies or lets the handler run", async () => {
  const guard = fastifyGuard(judge, { action: "signup" });
  const sent = [];
  const reply = { code: (status) => (sent.push(status), reply), headers: () => reply, send: (body) => (sent.push(JSON.parse(body).error), reply) };
  const request = { headers: { "x-agentgate-token": "good.to.ken" }, body: null };

  assert.equal(await guard(request, reply), undefined);
  assert.equal(request.agentgate.decisionId, "dec_1");
  assert.equal(await guard({ headers: {}, body: null }, reply), reply);
  assert.deepEqual(sent, [401, "receipt_required"]);
});

test("the fetch guard reads header and form and leaves the body to the handler", async () => {
  const handler = fetchGuard(judge, { action: "signup" }, async (request, verified) => Response.json({ id: verified.decisionId, body: await request.text() }));
  const post = (body, headers) => handler(new Request("http://shop.example/signup", { method: "POST", body, headers }));

  const byForm = await post(new URLSearchParams({ name: "ann", "agentgate-token": "good.to.ken" }));
  assert.deepEqual(await byForm.json(), { id: "dec_1", body: "name=ann&agentgate-token=good.to.ken" });
  assert.equal((await post("{}", { "x-agentgate-token": "good.to.ken" })).status, 200);
  assert.equal((await post("{}", { "x-agentgate-token": "bad.to.ken" })).status, 403);
  assert.equal((await post("{}")).status, 401);
});

test("the fetch guard sends the address that the platform knows", async () => {
  const sent = [];
  const client = { verify: async (question) => (sent.push(question.remoteAddress), { decisionId: "dec_1" }) };
  const options = { action: "signup", visitorAddress: (_request, info) => info.address };
  const handler = fetchGuard(client, options, () => new Response("welcome"));
  const request = () => new Request("http://shop.example/signup", { headers: { "x-agentgate-token": "good.to.ken" } });

  await handler(request(), { address: "203.0.113.9" });
  await handler(request(), { address: "10.0.0.7" });
  await handler(request(), {});
  assert.deepEqual(sent, ["203.0.113.9", undefined, undefined]);
});
