/** The size of JSON values, and large request bodies, which are serialized when they are sent and freed after that. */

import type { BorrowedBytes } from "./borrowed-bytes.ts";
import { freeMemory } from "./byte-memory.ts";
import { serveOthers } from "./tasks.ts";

/** Values that are shorter are serialized at once. */
const largeLength = 256 * 1024;

/** The approximate characters of a token and its comma. */
const tokenLength = 6;

/** Whether the JSON text of the value is longer than `largeLength`, by an estimate that stops at this length. */
export const isLongJson = (value: unknown): boolean => lengthLeft(value, largeLength) < 0;

/**
 * `left` minus the estimated length of the value's JSON text. Negative: the text is longer than `left`, and the
 * estimate stopped there.
 */
function lengthLeft(value: unknown, left: number): number {
  if (typeof value === "string") return left - value.length - 3;
  if (typeof value !== "object" || value === null) return left - tokenLength;
  let rest = left - 3;
  if (!Array.isArray(value)) {
    for (const name in value) {
      rest = lengthLeft((value as Readonly<Record<string, unknown>>)[name], rest - name.length - 3);
      if (rest < 0) break;
    }
    return rest;
  }
  if (typeof value[0] === "number") return rest - tokenLength * value.length;
  for (let at = 0; at < value.length && rest >= 0; at++) rest = lengthLeft(value[at], rest);
  return rest;
}

/** A large request body. Its bytes are those of JSON.stringify(value). */
export class LargeJson {
  readonly #value: unknown;
  #bytes: Buffer | undefined;

  constructor(value: unknown) {
    this.#value = value;
  }

  /** Serializes the value before its bytes are needed, in two steps: other requests are served before each. */
  async serialize(): Promise<void> {
    await serveOthers();
    const text = this.text();
    await serveOthers();
    this.#bytes = Buffer.from(text);
  }

  get length(): number {
    return this.bytes.length;
  }

  get bytes(): Buffer {
    this.#bytes ??= Buffer.from(this.text());
    return this.#bytes;
  }

  async *open(): AsyncGenerator<BorrowedBytes> {
    yield this.bytes;
  }

  text(): string {
    return JSON.stringify(this.#value);
  }

  /** Frees the bytes, which will not be sent again. */
  free(): void {
    if (this.#bytes) freeMemory(this.#bytes);
    this.#bytes = undefined;
  }
}

const maxValues = 1024;
const maxCharacters = 64 * 1024;

/**
 * Whether a JSON value is large: more values, or more characters, than code may sort, compare or copy while other
 * requests wait. The count stops at the bound, so the check takes microseconds for any value.
 */
export const isLargeJson = (value: unknown): boolean => new Count().isBeyond(value);

class Count {
  #values = 0;
  #characters = 0;

  /** Adds the value, and stops at the first bound that is passed. */
  isBeyond(value: unknown): boolean {
    this.#values += 1;
    if (typeof value === "string") this.#characters += value.length;
    if (this.#values > maxValues || this.#characters > maxCharacters) return true;
    if (typeof value !== "object" || value === null) return false;
    if (Array.isArray(value)) return value.some((entry) => this.isBeyond(entry));
    for (const name in value) {
      this.#characters += name.length;
      if (this.isBeyond((value as Readonly<Record<string, unknown>>)[name])) return true;
    }
    return false;
  }
}

/** Whether an object has no members. Reads at most the first member, and allocates no list of them. */
export function isEmptyObject(object: object): boolean {
  for (const _ in object) return false;
  return true;
}
