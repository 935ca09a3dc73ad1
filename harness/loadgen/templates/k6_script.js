// SPDX-License-Identifier: Apache-2.0
// What k6 runs. Reads plan.json beside it; each request is one logged row of samples.csv.

import { sleep } from "k6";
import exec from "k6/execution";
import http from "k6/http";
import { Counter } from "k6/metrics";

const plan = JSON.parse(open("./plan.json"));
// Until the first arrival of a queue is due: time for all virtual users to begin.
const LEAD_MS = 100;
const renewals = new Counter("renewals");
// When this virtual user's connection was opened, by k6's clock; null: its next request opens one.
let opened_ms = null;
let opened_before = false;
// How many connections this virtual user has had before.
let had = 0;
// How many other texts of a right JSON value are kept, so that each is parsed once.
const MOST_TEXTS = 64;
const carried = new RegExp(`^${plan.carried}$`);

export const options = plan.options;

// k6's clock since the start of the test has fractions of a millisecond and the wall clock has not:
// both are read when the wall clock steps, so that rows can carry the finer time.
export function setup() {
  const before_ms = Date.now();
  let wall_ms = before_ms;
  while (wall_ms === before_ms) {
    wall_ms = Date.now();
  }
  const now_ms = exec.instance.currentTestRunDuration;
  return { zero_ms: wall_ms - now_ms, first_ms: now_ms + LEAD_MS };
}

function text(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}

// A text given in pieces: plain ones, and places of captured values.
function filled(pieces, values) {
  if (pieces.length === 1 && typeof pieces[0] === "string") {
    return pieces[0];
  }
  let whole = "";
  for (const piece of pieces) {
    if (typeof piece === "string") {
      whole += piece;
    } else {
      whole += piece.as_json ? JSON.stringify(values[piece.name]) : text(values[piece.name]);
    }
  }
  return whole;
}

class Step {
  constructor(step) {
    const quote = /[",\r\n]/.test(step.name);
    this.name = quote ? `"${step.name.replace(/"/g, '""')}"` : step.name;
    this.method = step.method;
    this.path = step.path;
    this.body = step.body;
    this.headers = Object.entries(step.headers);
    this.status = step.status;
    this.capture = Object.entries(step.capture);
    this.right = step.right;
    this.json = step.json;
    this.reads = this.right !== null || this.capture.length > 0;
    this.fixed = this.headers.every(([, pieces]) => pieces.length <= 1 && typeof pieces[0] !== "object");
    this.params = this.fixed ? this.prepare({}) : null;
  }

  prepare(values) {
    const headers = {};
    for (const [name, pieces] of this.headers) {
      headers[name] = filled(pieces, values);
    }
    if (plan.host !== null && headers["Host"] === undefined) {
      headers["Host"] = plan.host;
    }
    return { headers, redirects: 0, timeout: plan.timeout, responseType: this.reads ? "text" : "none" };
  }

  // Ask, judge, log; true when the answer was right. What waited for its turn counts from when it was due.
  ask(clock, values, due_ms) {
    const url = plan.bases[had % plan.bases.length] + filled(this.path, values);
    const body = this.body === null ? null : filled(this.body, values);
    let params = this.params || this.prepare(values);
    const began_ms = exec.instance.currentTestRunDuration;
    const renews = is_old(began_ms);
    if (renews) {
      params = { ...params, headers: { ...params.headers, Connection: "close" } };
    }
    const response = http.request(this.method, url, body, params);
    let took_ms = response.timings.blocked + response.timings.duration;
    if (response.status === 0) {
      // no answer, so k6 has no times of it
      took_ms = exec.instance.currentTestRunDuration - began_ms;
    }
    const fault = this.fault(response, values);
    const from_ms = due_ms === null ? began_ms : due_ms;
    took_ms += began_ms - from_ms;
    const start_s = ((clock.zero_ms + from_ms) / 1000).toFixed(6);
    console.log(`${start_s},${took_ms.toFixed(6)},${fault === ""},${this.name},${fault}`);
    if (renews) {
      renewals.add(1);
      opened_ms = null;
      had += 1;
    }
    return fault === "";
  }

  // What is wrong with an answer, without commas: a csv field. Empty: nothing.
  fault(response, values) {
    if (response.status === 0) {
      return `error ${response.error_code}`;
    }
    if (response.status !== this.status) {
      return `status ${response.status}`;
    }
    if (this.capture.length > 0) {
      let answer;
      try {
        answer = JSON.parse(response.body);
      } catch {
        return `no ${this.capture[0][0]}`;
      }
      for (const [name, way] of this.capture) {
        const value = at(answer, way);
        if (value === undefined || !carried.test(text(value))) {
          return `no ${name}`;
        }
        values[name] = value;
      }
    }
    return this.right === null || this.is_right(response.body, values) ? "" : "wrong body";
  }

  // Texts are compared first; only a text that is new is parsed and compared as a value.
  is_right(body, values) {
    if (this.right.some((pieces) => filled(pieces, values) === body)) {
      return true;
    }
    const value = this.json ? value_of(body) : undefined;
    if (value === undefined || !this.right.some((pieces) => value_of(filled(pieces, values)) === value)) {
      return false;
    }
    if (this.right.length < MOST_TEXTS && this.right.every((pieces) => typeof pieces[0] === "string")) {
      this.right.push([body]);
    }
    return true;
  }
}

// A JSON text with its keys in order and without blanks; undefined: it is none.
function value_of(text) {
  try {
    return JSON.stringify(JSON.parse(text), (_, value) =>
      value !== null && typeof value === "object" && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).sort())
        : value,
    );
  } catch {
    return undefined;
  }
}

// Whether this virtual user's connection is to be closed after the request that begins now.
function is_old(now_ms) {
  if (plan.renew_ms === null) {
    return false;
  }
  if (opened_ms === null) {
    const share = opened_before ? 0 : (exec.vu.idInTest % plan.n_connections) / plan.n_connections;
    opened_ms = now_ms - share * plan.renew_ms;
    opened_before = true;
  }
  return now_ms - opened_ms >= plan.renew_ms;
}

// The value at the end of a way of keys and indexes; undefined: nothing there that can be carried on.
function at(answer, way) {
  let value = answer;
  for (const part of way) {
    const is_way = Array.isArray(value) ? typeof part === "number" : typeof part === "string";
    if (value === null || typeof value !== "object" || !is_way || !Object.hasOwn(value, part)) {
      return undefined;
    }
    value = value[part];
  }
  // a whole number beyond 2^53 would be sent on as another one
  const fits = ["string", "boolean"].includes(typeof value) || Number.isSafeInteger(value);
  return fits ? value : undefined;
}

const steps = plan.steps.map((step) => new Step(step));
let asked_before = false;

function think() {
  if (!asked_before) {
    asked_before = true;
    if (plan.stagger_s > 0) {
      sleep(plan.stagger_s * (exec.vu.idInTest - 1));
    }
  } else if (plan.think_time_s > 0) {
    sleep(plan.think_time_s);
  }
}

// Sleep until this arrival is due. Returns when that was if it had been due before it was taken, else null.
function wait_until_due(clock) {
  if (plan.due === null) {
    return null;
  }
  const number = exec.scenario.iterationInTest;
  const begin_ms = plan.due.begins_ms[Math.floor(number / plan.arrivals)];
  const due_ms = clock.first_ms + begin_ms + (number % plan.arrivals) * plan.due.every_ms;
  const early_ms = due_ms - exec.instance.currentTestRunDuration;
  if (early_ms <= 0) {
    return due_ms;
  }
  sleep(early_ms / 1000);
  return null; // it was in time, and a late timer is not the service's
}

// One iteration: a request of the mix, or a pass through the flow that ends at its first wrong answer.
export default function (clock) {
  const turn = exec.scenario.iterationInTest;
  if (plan.arrivals !== null && plan.due === null && turn >= plan.arrivals) {
    return; // k6 counts both ends of the time: 21 arrivals in a second at 20 per second
  }
  let due_ms = wait_until_due(clock);
  const values = {};
  if (!plan.flow) {
    think();
    steps[plan.round[turn % plan.round.length]].ask(clock, values, due_ms);
    return;
  }
  for (const step of steps) {
    think();
    if (!step.ask(clock, values, due_ms)) {
      return;
    }
    due_ms = null; // the steps after the first are due when the one before is answered
  }
}

// k6's own count of what it did and could not do.
export function handleSummary(data) {
  const count = (name) => (data.metrics[name] ? data.metrics[name].values.count : 0);
  const totals = { iterations: count("iterations"), dropped_iterations: count("dropped_iterations") };
  if (plan.renew_ms !== null) {
    totals.renewals = count("renewals");
  }
  return { "totals.json": `${JSON.stringify(totals)}\n` };
}
