/** The size of JSON values, and large request bodies, which are serialized when they are sent and released after that. */

import type { BorrowedBytes } from "./borrowed-bytes.ts";
import { releaseBuffer } from "./byte-memory.ts";
import { nextTurn } from "./tasks.ts";

/** The approximate characters of a number and its comma. */
const numberLength = 6;
/** A list or an object takes as much time as this many characters. */
const containerLength = 64;

/** Whether the JSON text of the value is longer than `maxLength`, by an estimate that stops at this length. */
export const isLongJson = (value: unknown, maxLength: number): boolean =>
  lengthLeft(value, maxLength) < 0;

/** The estimated length of the value's JSON text. More than `maxLength`: the estimate stopped there. */
export const jsonLength = (value: unknown, maxLength: number): number =>
  maxLength - lengthLeft(value, maxLength);

/**
 * `left` minus the estimated length of the value's JSON text. Negative: the text is longer than `left`, and the
 * estimate stopped there.
 */
function lengthLeft(value: unknown, left: number): number {
  if (typeof value === "string") return left - value.length - 3;
  if (typeof value !== "object" || value === null) return left - numberLength;
  let rest = left - containerLength;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && rest >= 0; at++) {
      const entry: unknown = value[at];
      rest = typeof entry === "number" ? rest - numberLength : lengthLeft(entry, rest);
    }
    return rest;
  }
  for (const name in value) {
    rest = lengthLeft((value as Readonly<Record<string, unknown>>)[name], rest - name.length - 3);
    if (rest < 0) break;
  }
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
    await nextTurn();
    const text = this.text();
    await nextTurn();
    this.#bytes = Buffer.from(text);
  }

  get length(): number {
    return this.bytes.length;
  }

  get bytes(): Buffer {
    this.#bytes ??= Buffer.from(this.text());
    return this.#bytes;
  }

  get chunks(): readonly Buffer[] {
    return [this.bytes];
  }

  async *open(): AsyncGenerator<BorrowedBytes> {
    yield this.bytes;
  }

  text(): string {
    return JSON.stringify(this.#value);
  }

  /**
   * Releases the bytes, which will not be sent again. Left to the garbage collector, a body takes up to 9.9 times its
   * size, and the limit is 10 (`npm run bench -- bodies --check`).
   */
  release(): void {
    if (this.#bytes) releaseBuffer(this.#bytes);
    this.#bytes = undefined;
  }
}

/** Longer extra fields are not sorted, compared or copied while other requests wait. */
const maxExtraLength = 64 * 1024;

export const areLargeExtraFields = (extraFields: object): boolean =>
  isLongJson(extraFields, maxExtraLength);

/** Whether an object has no members. Reads at most the first member, and allocates no list of them. */
export function isEmptyObject(object: object): boolean {
  for (const _ in object) return false;
  return true;
}
