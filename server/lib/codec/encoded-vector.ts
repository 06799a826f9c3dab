/**
 * A vector in base64, where it lies in the bytes of an upstream's answer: most leave as they came, and a string of each
 * would be as much again for the garbage collector. It lives no longer than the answer; `String(it)` does.
 */
import type { ChunkedBytes } from "../chunked-bytes.ts";
import { type CheckedVector, checkInWasm, decodeInWasm } from "./base64.ts";
import type { VectorValidity } from "./check-vector.ts";
import { wasmBuffer } from "./wasm-memory.ts";

export class EncodedVector {
  /** How many numbers it has. */
  readonly dimensions: number;
  /** Whether they can be believed. */
  readonly validity: VectorValidity;
  readonly #answer: ChunkedBytes;
  readonly #from: number;
  readonly #to: number;

  private constructor(answer: ChunkedBytes, from: number, to: number, checked: CheckedVector) {
    this.#answer = answer;
    this.#from = from;
    this.#to = to;
    this.dimensions = checked.dimensions;
    this.validity = checked.validity;
  }

  /** Undefined where it is not base64 of float32 numbers. */
  static parse(answer: ChunkedBytes, from: number, to: number): EncodedVector | undefined {
    answer.copy(wasmBuffer(to - from), 0, from, to);
    const checked = checkInWasm(to - from);
    return checked && new EncodedVector(answer, from, to, checked);
  }

  /** To be copied before the answer is gone. */
  view(): Uint8Array {
    return this.#answer.view(this.#from, this.#to);
  }

  toString(): string {
    return this.#answer.text(this.#from, this.#to);
  }

  /** Its numbers as bytes: a view, which is overwritten by the next. */
  decode(): Buffer<ArrayBuffer> {
    const length = this.#to - this.#from;
    const desk = wasmBuffer(length);
    this.#answer.copy(desk, 0, this.#from, this.#to);
    // It was base64 when it came. If it is no more, it is not this vector any more.
    if (decodeInWasm(length) !== this.dimensions * 4) throw new Error("A vector has changed.");
    return desk.subarray(0, this.dimensions * 4);
  }
}
