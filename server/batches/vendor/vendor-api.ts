/**
 * The batch API of a vendor, and requests to it with the URL, the API key and the HTTP client of the upstream.
 * `openai.ts` implements it for OpenAI and vendors with the same API, `gemini.ts` for Gemini.
 */

import { GatewayError } from "../../lib/gateway-error.ts";
import type { Adapter, UpstreamRequest, UpstreamResponse } from "../../upstream/adapter.ts";
import type { EmbeddingsQuery, GenerationQuery, Target } from "../../upstream/contract.ts";
import type { SendUpstreamRequest } from "../../upstream/transport/index.ts";
import type { BatchOperation } from "../batches.ts";

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
  /** Of images. If absent, its batches run embeddings only. */
  readonly imageLimits?: VendorLimits;
  /** The URL of the API, from that of a request. Undefined if its requests do not run in batches. */
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
  /** The id of the batch with this name. Undefined if none was created since then. `since`: Unix milliseconds. */
  find(endpoint: VendorEndpoint, name: string, since: number): Promise<string | undefined>;
  poll(endpoint: VendorEndpoint, id: string): Promise<VendorStatus>;
  cancel(endpoint: VendorEndpoint, id: string): Promise<void>;
  /** The URL of a file of results. */
  fileUrl(endpoint: VendorEndpoint, fileId: string): string;
  deleteFile(endpoint: VendorEndpoint, fileId: string): Promise<void>;
  /** Undefined if the request did not run. */
  readResult(line: JsonObject): VendorResult | undefined;
  /** The response body to one request, from the results of its lines. */
  joinResults(bodies: readonly unknown[]): unknown;
}

/** The vendor refused a request, or did not respond. */
export class VendorError extends Error {
  override readonly name = "VendorError";
  /** Undefined if there was no response. */
  readonly status: number | undefined;
  readonly outcome: Outcome;

  constructor(message: string, status: number | undefined) {
    super(message);
    this.status = status;
    this.outcome = outcomeOf(status);
  }
}

/** What a request came to that did not succeed. Only a refused one does not succeed later. */
type Outcome =
  | "refused"
  /** The vendor has not done what was requested. */
  | "not_done"
  /** It may have. */
  | "unknown";

function outcomeOf(status: number | undefined): Outcome {
  if (status === 429) return "not_done";
  return status === undefined || status === 408 || status >= 500 ? "unknown" : "refused";
}

/** A failure of the vendor as a value. */
export async function attempt<T>(
  request: Promise<T>,
): Promise<{ readonly value: T } | { readonly failure: VendorError }> {
  try {
    return { value: await request };
  } catch (error) {
    if (error instanceof VendorError) return { failure: error };
    throw error;
  }
}

interface VendorEndpointOptions {
  readonly adapter: Adapter;
  readonly send: SendUpstreamRequest;
  readonly operation: BatchOperation;
  /** Aborted when the gateway stops. */
  readonly stopping: AbortSignal;
}

/** A vendor that does not respond must not keep other batches waiting. Files are uploaded and downloaded in longer. */
const [timeoutMs, fileTimeoutMs] = [60_000, 30 * 60_000];

/** Undefined if requests to the target do not run in batches of its vendor. */
export function vendorEndpointOf(
  api: VendorApi,
  target: Target,
  { adapter, send, operation, stopping }: VendorEndpointOptions,
): VendorEndpoint | undefined {
  if (operation === "edits" || (operation === "generations" && !api.imageLimits)) return undefined;
  const sample =
    operation === "embeddings"
      ? adapter.embeddings?.toUpstream(sampleQuery, target)
      : adapter.generations?.toUpstream(sampleImage, target);
  const url = sample && api.urlOf(sample.url);
  if (!sample || url === undefined) return undefined;
  const { "content-type": _, ...headers } = sample.headers;
  const context = { target, model: target.model };
  return {
    url,
    headers,
    send: async (request) => {
      try {
        const isFile = typeof request.body === "object" || request.fileBytes !== undefined;
        const timeout = AbortSignal.timeout(isFile ? fileTimeoutMs : timeoutMs);
        const signal = AbortSignal.any([stopping, timeout]);
        const response = await send(request, signal);
        if (response.status >= 200 && response.status <= 299) return response;
        const { message } = await adapter.readError(response, context);
        throw new VendorError(message, response.status);
      } catch (error) {
        if (error instanceof GatewayError) throw new VendorError(error.message, undefined);
        throw error;
      }
    },
  };
}

/** Every model takes it: its URL and its headers are those of the batch API. */
const sampleQuery: EmbeddingsQuery = {
  model: "",
  input: { kind: "text", texts: ["a"] },
  single: true,
  encoding: "float",
  extraFields: {},
};

const sampleImage: GenerationQuery = {
  model: "",
  prompt: "a",
  stream: false,
  options: {},
  extraFields: {},
};
