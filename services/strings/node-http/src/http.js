// SPDX-License-Identifier: Apache-2.0
// Routes, limits and answers.

import http from "node:http";

import { count, upper, work } from "./strings.js";
import { BadRequest, readRequest } from "./request.js";

const LARGEST_BODY = 65536;
const UP = JSON.stringify({ status: "up" });
const JSON_TYPE = "application/json";

/** Path -> the method it takes and what it answers to a body. */
const ROUTES = {
  "/uppercase": { method: "POST", answer: (body) => ({ v: upper(readRequest(body, false).s) }) },
  "/count": { method: "POST", answer: (body) => ({ v: count(readRequest(body, false).s) }) },
  "/work": {
    method: "POST",
    answer: (body) => {
      const { s, factor } = readRequest(body, true);
      return work(s, factor);
    },
  },
};

/** The server of the contract's matched face. */
export function stringServer(log, metrics) {
  return withLimits(
    http.createServer({ noDelay: true }, (request, response) => {
      const path = request.url.split("?", 1)[0];
      if (path === "/health" || path === "/metrics") return answerAbout(path, request, response, metrics);
      const asked = { began: process.hrtime.bigint(), path, request, route: ROUTES[path] };
      const done = (status, body, headers) => {
        const text = Buffer.from(JSON.stringify(body), "utf8");
        note(asked, status, text.length, log, metrics);
        send(response, status, text, headers);
      };
      if (asked.route === undefined) return done(404, { error: "not_found" });
      if (request.method !== asked.route.method) {
        return done(405, { error: "method_not_allowed" }, { Allow: asked.route.method });
      }
      return readBody(request, (body) => {
        if (body === null) return done(413, { error: "body_too_large" }, { Connection: "close" });
        asked.bytesIn = body.length;
        return answer(asked.route, body, done);
      });
    }),
  );
}

/** The baseline of `rematch bench services`: the same server, a constant answer, nothing else. */
export function leanServer() {
  return withLimits(
    http.createServer({ noDelay: true }, (request, response) => {
      if (request.url === "/health" && request.method === "GET") return send(response, 200, UP);
      if (request.url === "/uppercase" && request.method === "POST") {
        return readBody(request, () => send(response, 200, '{"v":"HELLO"}'));
      }
      return send(response, 404, '{"error":"not_found"}');
    }),
  );
}

function withLimits(server) {
  server.keepAliveTimeout = 0; // an idle connection stays open, as with the other implementations
  server.on("clientError", (_problem, socket) => {
    if (!socket.writable) return socket.destroy();
    const body = '{"error":"bad_request"}';
    return socket.end(
      `HTTP/1.1 400 Bad Request\r\nContent-Type: ${JSON_TYPE}\r\nContent-Length: ${body.length}\r\n` +
        `Connection: close\r\n\r\n${body}`,
    );
  });
  return server;
}

/** Call `done` with the whole body, or with null as soon as it is known to be too large. */
function readBody(request, done) {
  if (Number(request.headers["content-length"] ?? 0) > LARGEST_BODY) return done(null);
  const chunks = [];
  let length = 0;
  request.on("data", (chunk) => {
    if (length > LARGEST_BODY) return;
    length += chunk.length;
    if (length > LARGEST_BODY) done(null);
    else chunks.push(chunk);
  });
  request.on("end", () => {
    if (length <= LARGEST_BODY) done(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
  });
  return undefined;
}

function answer(route, body, done) {
  let made;
  try {
    made = route.answer(body);
  } catch (problem) {
    if (problem instanceof BadRequest) return done(400, { error: problem.message });
    process.stderr.write(`${problem.stack}\n`);
    return done(500, { error: "internal" });
  }
  return done(200, made);
}

function answerAbout(path, request, response, metrics) {
  if (request.method !== "GET") {
    return send(response, 405, '{"error":"method_not_allowed"}', { Allow: "GET" });
  }
  if (path === "/health") return send(response, 200, UP);
  return send(response, 200, metrics.text(), { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" });
}

function send(response, status, text, headers = {}) {
  response.writeHead(status, { "Content-Type": JSON_TYPE, "Content-Length": Buffer.byteLength(text), ...headers });
  response.end(text);
}

function note({ began, path, request, route, bytesIn = 0 }, status, bytesOut, log, metrics) {
  const tookUs = Number((process.hrtime.bigint() - began) / 1000n);
  const shown = route === undefined ? "other" : path;
  metrics.count(shown, status, tookUs / 1e6);
  log.line({
    method: request.method,
    path: shown,
    status,
    bytesIn: Number(request.headers["content-length"] ?? bytesIn),
    bytesOut,
    tookUs,
  });
}
