// SPDX-License-Identifier: Apache-2.0
// The access log and the metrics of the contract.

import fs from "node:fs";
import { performance, PerformanceObserver } from "node:perf_hooks";

const BOUNDS_S = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** One logfmt line per request; Node's stream collects the lines of one turn of the event loop. */
export class AccessLog {
  constructor({ logging, sink, file }) {
    this.stream = null;
    if (!logging) return;
    const target = sink === "file" ? file : "/dev/null";
    this.stream = sink === "pipe" ? process.stdout : fs.createWriteStream(target, { flags: "a" });
  }

  line({ method, path, status, bytesIn, bytesOut, tookUs }) {
    if (this.stream === null) return;
    this.stream.write(
      `ts=${timestamp()} method=${method} path=${path} status=${status}` +
        ` bytes_in=${bytesIn} bytes_out=${bytesOut} took_us=${tookUs}\n`,
    );
  }

  close(done) {
    if (this.stream === null || this.stream === process.stdout) done();
    else this.stream.end(done);
  }
}

/** UTC with microseconds. */
function timestamp() {
  const us = Math.floor((performance.timeOrigin + performance.now()) * 1000);
  const micro = String(us % 1000).padStart(3, "0");
  return `${new Date(Math.floor(us / 1000)).toISOString().slice(0, -1)}${micro}Z`;
}

/** Counters and histograms by path, and what V8 says of its heap and its collections. */
export class Metrics {
  constructor() {
    this.requests = new Map();
    this.durations = new Map();
    this.collections = { n: 0, seconds: 0 };
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        this.collections.n += 1;
        this.collections.seconds += entry.duration / 1000;
      }
    }).observe({ entryTypes: ["gc"] });
  }

  count(path, status, seconds) {
    const key = `path="${path}",status="${status}"`;
    this.requests.set(key, (this.requests.get(key) ?? 0) + 1);
    let seen = this.durations.get(path);
    if (seen === undefined) {
      seen = { buckets: new Array(BOUNDS_S.length).fill(0), n: 0, seconds: 0 };
      this.durations.set(path, seen);
    }
    seen.n += 1;
    seen.seconds += seconds;
    const at = BOUNDS_S.findIndex((bound) => seconds <= bound);
    if (at >= 0) seen.buckets[at] += 1;
  }

  text() {
    const lines = ["# TYPE http_requests_total counter"];
    for (const [labels, n] of this.requests) lines.push(`http_requests_total{${labels}} ${n}`);
    lines.push("# TYPE http_request_duration_seconds histogram");
    for (const [path, seen] of this.durations) lines.push(...histogram(path, seen));
    const { rss, heapTotal, heapUsed } = process.memoryUsage();
    for (const [name, type, value] of [
      ["process_resident_memory_bytes", "gauge", rss],
      ["nodejs_heap_size_total_bytes", "gauge", heapTotal],
      ["nodejs_heap_size_used_bytes", "gauge", heapUsed],
      ["nodejs_gc_total", "counter", this.collections.n],
      ["nodejs_gc_seconds_total", "counter", this.collections.seconds],
    ]) {
      lines.push(`# TYPE ${name} ${type}`, `${name} ${value}`);
    }
    return `${lines.join("\n")}\n`;
  }
}

function* histogram(path, seen) {
  const name = "http_request_duration_seconds";
  let below = 0;
  for (const [at, bound] of BOUNDS_S.entries()) {
    below += seen.buckets[at];
    yield `${name}_bucket{path="${path}",le="${bound}"} ${below}`;
  }
  yield `${name}_bucket{path="${path}",le="+Inf"} ${seen.n}`;
  yield `${name}_sum{path="${path}"} ${seen.seconds}`;
  yield `${name}_count{path="${path}"} ${seen.n}`;
}
