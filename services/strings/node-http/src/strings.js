// SPDX-License-Identifier: Apache-2.0
// What the service computes. Case mapping is the simple one of Unicode: one code point gives one code point.

// Their full upper case has two code points, their simple one has one: alpha, eta and omega with iota subscript.
const SIMPLE_UPPER = new Map([
  ...[0x1f80, 0x1f90, 0x1fa0].flatMap((first) =>
    Array.from({ length: 8 }, (_, n) => [first + n, first + n + 8]),
  ),
  [0x1fb3, 0x1fbc],
  [0x1fc3, 0x1fcc],
  [0x1ff3, 0x1ffc],
].map(([lower, upper]) => [String.fromCodePoint(lower), String.fromCodePoint(upper)]));
const SIMPLE_LOWER = new Map([["\u0130", "i"]]);

function simple(point, mapped, exceptions) {
  const exception = exceptions.get(point);
  if (exception !== undefined) return exception;
  return mapped.length === String.fromCodePoint(mapped.codePointAt(0)).length ? mapped : point;
}

const ASCII = /^[\x00-\x7f]*$/;

export function upper(text) {
  if (ASCII.test(text)) return text.toUpperCase();
  return Array.from(text, (point) => simple(point, point.toUpperCase(), SIMPLE_UPPER)).join("");
}

export function lower(text) {
  if (ASCII.test(text)) return text.toLowerCase();
  return Array.from(text, (point) => simple(point, point.toLowerCase(), SIMPLE_LOWER)).join("");
}

export const reversed = (text) => Array.from(text).reverse().join("");

export function count(text) {
  let points = 0;
  for (const _ of text) points += 1;
  return points;
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** CRC-32 (IEEE), as an unsigned number. */
export function crc32(bytes) {
  let value = 0xffffffff;
  for (const byte of bytes) value = (value >>> 8) ^ CRC_TABLE[(value ^ byte) & 0xff];
  return (value ^ 0xffffffff) >>> 0;
}

/** The answer to /work: three texts, and `factor` checksums, each over the one before and the texts. */
export function work(text, factor) {
  const made = { upper: upper(text), lower: lower(text), reversed: reversed(text) };
  const first = crc32(Buffer.from(text, "utf8"));
  const hashed = Buffer.concat([Buffer.alloc(4), Buffer.from(made.upper + made.lower + made.reversed, "utf8")]);
  let score = first;
  for (let step = 0; step < factor; step += 1) {
    hashed.writeUInt32BE(score);
    score = crc32(hashed);
  }
  return { ...made, crc32: first.toString(16).padStart(8, "0"), factor, score };
}
