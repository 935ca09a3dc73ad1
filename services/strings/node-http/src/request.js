// SPDX-License-Identifier: Apache-2.0
// From a body to what was asked, or to the first error of the contract that applies.

import { InvalidJson, JsonNumber, parse } from "./json.js";

const DEFAULT_FACTOR = 10;

/** Bad input, answered with 400 and its code. */
export class BadRequest extends Error {}

/** Return {s} or, for a route with a factor, {s, factor}. */
export function readRequest(bytes, withFactor) {
  const members = parsed(bytes);
  const text = members.get("s");
  const factor = members.get("factor");
  const asked = factor instanceof JsonNumber ? factor.integer() : undefined;
  if (members.has("s") && typeof text !== "string") throw new BadRequest("wrong_type");
  if (withFactor && members.has("factor") && asked === undefined) throw new BadRequest("wrong_type");
  for (const key of members.keys()) {
    if (key !== "s" && !(withFactor && key === "factor")) throw new BadRequest("unknown_field");
  }
  if (text === undefined) throw new BadRequest("missing_field");
  if (text === "") throw new BadRequest("empty_string");
  if (!withFactor) return { s: text };
  if (asked !== undefined && (asked < 0n || asked > 1000n)) throw new BadRequest("out_of_range");
  return { s: text, factor: asked === undefined ? DEFAULT_FACTOR : Number(asked) };
}

function parsed(bytes) {
  let value;
  try {
    value = parse(bytes);
  } catch (problem) {
    if (problem instanceof InvalidJson) throw new BadRequest("invalid_json");
    throw problem;
  }
  if (!(value instanceof Map)) throw new BadRequest("wrong_type");
  return value;
}
