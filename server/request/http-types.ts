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

/** Headers, by their names in small letters. */
export interface RequestHeaders {
  get(name: string): string | null;
}

export interface IncomingRequest {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  /** From the question mark on, as it was sent. Empty where there is none. */
  readonly search: string;
  readonly headers: RequestHeaders;
  /** Aborted when the caller hangs up. */
  readonly signal: AbortSignal;
  /** Where the caller reached us, without a trailing slash. */
  readonly publicUrl: string;
  /** Of the body, so far: also of one that was refused. */
  readonly bytesReceived: number;
  /** Reads the body once, bounded. `keyId`: whose share of memory it takes. Throws GatewayError. This one is a promise only where there is something to wait for. */
  json(keyId: string): unknown;
  /** `keyId`: whose share of temp storage the files take. */
  form(keyId: string): Promise<Form>;
  /** The request is over: the memory of its JSON body is free again. Safe to call more than once. */
  releaseBody(): void;
}

/** Of a text: a string of it, or its bytes. */
export type BodyChunk = string | Uint8Array;
export type BodyChunks = readonly BodyChunk[];

/** A long body, read while it leaves. */
export interface StreamedBody {
  readonly length: number;
  open(): AsyncIterable<Uint8Array>;
  /** The same, where all of it lies in memory. */
  chunksInMemory?(): readonly Uint8Array[] | undefined;
  /** Called once: it has left to the last byte, or the caller has left before. */
  close(complete: boolean): Promise<void>;
}

export interface OutgoingResponse {
  readonly status: number;
  /** This answer's own: the edge adds to them. */
  readonly headers: Record<string, string>;
  readonly body:
    | string
    /** The parts of a text. */
    | BodyChunks
    | Uint8Array
    | AsyncIterable<string | Uint8Array>
    | StreamedBody
    | Blob;
}
