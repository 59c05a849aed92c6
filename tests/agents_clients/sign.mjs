// Signs one request with each Node.js client. Reads {method, url, body, headers, agent, created, expires, jwk, keyid} from
// standard input and writes {client: headers} to standard output. Nothing is sent.
import { createHash, createPrivateKey, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { signatureHeaders } from "web-bot-auth";
import { signerFromJWK } from "web-bot-auth/crypto";
import { appendSignature, component, createSignature, webcrypto } from "http-message-sig";
import { fetch as signedFetch } from "@hellocoop/httpsig";

const require = createRequire(import.meta.url);
const { createSigner, httpbis } = require("http-message-signatures");
const { createHeaders } = require("@interledger/http-signature-utils");

const { method, url, body, headers: given, agent, created, expires, jwk, keyid } = JSON.parse(readFileSync(0, "utf8"));
const from = new Date(created * 1000);
const until = new Date(expires * 1000);
const nonce = () => randomBytes(64).toString("base64");
const withBody = body === null ? {} : { body };
const headers = { ...given };
if (body !== null) {
  headers["content-digest"] = `sha-256=:${createHash("sha256").update(body).digest("base64")}:`;
}
const extra = Object.keys(headers);
const asString = { ...headers, "signature-agent": `"${agent}"` };
const asMember = { ...headers, "signature-agent": `sig1="${agent}"` };
const privateKey = createPrivateKey({ key: jwk, format: "jwk" });
const signed = {};

async function webBotAuth(sent, how) {
  const made = await signatureHeaders(
    new Request(url, { method, headers: sent, ...withBody }),
    await signerFromJWK(jwk),
    { created: from, expires: until, ...how },
  );
  return { ...sent, "signature-input": made["Signature-Input"], signature: made.Signature };
}

async function httpMessageSig(sent, agentComponent) {
  const key = await crypto.subtle.importKey("jwk", jwk, { name: "Ed25519" }, false, ["sign"]);
  const request = new Request(url, { method, headers: sent, ...withBody });
  const fields = await createSignature(request, {
    label: "sig1",
    components: ["@method", "@authority", "@path", "@query", ...extra, agentComponent],
    parameters: { created, expires, keyid, nonce: nonce(), tag: "web-bot-auth" },
    signer: webcrypto.signer(key),
  });
  const all = Object.fromEntries(appendSignature(new Headers(sent), fields));
  return { ...sent, "signature-input": all["signature-input"], signature: all.signature };
}

async function httpMessageSignatures(sent, agentField) {
  const request = await httpbis.signMessage(
    {
      key: createSigner(privateKey, "ed25519", keyid),
      name: "sig1",
      params: ["created", "expires", "keyid", "alg", "nonce", "tag"],
      paramValues: { created: from, expires: until, nonce: nonce(), tag: "web-bot-auth" },
      fields: ["@method", "@target-uri", ...extra, agentField],
    },
    { method, url, headers: sent },
  );
  return request.headers;
}

const components = ["@authority", "@method", "@path", ...extra, "signature-agent"];
signed["web-bot-auth"] = await webBotAuth(asString, { components });
signed["web-bot-auth, default components"] = await webBotAuth(asString, {});
signed["http-message-sig, string"] = await httpMessageSig(asString, "signature-agent");
signed["http-message-sig, member"] = await httpMessageSig(asMember, component("signature-agent", { key: "sig1" }));
signed["http-message-signatures (npm), string"] = await httpMessageSignatures(asString, "signature-agent");
signed["http-message-signatures (npm), member"] = await httpMessageSignatures(asMember, '"signature-agent";key="sig1"');
signed["@interledger/http-signature-utils"] = {
  ...asString,
  ...(await createHeaders({ request: { method, url, headers: { ...asString }, ...withBody }, privateKey, keyId: keyid })),
};
const dry = await signedFetch(url, {
  method, headers: asString, ...withBody, signingKey: { ...jwk, alg: "Ed25519" }, signatureKey: { type: "hwk" }, dryRun: true,
});
signed["@hellocoop/httpsig"] = Object.fromEntries(dry.headers);
process.stdout.write(JSON.stringify(signed));
