// With the real service, which the Python tests start: its address, a secret and tokens come in the environment.

import assert from "node:assert/strict";
import { test } from "node:test";
import { VerificationFailed, createClient } from "../index.js";

const { AGENTGATE_TEST_GATE } = process.env;
const gate = AGENTGATE_TEST_GATE ? JSON.parse(AGENTGATE_TEST_GATE) : undefined;
const options = { skip: gate ? false : "started by the Python tests only" };
const failing = (code) => (error) => error instanceof VerificationFailed && error.code === code;

test("a token is redeemed once, and a repeated call gets the same answer", options, async () => {
  const client = createClient({ baseUrl: gate.url, secret: gate.secret, timeoutMs: 5000 });
  const asked = { token: gate.tokens[0], expectedAction: "signup", requestId: "order-1" };
  const first = await client.verify(asked);

  assert.equal(first.siteKey, gate.siteKey);
  assert.equal(first.decisionId, "dec_0000000000000");
  assert.deepEqual(await client.verify(asked), first);
  await assert.rejects(client.verify({ ...asked, requestId: undefined }), failing("token_used"));
});

test("answers lost after the commit end in exactly one success", options, async () => {
  const client = createClient({ baseUrl: gate.lossyUrl, secret: gate.secret, timeoutMs: 5000 });
  const verified = await client.verify({ token: gate.tokens[1], expectedAction: "signup" });

  assert.equal(verified.source, "service");
  const other = createClient({ baseUrl: gate.url, secret: gate.secret });
  await assert.rejects(other.verify({ token: gate.tokens[1], expectedAction: "signup" }), failing("token_used"));
});

test("service and offline verifier agree about a token", options, async () => {
  const client = createClient({ baseUrl: gate.url, secret: gate.secret, siteKey: gate.siteKey, now: () => gate.nowMs });
  const asked = { token: gate.tokens[2], expectedAction: "signup", requestId: "order-3" };
  const offline = await client.verifyOffline(asked);
  const online = await client.verify(asked);

  assert.equal(offline.source, "offline");
  const { issuedAt, expiresAt } = online;
  assert.deepEqual({ ...offline, source: "service", issuedAt, expiresAt }, online);
  assert.equal(Date.parse(offline.expiresAt), Date.parse(expiresAt));
});

test("wrong action, wrong secret and test secrets have their codes", options, async () => {
  const verify = (secret, token, expectedAction = "signup") => createClient({ baseUrl: gate.url, secret }).verify({ token, expectedAction });

  await assert.rejects(verify(gate.secret, gate.tokens[3], "login"), failing("action_mismatch"));
  await assert.rejects(verify("ags_wrong", gate.tokens[3]), failing("invalid_credential"));
  await assert.rejects(verify("ags_test_token_spent", gate.testToken), failing("token_used"));
  assert.equal((await verify("ags_test_always_pass", gate.testToken)).test, true);
});
