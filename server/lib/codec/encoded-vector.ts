/**
 * A vector in base64, where it lies in the bytes of an upstream's answer: most leave as they came, and a string of each
 * would be as much again for the garbage collector. It lives no longer than the answer; `String(it)` does.
 */
import type { Pieces } from "../chunked-bytes.ts";
import { type Checked, checkOnDesk, decodeOnDesk } from "./base64.ts";
import type { Soundness } from "./check-vector.ts";
import { deskFor } from "./wasm-memory.ts";

export class EncodedVector {
  /** How many numbers it has. */
  readonly numbers: number;
  /** Whether they can be believed. */
  readonly soundness: Soundness;
  readonly #answer: Pieces;
  readonly #from: number;
  readonly #to: number;

  private constructor(answer: Pieces, from: number, to: number, checked: Checked) {
    this.#answer = answer;
    this.#from = from;
    this.#to = to;
    this.numbers = checked.numbers;
    this.soundness = checked.soundness;
  }

  /** Undefined where it is not base64 of float32 numbers. */
  static in(answer: Pieces, from: number, to: number): EncodedVector | undefined {
    answer.copy(deskFor(to - from), 0, from, to);
    const checked = checkOnDesk(to - from);
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
  decoded(): Buffer<ArrayBuffer> {
    const length = this.#to - this.#from;
    const desk = deskFor(length);
    this.#answer.copy(desk, 0, this.#from, this.#to);
    // It was base64 when it came. If it is no more, it is not this vector any more.
    if (decodeOnDesk(length) !== this.numbers * 4) throw new Error("A vector has changed.");
    return desk.subarray(0, this.numbers * 4);
  }
}
