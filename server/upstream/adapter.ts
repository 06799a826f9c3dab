/**
 * The adapter interface: pure functions that map requests and responses of one vendor. A missing capability is a
 * missing key. No network, no clock.
 */

import type { z } from "zod";
import type { ModelKind } from "../../contract/model-kinds.ts";
import type { BorrowedChunks } from "../lib/borrowed-bytes.ts";
import type { GatewayError } from "../lib/gateway-error.ts";
import type { RequestTemp } from "../temp-storage/request-temp.ts";
import type {
  EditQuery,
  EmbeddingCapabilities,
  EmbeddingsQuery,
  EmbeddingsResponse,
  GenerationQuery,
  ImageOperation,
  ImageResponse,
  ModerationResponse,
  Target,
  Upstream,
} from "./contract.ts";
import type { ImageCapabilities } from "./image-capabilities.ts";

export interface UpstreamRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The default is a GET request without a body. */
  readonly body?: string | StreamedRequestBody;
  /** If absent, GET without a body, POST with one. */
  readonly method?: "PUT" | "DELETE" | "POST";
  /** The response may be streamed. If absent, it is buffered. */
  readonly streams?: boolean;
  /**
   * Maximum size of the response, after decompression. The default is the limit of all responses, which is never
   * exceeded.
   */
  readonly maxResponseBytes?: number;
  /** The streamed response is a file, and written to disk as it arrives: its maximum size. If absent, it is not. */
  readonly fileBytes?: number;
  /** Each copy may be billed: the transport never retries it. */
  readonly isNonIdempotent?: boolean;
}

/** A body too large to buffer: reopened for each attempt, with a known length. */
export interface StreamedRequestBody {
  readonly length: number;
  /** All of it, in memory until the request ends. If absent, it is read while it is sent. */
  readonly chunks?: readonly Uint8Array[];
  open(): BorrowedChunks;
}

/** An upstream's response whose body has not been read. */
export interface UpstreamResponse {
  readonly status: number;
  readonly headers: Pick<Headers, "get" | "has">;
  /** False: its headers report no exhausted rate limit. Absent if not checked yet. */
  readonly mayReportExhaustedLimit?: boolean;
  /** The whole body, bounded. Throws GatewayError. */
  json(): Promise<unknown>;
  /** As `json`, with long lists of numbers as float32 (`parse-vectors-json.ts`). */
  jsonWithVectors(): Promise<unknown>;
  /** `text` and `bytes` leave out a leading byte order mark, which some servers send. */
  text(maxBytes?: number): Promise<string>;
  bytes(): Promise<Buffer>;
  /** The body in chunks as they arrive, bounded. */
  chunks(): AsyncIterable<Uint8Array>;
}

export interface EmbeddingsAdapter {
  capabilities(target: Target): EmbeddingCapabilities;
  toUpstream(query: EmbeddingsQuery, target: Target): UpstreamRequest;
  fromUpstream(
    response: UpstreamResponse,
    query: EmbeddingsQuery,
    target: Target,
  ): Promise<EmbeddingsResponse>;
}

/** Maps image requests. An upstream may respond with a pending operation, which is then polled. */
export interface ImageAdapter<Q extends GenerationQuery = GenerationQuery> {
  toUpstream(query: Q, target: Target): UpstreamRequest;
  readonly fromUpstream: ReadImages;
  /**
   * The vendor's list of models for this operation, which is free. Present if the vendor generates with another model,
   * without an error, if it does not know the requested one.
   */
  readonly models?: ModelListRequest;
  /**
   * The progress request that is sent while the image request has no response yet. Its response has a partial
   * image in base64.
   */
  readonly watch?: {
    toUpstream(query: Q, target: Target): UpstreamRequest;
    fromUpstream(response: UpstreamResponse): Promise<string | undefined>;
  };
}

/** Reads the response to an image request, and the responses to polls of its operation. */
export type ReadImages = (
  response: UpstreamResponse,
  context: ImageRequestContext,
) => Promise<ImageResponse | PendingOperation>;

export interface ImageRequestContext {
  readonly query: GenerationQuery;
  readonly target: Target;
  /** Temp storage for large parts of the response. */
  readonly temp: RequestTemp;
  /** The operation that was polled. If absent, this is the response to the first request, or the vendor has no ids. */
  readonly operationId?: string;
}

/** A free request for a list of models. */
interface ModelListRequest {
  request(upstream: Upstream): UpstreamRequest;
  /** The ids. Undefined if the response has another shape. */
  read(body: unknown): readonly unknown[] | undefined;
}

/** Maps moderation requests for a prompt. */
export interface ModerationAdapter {
  toUpstream(prompt: string, target: Target): UpstreamRequest;
  fromUpstream(response: UpstreamResponse): Promise<ModerationResponse>;
}

/** An operation that is not done yet. */
export interface PendingOperation {
  readonly kind: "pending";
  /** The vendor's id of the operation. Absent in the response to a poll: unchanged. */
  readonly operationId?: string;
  /** The poll request. Absent in the response to a poll: unchanged. */
  readonly poll?: UpstreamRequest;
  /** Its cost in US dollars, if the upstream reports it in advance. */
  readonly cost?: number;
  /** Cancels the operation. */
  readonly cancel?: UpstreamRequest;
  /** The time until the next poll, if the upstream gives it. */
  readonly afterMs?: number;
}

type SendForCredential = (
  request: UpstreamRequest,
  signal: AbortSignal,
) => Promise<UpstreamResponse>;

/** What a flow of credentials/ may use. */
export interface CredentialContext {
  /** To token services, which a configuration may name. */
  readonly send: SendForCredential;
  /** To metadata services: only to URLs of credentials/ or of the environment, never to a configured one. */
  readonly sendToMetadata: SendForCredential;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** The variables by which clouds say where their credentials are. */
  readonly env: Environment;
  readonly signal: AbortSignal;
}

export type Environment = Readonly<Record<string, string | undefined>>;

export interface AwsKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

export interface Issued<T> {
  readonly value: T;
  /** If absent, valid until the upstream refuses it. */
  readonly lastsMs?: number;
  /** Headers that go with a token into this request. */
  readonly headers?: (request: UpstreamRequest) => Readonly<Record<string, string>>;
}

/** A bearer token, or the keys that sign requests to AWS. credential-cache.ts caches it and renews it in time. */
export interface Credential<T = string | AwsKeys> {
  /** Throws GatewayError. */
  issue(context: CredentialContext): Promise<Issued<T>>;
}

export interface ErrorContext {
  readonly target: Target;
  /** The public model id, which error messages name instead of the target's own. */
  readonly model: string;
}

export interface Adapter {
  readonly embeddings?: EmbeddingsAdapter;
  readonly generations?: ImageAdapter;
  readonly edits?: ImageAdapter<EditQuery>;
  /** Image capabilities of a target. Present if `generations` or `edits` is. */
  readonly imageCapabilities?: (target: Target, operation: ImageOperation) => ImageCapabilities;
  readonly moderations?: ModerationAdapter;
  /**
   * A token goes into the `authorization` header of every request; keys of AWS are the options of the upstream that
   * `sign` gets. Undefined if the upstream has a static API key.
   */
  readonly credential?: (upstream: Upstream) => Credential | undefined;
  /** Signs the request, for vendors whose signature covers its bytes and the time. `now`: Unix milliseconds. */
  readonly sign?: (request: UpstreamRequest, upstream: Upstream, now: number) => UpstreamRequest;
  /** Signs a request with a streamed body, whose bytes must be read first. If absent, `sign` is used. */
  readonly signStreamed?: (
    request: UpstreamRequest,
    upstream: Upstream,
    now: number,
  ) => Promise<UpstreamRequest>;
  /**
   * The vendor's list of models, which is free. If absent: GET /v1/models as at OpenAI, or no list if `probe` is set.
   */
  readonly models?: ModelListRequest;
  /** A free request that shows whether the API key is valid, of a vendor without a list of models. */
  readonly probe?: (upstream: Upstream) => UpstreamRequest;
  readError(response: UpstreamResponse, context: ErrorContext): Promise<GatewayError>;
}

/** The settings of a vendor in a configuration. */
export interface Kind {
  readonly name: string;
  /** The default if the configuration has none. */
  readonly baseUrl?: string;
  readonly needs: readonly string[];
  /** At least one of these sets of settings must be complete. */
  readonly needsOneOf?: readonly (readonly string[])[];
  /** The only kind of model it serves. If absent, not restricted, and the upstream decides. */
  readonly serves?: ModelKind;
  /** Its list of models has every model that it serves. Absent if not known. */
  readonly listsEveryModel?: true;
  /** Settings of this kind only, by name. */
  readonly options: Readonly<Record<string, z.ZodType>>;
}

/** Each vendor is a file or a folder of adapters/. */
export interface Vendor {
  readonly kind: Kind;
  readonly adapter: Adapter;
}
