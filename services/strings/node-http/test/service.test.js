// SPDX-License-Identifier: Apache-2.0
// The service as a process: every case of the contract, its flags, its log and its end.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const SERVICE = path.join(HERE, "..", "src");
const CASES = fs
  .readFileSync(path.join(HERE, "..", "..", "contract", "cases.jsonl"), "utf8")
  .split("\n")
  .filter((line) => line.trim() !== "")
  .map((line) => JSON.parse(line))
  .filter((one) => one.face === "matched" && [undefined, null, "javascript"].includes(one.language));

async function started(...flags) {
  const child = spawn(process.execPath, [SERVICE, "--port", "0", ...flags], { stdio: ["ignore", "pipe", "pipe"] });
  const port = await new Promise((resolve, reject) => {
    let said = "";
    child.stderr.on("data", (chunk) => {
      said += chunk;
      const found = /^listening host=127\.0\.0\.1 port=(\d+)$/m.exec(said);
      if (found) resolve(Number(found[1]));
    });
    child.once("exit", () => reject(new Error(`it ended before it listened: ${said}`)));
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  return { child, port, ended };
}

function bodyOf(request) {
  if (request.body_base64 !== undefined) return Buffer.from(request.body_base64, "base64");
  if (request.body_repeat !== undefined) {
    const { prefix = "", unit, count, suffix = "" } = request.body_repeat;
    return Buffer.from(prefix + unit.repeat(count) + suffix);
  }
  return Buffer.from(request.body ?? "");
}

function ask(agent, port, request) {
  const body = bodyOf(request);
  const headers = { ...request.headers, ...(body.length > 0 ? { "Content-Length": body.length } : {}) };
  return new Promise((resolve, reject) => {
    const sent = http.request({ agent, port, method: request.method, path: request.path, headers }, (response) => {
      const chunks = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("end", () =>
        resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks).toString() }),
      );
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

test("every case of the matched face is answered as the contract says", async () => {
  assert.ok(CASES.length > 100);
  const { child, port, ended } = await started();
  const agent = new http.Agent({ keepAlive: true });
  const failures = [];
  for (const { name, request, expect } of CASES) {
    const answer = await ask(agent, port, request);
    const right =
      answer.status === expect.status &&
      (expect.body === undefined || answer.body === expect.body) &&
      Object.entries(expect.headers ?? {}).every(([header, value]) => answer.headers[header.toLowerCase()] === value);
    if (!right) failures.push(`${name}: ${answer.status} ${answer.body.slice(0, 80)}`);
  }
  agent.destroy();
  child.kill("SIGTERM");
  assert.deepEqual(failures, []);
  assert.equal(await ended, 0);
});

test("the log has one line per request of a workload path, and the metrics count it", async () => {
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "strings-")), "access.log");
  const { child, port, ended } = await started("--logging=on", "--log-sink", "file", "--log-file", file);
  const agent = new http.Agent();
  await ask(agent, port, { method: "GET", path: "/health" });
  await ask(agent, port, { method: "POST", path: "/uppercase", body: '{"s":"hello"}' });
  const metrics = (await ask(agent, port, { method: "GET", path: "/metrics" })).body;
  child.kill("SIGTERM");
  assert.equal(await ended, 0);
  assert.match(
    fs.readFileSync(file, "utf8"),
    /^ts=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z method=POST path=\/uppercase status=200 bytes_in=13 bytes_out=13 took_us=\d+\n$/,
  );
  assert.match(metrics, /^http_requests_total\{path="\/uppercase",status="200"\} 1$/m);
  assert.match(metrics, /^http_request_duration_seconds_count\{path="\/uppercase"\} 1$/m);
});

test("a flag or value it does not know ends it with status 2 and one line", () => {
  for (const words of [["--port", "0", "--colour"], ["--port=x"], ["--port", "0", "--face=published"], []]) {
    const done = spawnSync(process.execPath, [SERVICE, ...words], { encoding: "utf8" });
    assert.equal(done.status, 2, words.join(" "));
    assert.match(done.stderr, /^[^\n]+allowed: [^\n]+\n$/);
  }
});

test("a port that is taken ends it with status 1 and one line", async () => {
  const { child, port, ended } = await started();
  const done = spawnSync(process.execPath, [SERVICE, "--port", String(port)], { encoding: "utf8" });
  child.kill("SIGTERM");
  await ended;
  assert.equal(done.status, 1);
  assert.match(done.stderr, /^[^\n]+\n$/);
});
