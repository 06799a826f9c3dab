/** The batch API of a vendor: one file of this folder for each. */
import type { UpstreamRequest, UpstreamResponse } from "../../upstream/adapter.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

/** The API of one upstream. */
export interface VendorEndpoint {
  /** Such as `https://api.openai.com/v1`. */
  readonly url: string;
  /** With the API key. */
  readonly headers: Readonly<Record<string, string>>;
  /** Rejects with VendorError if the status is not 2xx, or if there is no response. */
  send(request: UpstreamRequest): Promise<UpstreamResponse>;
}

/** The most that one batch of the vendor takes. A larger batch of a client becomes several. */
export interface VendorLimits {
  readonly lines: number;
  /** Of the input file. */
  readonly bytes: number;
  /** Over all lines. */
  readonly inputs: number;
}

interface NewVendorBatch {
  /** The vendor's id of its input file. */
  readonly fileId: string;
  /** By which `find` finds it. */
  readonly name: string;
  /** What all of its requests share, from `sharedOf`. */
  readonly shared: JsonObject;
  /** The endpoint of its requests, such as `/v1/embeddings`. */
  readonly path: string;
}

export type VendorStatus =
  | { readonly kind: "running" }
  | {
      readonly kind: "ended";
      /** `completed`: every request has a result. */
      readonly outcome: "completed" | "expired" | "cancelled" | "failed";
      /** The vendor's reason, if it failed. */
      readonly reason?: string | undefined;
      /** The files of results and errors. */
      readonly files: readonly string[];
      /** It failed because the vendor has too many requests in its queue: it may be created again later. */
      readonly isQueueFull?: boolean;
    };

/** The result of one line of the vendor's input file. */
export interface VendorResult {
  readonly id: string;
  /** The HTTP status that the request would have had. */
  readonly status: number;
  readonly body: unknown;
}

export interface InputFile {
  readonly size: number;
  open(): AsyncIterable<Uint8Array>;
}

export interface VendorApi {
  /** Of embeddings. */
  readonly limits: VendorLimits;
  /** Of images. Absent: its batches run embeddings only. */
  readonly imageLimits?: VendorLimits;
  /** The URL of the API, from that of a request. Undefined: its requests do not run in batches. */
  urlOf(requestUrl: string): string | undefined;
  /** The part of the requests that the vendor's batch has once, as JSON: all requests of a batch must have the same. */
  sharedOf(body: JsonObject): JsonObject;
  /**
   * The lines of the input file for one request. Several if the vendor's batches take one input for each line. `path`:
   * such as `/v1/embeddings`.
   */
  linesOf(id: string, body: JsonObject, path: string): readonly JsonObject[];
  upload(endpoint: VendorEndpoint, file: InputFile, name: string): Promise<string>;
  /** Returns the vendor's id of the batch. */
  create(endpoint: VendorEndpoint, batch: NewVendorBatch): Promise<string>;
  /** The id of the batch with this name. Undefined: none was created since then. `since`: Unix milliseconds. */
  find(endpoint: VendorEndpoint, name: string, since: number): Promise<string | undefined>;
  poll(endpoint: VendorEndpoint, id: string): Promise<VendorStatus>;
  cancel(endpoint: VendorEndpoint, id: string): Promise<void>;
  /** The URL of a file of results. */
  fileUrl(endpoint: VendorEndpoint, fileId: string): string;
  deleteFile(endpoint: VendorEndpoint, fileId: string): Promise<void>;
  /** Undefined: the request did not run. */
  readResult(line: JsonObject): VendorResult | undefined;
  /** The response body to one request, from the results of its lines. */
  joinResults(bodies: readonly unknown[]): unknown;
}
