/**
 * A base64 vector within the bytes of an upstream response (zero copy): most vectors are sent on unchanged, and a
 * string of each would double the garbage. It is valid only as long as the response; `String(vector)` is a copy.
 */
import type { ChunkedBytes } from "../chunked-bytes.ts";
import { type CheckedVector, checkInWasm, decodeInWasm, type VectorValidity } from "./base64.ts";
import { wasmBuffer } from "./wasm-memory.ts";

export class EncodedVector {
  /** The number of float32 values. */
  readonly dimensions: number;
  /** Finite and not all zero. */
  readonly validity: VectorValidity;
  readonly #response: ChunkedBytes;
  readonly #from: number;
  readonly #to: number;

  private constructor(response: ChunkedBytes, from: number, to: number, checked: CheckedVector) {
    this.#response = response;
    this.#from = from;
    this.#to = to;
    this.dimensions = checked.dimensions;
    this.validity = checked.validity;
  }

  /** Undefined if the text is not base64 of float32 numbers. */
  static parse(response: ChunkedBytes, from: number, to: number): EncodedVector | undefined {
    response.copy(wasmBuffer(to - from), 0, from, to);
    const checked = checkInWasm(to - from);
    return checked && new EncodedVector(response, from, to, checked);
  }

  /** A view: to be copied before the response is released. */
  view(): Uint8Array {
    return this.#response.view(this.#from, this.#to);
  }

  toString(): string {
    return this.#response.text(this.#from, this.#to);
  }

  /** Its numbers as bytes: a view, which the next decoding overwrites. */
  decode(): Buffer<ArrayBuffer> {
    const length = this.#to - this.#from;
    const buffer = wasmBuffer(length);
    this.#response.copy(buffer, 0, this.#from, this.#to);
    // It was valid base64 on arrival. Anything else means that its memory was reused.
    if (decodeInWasm(length) !== this.dimensions * 4) throw new Error("A vector has changed.");
    return buffer.subarray(0, this.dimensions * 4);
  }
}
