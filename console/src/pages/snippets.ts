/** What to put where, for each stack: filled in with the site's key, its first action and this service's address. */

export interface Filled {
  gate: string;
  siteKey: string;
  action: string;
}

export interface Snippet {
  name: string;
  text: string;
}

export const PROXIES = ["nginx", "caddy", "haproxy", "apache", "traefik", "envoy"];
export const GROUPS: [string, string[]][] = [
  ["front", PROXIES],
  ["code", ["django", "flask", "fastapi", "express"]],
  ["page", ["react", "vue", "html"]],
  ["moving", ["turnstile", "recaptcha", "hcaptcha", "anubis"]],
];
export const NAMES: Record<string, string> = {
  nginx: "nginx",
  caddy: "Caddy",
  haproxy: "HAProxy",
  apache: "Apache",
  traefik: "Traefik",
  envoy: "Envoy",
  django: "Django",
  flask: "Flask",
  fastapi: "FastAPI",
  express: "Express",
  react: "React",
  vue: "Vue",
  html: "HTML",
  turnstile: "Turnstile",
  recaptcha: "reCAPTCHA",
  hcaptcha: "hCaptcha",
  anubis: "Anubis",
};

const html = ({ gate, siteKey, action }: Filled): Snippet => ({
  name: "index.html",
  text: `<script src="${gate}/sdk/v1/agentgate.js" crossorigin async defer></script>
<form method="post">
  <div class="agentgate" data-sitekey="${siteKey}" data-action="${action}"></div>
  <button>Send</button>
</form>`,
});

const curl = ({ gate, action }: Filled): Snippet => ({
  name: "curl",
  text: `curl -X POST "${gate}/v1/siteverify" \\
  -H "Authorization: Bearer $GATE_SECRET" \\
  -d '{"token": "…", "expectedAction": "${action}"}'`,
});

function moving(name: string, path: string): (filled: Filled) => Snippet[] {
  return ({ gate, siteKey }) => [
    {
      name: "HTML",
      text: `<script src="${gate}/sdk/v1/agentgate.js?compat=${name}" async defer></script>
<!-- data-sitekey="${siteKey}" -->`,
    },
    { name: "siteverify", text: `${gate}/compat/${path}` },
  ];
}

const MADE: Record<string, (filled: Filled) => Snippet[]> = {
  django: (filled) => [
    {
      name: "settings.py",
      text: `MIDDLEWARE = [..., "agentgate_client.django.AgentGateMiddleware"]
AGENTGATE = {
    "BASE_URL": "${filled.gate}",
    "SECRET": os.environ["GATE_SECRET"],
    "SITE_KEY": "${filled.siteKey}",
    "PROTECT": [("POST", "/${filled.action}", "${filled.action}")],
}`,
    },
    html(filled),
  ],
  flask: (filled) => [
    {
      name: "app.py",
      text: `from agentgate_client import Client
from agentgate_client.flask import agentgate_required, install

install(app, Client("${filled.gate}", os.environ["GATE_SECRET"]))

@app.post("/${filled.action}")
@agentgate_required(action="${filled.action}")
def ${filled.action}(): ...`,
    },
    html(filled),
  ],
  fastapi: (filled) => [
    {
      name: "app.py",
      text: `from agentgate_client import AsyncClient, Verified
from agentgate_client.starlette import install, require_token

install(app, AsyncClient("${filled.gate}", os.environ["GATE_SECRET"]))

@app.post("/${filled.action}")
async def ${filled.action}(verified: Annotated[Verified, Depends(require_token(action="${filled.action}"))]): ...`,
    },
    html(filled),
  ],
  express: (filled) => [
    {
      name: "server.js",
      text: `import { createClient } from "@agentgate/server";

const agentgate = createClient({ baseUrl: "${filled.gate}", secret: process.env.GATE_SECRET });

app.post("/${filled.action}", async (request, response) => {
  await agentgate.verify({ token: request.body["agentgate-token"], expectedAction: "${filled.action}" });
  response.send("ok");
});`,
    },
    html(filled),
  ],
  react: (filled) => [
    {
      name: "Form.jsx",
      text: `import { AgentGate } from "@agentgate/react";

<form method="post">
  <AgentGate src="${filled.gate}/sdk/v1/agentgate.js" sitekey="${filled.siteKey}" action="${filled.action}" />
  <button>Send</button>
</form>`,
    },
    curl(filled),
  ],
  vue: (filled) => [
    {
      name: "Form.vue",
      text: `<script setup>
import { AgentGate } from "@agentgate/vue";
import { ref } from "vue";
const token = ref("");
</script>

<template>
  <form method="post">
    <AgentGate
      v-model="token"
      src="${filled.gate}/sdk/v1/agentgate.js"
      sitekey="${filled.siteKey}"
      action="${filled.action}"
    />
    <button :disabled="!token">Send</button>
  </form>
</template>`,
    },
    curl(filled),
  ],
  html: (filled) => [html(filled), curl(filled)],
  turnstile: moving("turnstile", "turnstile/v0/siteverify"),
  recaptcha: moving("recaptcha", "recaptcha/api/siteverify"),
  hcaptcha: moving("hcaptcha", "hcaptcha/siteverify"),
};

/**
 * Returns what to put where; nothing for a proxy, whose files the service writes. Anubis stood in front: take nginx.
 */
export function snippets(stack: string, filled: Filled): Snippet[] {
  return MADE[stack]?.(filled) ?? [];
}

/** The proxy whose files the service writes for a stack, if any. */
export function proxyOf(stack: string): string | null {
  if (stack === "anubis") return "nginx";
  return PROXIES.includes(stack) ? stack : null;
}
