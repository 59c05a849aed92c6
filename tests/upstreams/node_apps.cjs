// Express 4 and 5, Fastify 4 and 5, Koa and node's own server, each on a port of its own.
// Prints the ports as JSON, and the reason where one is missing; ends with its standard input.
'use strict';
const http = require('node:http');
const legacy = require('node:url');
const path = require('node:path');
const querystring = require('node:querystring');

const HANDLERS = JSON.parse(process.env.HANDLERS);
const HEADER = 'X-Handler';
const OVERRIDES = ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override'];

function listen(server) {
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address().port)));
}

async function expressApp(name) {
  const express = require(name);
  const override = require('method-override');
  const app = express();
  app.use(express.urlencoded({ extended: true }));
  for (const header of OVERRIDES) app.use(override(header));
  app.use(override('_method'));
  app.use(override((request) => (request.body || {})._method));
  for (const [handler, method, route] of HANDLERS) {
    app[method.toLowerCase()](route, (_, response) => response.set(HEADER, handler).send('ok'));
  }
  app.use((error, _request, response, _next) => response.status(error.status || 500).end());
  return listen(http.createServer(app));
}

async function fastifyApp(name) {
  const lenient = { caseSensitive: false, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true };
  const options = name === 'fastify4' ? lenient : { routerOptions: { ...lenient, useSemicolonDelimiter: true } };
  const app = require(name)(options);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, payload, done) => {
    payload.resume();
    payload.on('end', () => done(null));
  });
  for (const [handler, method, url] of HANDLERS) {
    app.route({ method, url, handler: (_, reply) => reply.header(HEADER, handler).send('ok') });
  }
  await app.listen({ port: 0, host: '127.0.0.1' });
  return app.server.address().port;
}

async function koaApp() {
  const Koa = require('koa');
  const { Router } = require('@koa/router');
  const app = new Koa();
  app.silent = true;
  const router = new Router();
  for (const [handler, method, route] of HANDLERS) {
    router.register(route, [method], (context) => {
      context.set(HEADER, handler);
      context.body = 'ok';
    });
  }
  app.use(router.routes());
  return listen(http.createServer(app.callback()));
}

const attempt = (read) => {
  try {
    return read();
  } catch {
    return null;
  }
};

// What programs without a framework do with request.url.
function plainReadings(request) {
  const target = request.url;
  const host = request.headers.host || 'h';
  const names = [
    () => new URL(target, 'http://h').pathname,
    () => new URL(`http://${host}${target}`).pathname,
    () => legacy.parse(target).pathname,
    () => legacy.parse(target, false, true).pathname,
    () => target.split('?')[0],
  ].map(attempt);
  const texts = names.filter(Boolean).flatMap((name) => [
    name,
    attempt(() => decodeURIComponent(name)),
    querystring.unescape(name),
  ]);
  return texts.filter(Boolean).flatMap((text) => [
    text,
    path.posix.normalize(text),
    path.win32.normalize(text).replaceAll('\\', '/'),
  ]);
}

function plainApp() {
  const patterns = HANDLERS.map(([handler, method, route]) => [handler, method, new RegExp(`^${route}/?$`, 'iu')]);
  const server = http.createServer((request, response) => {
    const texts = plainReadings(request);
    const methods = [request.method === 'HEAD' ? 'GET' : request.method];
    for (const name of OVERRIDES) methods.push((request.headers[name.toLowerCase()] || '').toUpperCase());
    const ran = patterns.filter(
      ([, method, pattern]) => methods.includes(method) && texts.some((text) => pattern.test(text)),
    );
    if (ran.length) response.setHeader(HEADER, ran.map(([handler]) => handler).join(' '));
    response.statusCode = ran.length ? 200 : 404;
    request.resume();
    response.end('ok');
  });
  return listen(server);
}

async function main() {
  const starts = {
    node: plainApp,
    express4: () => expressApp('express4'),
    express5: () => expressApp('express'),
    fastify4: () => fastifyApp('fastify4'),
    fastify5: () => fastifyApp('fastify'),
    koa: koaApp,
  };
  const ports = {};
  for (const [name, start] of Object.entries(starts)) {
    try {
      ports[name] = await start();
    } catch (error) {
      if (error.code !== 'MODULE_NOT_FOUND') throw error;
      ports[name] = `the package is not installed: ${error.message.split('\n')[0]}`;
    }
  }
  process.stdout.write(`${JSON.stringify(ports)}\n`);
  process.stdin.on('end', () => process.exit(0)).resume();
}

process.removeAllListeners('warning');
main();
