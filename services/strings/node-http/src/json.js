// SPDX-License-Identifier: Apache-2.0
// A strict reader of JSON. JSON.parse accepts what the contract refuses: a key twice, lone surrogates, any depth,
// and it loses how a number was written.

const DEEPEST = 64;
const SPACE = /[ \t\r\n]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const ESCAPES = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const LONE_SURROGATE = /\p{Surrogate}/u;
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export class InvalidJson extends Error {}

/** A number as it was written. */
export class JsonNumber {
  constructor(text) {
    this.text = text;
  }

  /** Its value when it is written as an integer, of any size; else undefined. */
  integer() {
    return /^-?[0-9]+$/.test(this.text) ? BigInt(this.text) : undefined;
  }
}

/** Read one JSON text. Objects become Maps; throws InvalidJson. */
export function parse(bytes) {
  let text;
  try {
    text = UTF8.decode(bytes);
  } catch {
    throw new InvalidJson("not UTF-8");
  }
  const reader = new Reader(text);
  const value = reader.value(1);
  reader.end();
  return value;
}

class Reader {
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  /** What matches from here on; it is passed over. */
  match(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0] ?? "";
    this.at += found.length;
    return found;
  }

  /** The next character that is no white space, or "" at the end; it is not passed over. */
  next() {
    this.match(SPACE);
    return this.text.charAt(this.at);
  }

  take(character) {
    if (this.next() !== character) throw new InvalidJson(`${character} expected at ${this.at}`);
    this.at += 1;
  }

  end() {
    if (this.next() !== "") throw new InvalidJson(`text after the end at ${this.at}`);
  }

  value(depth) {
    switch (this.next()) {
      case "{":
        return this.object(depth);
      case "[":
        return this.array(depth);
      case '"':
        return this.string();
      case "t":
        return this.word("true", true);
      case "f":
        return this.word("false", false);
      case "n":
        return this.word("null", null);
      default:
        return this.number();
    }
  }

  object(depth) {
    if (depth > DEEPEST) throw new InvalidJson("nested too deeply");
    const members = new Map();
    this.take("{");
    if (this.next() === "}") {
      this.at += 1;
      return members;
    }
    for (;;) {
      if (this.next() !== '"') throw new InvalidJson(`a key expected at ${this.at}`);
      const key = this.string();
      if (members.has(key)) throw new InvalidJson("a key twice");
      this.take(":");
      members.set(key, this.value(depth + 1));
      if (this.next() !== ",") break;
      this.at += 1;
    }
    this.take("}");
    return members;
  }

  array(depth) {
    if (depth > DEEPEST) throw new InvalidJson("nested too deeply");
    const items = [];
    this.take("[");
    if (this.next() === "]") {
      this.at += 1;
      return items;
    }
    for (;;) {
      items.push(this.value(depth + 1));
      if (this.next() !== ",") break;
      this.at += 1;
    }
    this.take("]");
    return items;
  }

  string() {
    this.at += 1;
    let made = this.match(PLAIN);
    while (this.text.charAt(this.at) === "\\") {
      made += this.escape() + this.match(PLAIN);
    }
    if (this.text.charAt(this.at) !== '"') throw new InvalidJson(`a string does not end at ${this.at}`);
    this.at += 1;
    if (LONE_SURROGATE.test(made)) throw new InvalidJson("a lone surrogate");
    return made;
  }

  escape() {
    const letter = this.text.charAt(this.at + 1);
    if (letter === "u") {
      const digits = this.text.slice(this.at + 2, this.at + 6);
      if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw new InvalidJson(`bad escape at ${this.at}`);
      this.at += 6;
      return String.fromCharCode(Number.parseInt(digits, 16));
    }
    if (!Object.hasOwn(ESCAPES, letter)) throw new InvalidJson(`bad escape at ${this.at}`);
    this.at += 2;
    return ESCAPES[letter];
  }

  word(text, value) {
    if (!this.text.startsWith(text, this.at)) throw new InvalidJson(`unknown word at ${this.at}`);
    this.at += text.length;
    return value;
  }

  number() {
    const text = this.match(NUMBER);
    if (text === "") throw new InvalidJson(`a value expected at ${this.at}`);
    return new JsonNumber(text);
  }
}
