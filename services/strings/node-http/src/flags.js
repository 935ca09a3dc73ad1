// SPDX-License-Identifier: Apache-2.0
// The command line: `--flag value` and `--flag=value`; anything else is refused in one line.

export class UsageError extends Error {}

const CHOICES = {
  face: ["matched"], // there is no published program in JavaScript to repeat
  logging: ["off", "on"],
  "log-sink": ["null", "file", "pipe"],
};
const TEXTS = ["host", "port", "log-file"];

export function readFlags(words) {
  const given = { host: "127.0.0.1", face: "matched", logging: "off", "log-sink": "null" };
  const rest = [...words];
  while (rest.length > 0) {
    const word = rest.shift();
    const [, name, , attached] = /^--([a-z-]+)(=([^]*))?$/.exec(word) ?? [];
    if (name === "lean" && attached === undefined) {
      given.lean = true;
      continue;
    }
    if (!Object.hasOwn(CHOICES, name ?? "") && !TEXTS.includes(name)) {
      const known = [...Object.keys(CHOICES), ...TEXTS, "lean"].map((one) => `--${one}`).join(", ");
      throw new UsageError(`unknown flag ${JSON.stringify(word)}; allowed: ${known}`);
    }
    const value = attached ?? rest.shift();
    if (value === undefined) throw new UsageError(`--${name} needs a value`);
    if (Object.hasOwn(CHOICES, name) && !CHOICES[name].includes(value)) {
      throw new UsageError(`--${name}: found ${JSON.stringify(value)}; allowed: ${CHOICES[name].join(", ")}`);
    }
    given[name] = value;
  }
  return checked(given);
}

function checked(given) {
  if (!/^\d{1,5}$/.test(given.port ?? "") || Number(given.port) > 65535) {
    throw new UsageError(`--port: found ${JSON.stringify(given.port ?? null)}; allowed: 0 to 65535`);
  }
  if (given["log-sink"] === "file" && !given["log-file"]) {
    throw new UsageError("--log-sink=file needs --log-file");
  }
  return {
    host: given.host,
    port: Number(given.port),
    logging: given.logging === "on",
    sink: given["log-sink"],
    file: given["log-file"],
    lean: given.lean === true,
  };
}
