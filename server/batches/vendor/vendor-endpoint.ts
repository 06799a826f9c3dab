/** Requests to the batch API of a vendor, with the URL, the API key and the HTTP client of the upstream. */
import { GatewayError } from "../../lib/gateway-error.ts";
import type { Adapter } from "../../upstream/adapter.ts";
import type { EmbeddingsQuery, GenerationQuery, Target } from "../../upstream/contract.ts";
import type { SendUpstreamRequest } from "../../upstream/transport/index.ts";
import type { BatchOperation } from "../stored-batch.ts";
import type { VendorApi, VendorEndpoint, VendorStatus } from "./vendor-api.ts";

/** The vendor refused a request, or did not respond. */
export class VendorError extends Error {
  override readonly name = "VendorError";
  /** Undefined: there was no response. */
  readonly status: number | undefined;

  constructor(message: string, status: number | undefined) {
    super(message);
    this.status = status;
  }

  /** The same request may succeed later. */
  get isTemporary(): boolean {
    const { status } = this;
    return status === undefined || status === 408 || status === 429 || status >= 500;
  }

  /** The vendor may have done what was requested. */
  get isUnknown(): boolean {
    return this.isTemporary && this.status !== 429;
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

/** Undefined: requests to the target do not run in batches of its vendor. */
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

/** A key of the upstream that is refused may be replaced: only an unknown batch has ended. */
export function statusOfError(error: unknown): VendorStatus {
  if (!(error instanceof VendorError)) throw error;
  if (error.status === 404)
    return { kind: "ended", outcome: "failed", reason: error.message, files: [] };
  throw error.isTemporary ? error : new VendorError(error.message, undefined);
}

/** The vendor cannot list its batches now. */
export function againIfRefused(error: unknown): never {
  throw error instanceof VendorError ? new VendorError(error.message, undefined) : error;
}

/** The vendor cannot list its batches: embeddings are sent again. */
export function noneIfRefused(error: unknown): undefined {
  if (error instanceof VendorError && !error.isTemporary) return undefined;
  throw error;
}
