/** Everything the fake can do wrong. Fields combine: `{ vectors: "shuffled", encoding: "gzip" }`. */

import type { RecordedRequest } from "./request.ts";

/** Where in the answer the connection breaks. */
export type Where = "before-headers" | "mid-headers" | "mid-body" | "after-body";

export interface Mischief {
  // Time
  /** Wait before the status line. */
  readonly delayMs?: number;
  /** Wait for this before the status line. */
  readonly until?: Promise<unknown>;
  /** Wait before each SSE event but the first. */
  readonly eventDelayMs?: number;
  /** The body in small pieces. */
  readonly trickle?: { readonly bytes: number; readonly everyMs: number };
  /** Never answer, or send the headers and half the body and then nothing more. */
  readonly hang?: "headers" | "body";
  /** Act before reading the request body, which is then never read. */
  readonly early?: boolean;

  // Another answer instead of the right one
  readonly fail?: FailureName;
  /** `retry-after` in seconds, or any text; needs an answer to ride on. */
  readonly retryAfter?: number | string;
  readonly retryAfterMs?: number;
  /** 307 to this address. */
  readonly redirect?: string;
  /** Anything else. */
  readonly reply?: {
    readonly status: number;
    readonly headers?: Record<string, string>;
    readonly body?: string | Uint8Array;
  };
  /** Added to the answer, whatever it is. */
  readonly headers?: Record<string, string>;

  // A broken connection
  /** TCP reset. */
  readonly reset?: Where;
  /** Orderly close, although more was announced. */
  readonly close?: Where;

  // The right answer, spoilt
  readonly vectors?: VectorMischief;
  readonly images?: "missing" | "extra" | "none" | "garbage" | "empty";
  /** No `usage`. */
  readonly usage?: "absent";
  readonly stream?: StreamMischief;
  /** `truncated` is well-formed HTTP around half a document; `close: "mid-body"` is not. */
  readonly body?: "truncated" | "empty" | "html" | "text";
  /** So many bytes of white space after the document, which stays valid JSON. */
  readonly huge?: number;
  /** `lie`: says gzip, is not. */
  readonly encoding?: "gzip" | "br" | "zstd" | "deflate" | "lie";
}

export type VectorMischief =
  | "missing" // one too few
  | "extra" // one too many
  | "none" // an empty list
  | "shuffled" // other order, true `index`
  | "lying-index" // right order, wrong `index`
  | "swapped" // two vectors change places, `index` counts up: cannot be noticed
  | "duplicate-index"
  | "no-index"
  | "nan" // NaN bits in base64, null in floats
  | "nan-literal" // not JSON
  | "infinite" // as nan
  | "zero"
  | "wrong-dimensions" // one short, every vector
  | "ragged" // one short, the last vector
  | "float" // floats although base64 was asked
  | "base64" // base64 although floats were asked
  | "odd-base64"; // not a multiple of four bytes

export type StreamMischief =
  | "cut" // connection closed in the middle of the last event
  | "ends-early" // clean end before the last event
  | "error" // an error event in place of the last
  | "json" // no stream at all
  | "done" // `data: [DONE]` at the end, as many imitations send
  | "crlf" // CRLF line ends and a comment, both legal
  | "empty"; // 200 and no event

export type FailureName =
  | "rate-limit"
  | "slow-down"
  | "quota"
  | "billing"
  | "credentials"
  | "forbidden"
  | "server-error"
  | "html"
  | "overloaded"
  | "bad-gateway"
  | "too-large"
  | "detail";

export interface Aim {
  /** How many requests it hits; 1 when not given. */
  readonly times?: number;
  readonly when?: (request: RecordedRequest) => boolean;
}

interface Entry {
  readonly mischief: Mischief;
  readonly when: (request: RecordedRequest) => boolean;
  left: number;
}

/** First match wins, in the order the scripts were given. */
export class Scripts {
  #entries: Entry[] = [];

  add(mischief: Mischief, { times = 1, when = () => true }: Aim = {}): void {
    this.#entries.push({ mischief, when, left: times });
  }

  clear(): void {
    this.#entries = [];
  }

  /** `early` ones are asked for before the request body is there, the others after. */
  take(request: RecordedRequest, early: boolean): Mischief | undefined {
    const entry = this.#entries.find(
      ({ mischief, when, left }) =>
        left > 0 && (mischief.early ?? false) === early && when(request),
    );
    if (!entry) return undefined;
    entry.left -= 1;
    return entry.mischief;
  }
}
