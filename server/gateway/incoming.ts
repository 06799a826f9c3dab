/** What the edge hands in and takes back. The gateway knows no sockets. */
import type { FilePart } from "../upstream/contract.ts";

export type { FilePart };

export interface FormField {
  readonly name: string;
  readonly value: string;
}

/** A multipart form, read to its end. Files may lie on disk until `dispose`. */
export interface Form {
  readonly fields: readonly FormField[];
  readonly files: readonly FilePart[];
  dispose(): Promise<void>;
}

export interface Incoming {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  /** Aborted when the caller hangs up. */
  readonly signal: AbortSignal;
  /** Where the caller reached us, without a trailing slash. */
  readonly publicUrl: string;
  /** Of the body, so far: also of one that was refused. */
  readonly bytesReceived: number;
  /** Reads the body once, bounded. Throws GatewayError. */
  json(): Promise<unknown>;
  form(): Promise<Form>;
  /** The answer may take so long; the edge must not hang up meanwhile. */
  expectWait(ms: number): void;
}

export interface Outgoing {
  readonly status: number;
  /** This answer's own: the edge adds to them. */
  readonly headers: Record<string, string>;
  readonly body: string | Uint8Array | AsyncIterable<string>;
}
