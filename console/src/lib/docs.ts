/** The page of the documentation that explains a page of the console. */

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
};

export function docsOf(path: string): string | undefined {
  const last = path.split("/").filter(Boolean).at(-1) ?? "";
  return DOCS[last];
}
