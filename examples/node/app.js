// A Node server whose sign-up needs a token. Run: GATE_URL=... GATE_SECRET=... node app.js
// In a project of your own: import from "@agentgate/server". With Express the guard goes before the handler.

import { createServer } from "node:http";
import { createClient, expressGuard } from "../../packages/server/index.js";

const agentgate = createClient({ baseUrl: process.env.GATE_URL, secret: process.env.GATE_SECRET });
const guard = expressGuard(agentgate, { action: "signup" });

const server = createServer((req, res) => {
  if (req.method !== "POST" || req.url !== "/signup") {
    res.writeHead(404).end();
    return;
  }
  guard(req, res, () => {
    res.setHeader("content-type", "application/json");
    res.end(JSON.stringify({ welcome: "you", decision: req.agentgate.decisionId }));
  });
});
server.listen(Number(process.env.PORT ?? 3000), "127.0.0.1");
