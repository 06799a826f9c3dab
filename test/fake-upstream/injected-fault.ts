/** Fault injection: the faults that a test can script. Fields combine: `{ vectors: "shuffled", encoding: "gzip" }`. */

/** Where in the response the connection breaks. */
export type BreakPoint = "before-headers" | "mid-headers" | "mid-body" | "after-body";

export interface InjectedFault {
  // Time
  /** Wait before the status line. */
  readonly delayMs?: number;
  /** Wait for this before the status line. */
  readonly until?: Promise<unknown>;
  /** Wait before each SSE event but the first. */
  readonly eventDelayMs?: number;
  /** The body in small chunks. */
  readonly trickle?: { readonly bytes: number; readonly everyMs: number };
  /** Never respond, or send the headers and half of the body and then nothing more. */
  readonly hang?: "headers" | "body";
  /** Act before reading the request body, which is then never read. */
  readonly early?: boolean;

  // Another response instead of the valid one
  readonly fail?: FailureName;
  /** `retry-after` in seconds, or any text. Only together with a field that sends a response. */
  readonly retryAfter?: number | string;
  readonly retryAfterMs?: number;
  /** 307 to this address. */
  readonly redirect?: string;
  /** Anything else. */
  readonly response?: {
    readonly status: number;
    readonly headers?: Record<string, string>;
    readonly body?: string | Uint8Array;
  };
  /** Added to any response. */
  readonly headers?: Record<string, string>;

  // A broken connection
  /** TCP reset. */
  readonly reset?: BreakPoint;
  /** The connection is closed (FIN) before the announced body is complete. */
  readonly close?: BreakPoint;

  // The valid response, corrupted
  readonly vectors?: VectorFault;
  readonly images?: "missing" | "extra" | "none" | "garbage" | "empty";
  /** No `usage`. */
  readonly usage?: "absent";
  readonly stream?: StreamFault;
  /** `truncated` is well-formed HTTP around half a document; `close: "mid-body"` is not. */
  readonly body?: "truncated" | "empty" | "html" | "text";
  /** This many bytes of white space after the document, which stays valid JSON. */
  readonly huge?: number;
  /** `mislabeled`: the header says gzip, the body is not compressed. */
  readonly encoding?: "gzip" | "br" | "zstd" | "deflate" | "mislabeled";
}

export type VectorFault =
  | "missing" // one too few
  | "extra" // one too many
  | "none" // an empty list
  | "shuffled" // another order, correct `index`
  | "wrong-index" // correct order, wrong `index`
  | "duplicate-index"
  | "no-index"
  | "nan" // NaN bits in base64, null in floats
  | "nan-literal" // not JSON
  | "infinite" // as nan
  | "zero"
  | "wrong-dimensions" // one short, every vector
  | "ragged" // one short, the last vector
  | "float" // floats although base64 was requested
  | "base64" // base64 although floats were requested
  | "odd-base64"; // not a multiple of four bytes

export type StreamFault =
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
