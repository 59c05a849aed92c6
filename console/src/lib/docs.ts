/** Where the documentation explains a page of the console, or a setting on it. */

const DOCS: Record<string, string> = {
  sites: "console",
  "new-site": "start-proxy",
  overview: "monitoring",
  decisions: "detection",
  visitors: "security-privacy",
  "ai-traffic": "agent-policy",
  appeals: "reduce-false-positives",
  install: "test-installation",
  rules: "write-rules",
  lists: "reduce-false-positives",
  agents: "agent-policy",
  settings: "allow-webhooks",
  webhooks: "webhooks",
  members: "console",
  tokens: "http-apis",
  audit: "console",
  account: "console",
  security: "console",
  service: "monitoring",
  customers: "console",
  "access-requests": "console",
  users: "console",
  outbox: "operations#mail",
  models: "train-model",
  labeling: "train-model",
  probes: "signals#layout-probes",
  "docs-feedback": "console",
  sessions: "sign-in-oidc",
};

/** A page of the documentation, with the heading after a `#`. */
export type Topic =
  | "detection#assistants"
  | "protect-applications#catch-crawlers-with-decoys"
  | "feed-firewall"
  | "signals#clusters"
  | "write-rules#load"
  | "write-rules#network-lists"
  | "allow-webhooks"
  | "allow-webhooks#suggestions"
  | "gateway#headers-that-name-another-target"
  | "signals#wanted-clients"
  | "browser-check#private-access-tokens"
  | "challenge-page#without-javascript"
  | "console#notices"
  | "sign-in-oidc"
  | "agent-policy#set-the-ai-use"
  | "agent-policy#prices"
  | "protect-applications"
  | "protect-hosting"
  | "operations#key-rotation"
  | "operations#timed-jobs"
  | "signals#import-threat-data"
  | "verify-tokens";

export function docsOf(path: string): string | undefined {
  const parts = path.split("/").filter(Boolean);
  return DOCS[parts.at(-1) ?? ""] ?? DOCS[parts.at(-2) ?? ""];
}
