/**
 * The HTTP requests and responses that the transport and the pipeline exchange, so that the pipeline knows no sockets:
 * the operations, the priority classes and cache policies, and the forms of a response body.
 */

import type { BorrowedBytes, BorrowedChunks } from "../lib/borrowed-bytes.ts";
import type { StreamedJson } from "../lib/json-stream.ts";
import type { FilePart } from "../upstream/contract.ts";
import type { RequestClient } from "./deadline.ts";
import type { JobLineContext } from "./job-line.ts";

export type { FilePart };

export interface MultipartField {
  readonly name: string;
  readonly value: string;
}

/** A multipart form, read to its end. Its files may be on disk until `dispose`. */
export interface Form {
  readonly fields: readonly MultipartField[];
  readonly files: readonly FilePart[];
  dispose(): Promise<void>;
}

/** A part of a multipart form, while it arrives. */
export interface FormPart {
  readonly name: string;
  /** Undefined for a text field. */
  readonly filename: string | undefined;
  readonly type: string | undefined;
  /** Must be read to its end before the next part is requested. */
  readonly body: BorrowedChunks;
}

/** Request headers by lower-case name. */
export interface RequestHeaders {
  get(name: string): string | null;
}

export interface IncomingRequest extends RequestClient {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  /**
   * The path as the routing table has it, with parameters in braces. If absent, it is not a request of a client over
   * HTTP.
   */
  readonly route?: string | undefined;
  /** The query string as it was sent, with its question mark. Empty if there is none. */
  readonly search: string;
  readonly headers: RequestHeaders;
  /** The IP address of the client. Behind a proxy that is not trusted, that of the proxy. */
  readonly clientAddress: string;
  /** The base URL that the client used, without a trailing slash. */
  readonly publicUrl: string;
  /** Bytes of the body received so far, also of a refused body. */
  readonly bytesReceived: number;
  /** The request is a line of a job. If absent, it came over HTTP. */
  readonly line?: JobLineContext;
  /**
   * Reads the body once, bounded. Throws GatewayError. `keyId`: the API key whose share of memory it takes.
   * `maxBytes`: absent for the maximum of all JSON bodies.
   */
  json(keyId: string, maxBytes?: number): Promise<unknown>;
  /**
   * The same for a body whose images, as `data:` URLs, may together be as large as one uploaded file or, if they are
   * `several`, as all files of a form.
   */
  jsonWithImages(keyId: string, images?: "several"): Promise<unknown>;
  /** `keyId`: the API key whose share of temp storage the files take. */
  form(keyId: string): Promise<Form>;
  /** Reads a multipart form of up to `maxBytes` part by part, no faster than the parts are read. */
  parts(maxBytes: number): AsyncIterable<FormPart>;
  /** Releases the memory of the JSON body when the request ends. A second call does nothing. */
  releaseBody(): void;
}

/** A chunk of a body: text or bytes. */
export type BodyChunk = string | Uint8Array;
/** A chunk of a body that is read while it is sent. */
export type StreamChunk = string | BorrowedBytes;
export type BodyChunks = readonly BodyChunk[];

/** A long body that is read while it is sent. */
export interface StreamedResponseBody {
  readonly length: number;
  open(): BorrowedChunks;
  /**
   * Each chunk is in memory until it is sent. Until then, it counts as part of a response that the client has not read.
   */
  readonly isInMemory?: true;
  /** Called once: the body was sent completely, or the client disconnected before. */
  close(complete: boolean): Promise<void>;
}

export interface OutgoingResponse {
  readonly status: number;
  /** Owned by this response: the transport adds to them. */
  readonly headers: Record<string, string>;
  /** Each is a `set-cookie` header of its own: unlike other headers, cookies cannot be joined by commas. */
  readonly setCookies?: readonly string[];
  readonly body:
    | string
    /** Chunks that are sent one after the other. */
    | BodyChunks
    | Uint8Array
    | AsyncIterable<StreamChunk>
    | StreamedResponseBody;
}

/** Priority classes: batch requests wait behind interactive requests, and are shed first. */
export type Priority = "interactive" | "batch";

/**
 * `use`: reads and stores. `refresh`: calls the upstream and stores the result. `no-store`: neither reads nor stores,
 * and shares no upstream request with others (single-flight).
 */
export type CachePolicy = "use" | "refresh" | "no-store";

export interface RequestUsage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  /** Images that were generated, whether or not they were delivered. */
  readonly images?: number;
}

/**
 * `BodyChunks`: chunks that need not be joined. `StreamedJson`: a body that is read while it is sent: images that are
 * on disk until the request ends, or the vectors of a large embeddings response, in memory.
 */
export type ResponseBody = string | BodyChunks | Uint8Array | StreamedJson;

/** Copies the chunks into one new buffer. */
export function joinChunks(parts: BodyChunks): Buffer {
  let length = 0;
  for (const part of parts) length += Buffer.byteLength(part);
  const bytes = Buffer.allocUnsafeSlow(length);
  copyChunks(parts, bytes, 0);
  return bytes;
}

/** Copies the chunks to an offset. Returns the end of the copied bytes. */
export function copyChunks(parts: BodyChunks, into: Buffer, from: number): number {
  let end = from;
  for (const part of parts) {
    if (typeof part === "string") end += into.write(part, end);
    else {
      into.set(part, end);
      end += part.length;
    }
  }
  return end;
}
