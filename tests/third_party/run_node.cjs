// Runs a row's program with the packages of the folder it is started in: prints a verdict for each token.
const { createRequire } = require("node:module");
const net = require("node:net");
const path = require("node:path");

const given = JSON.parse(process.argv[2]);
const packages = createRequire(path.join(process.cwd(), "package.json"));
const express = packages("express");

// Resolves the vendors' names as the server's hosts file would.
const { connect } = net.Socket.prototype;
net.Socket.prototype.connect = function (...values) {
  const normalized = Array.isArray(values[0]);
  const [options, ...rest] = normalized ? values[0] : values;
  if (!given.names.includes(options?.host)) return connect.apply(this, values);
  return connect.call(this, { ...options, host: "127.0.0.1", port: given.port }, ...rest);
};

// Sends a body to an application that lets a middleware decide; says whether it was let through.
async function posted(middleware, body) {
  const app = express();
  app.use(express.json());
  app.post("/", middleware, (_request, response) => response.send("accepted"));
  app.use((error, _request, response, _next) => response.status(400).send(String(error)));
  const server = app.listen(0, "127.0.0.1");
  await new Promise((ready) => server.once("listening", ready));
  const options = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const reply = await fetch(`http://127.0.0.1:${server.address().port}/`, options);
  const text = await reply.text();
  server.close();
  return text === "accepted";
}

const scope = { require: packages, posted, ...given };
const names = ["require", "posted", "url", "domain", "secret", "sitekey"];
const verify = new Function(...names, `${given.program}; return verify;`)(...names.map((name) => scope[name]));

(async () => {
  const told = [];
  for (const token of given.tokens) {
    told.push(
      await Promise.resolve(verify(token)).then(Boolean, (error) => {
        console.error(error);
        return false;
      }),
    );
  }
  console.log(JSON.stringify(told));
  process.exit(0);
})();
