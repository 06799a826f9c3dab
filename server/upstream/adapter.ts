/**
 * The adapter interface: pure functions that map requests and responses of one vendor. A missing capability is a missing
 * key. No network, no clock.
 */

import type { Pieces } from "../lib/chunked-bytes.ts";
import type { GatewayError } from "../lib/gateway-error.ts";
import type { Scratch } from "../lib/request-temp.ts";
import type {
  EditQuery,
  EmbeddingCapabilities,
  EmbeddingsQuery,
  EmbeddingsResponse,
  GenerationQuery,
  ImageResponse,
  Target,
  Upstream,
} from "./contract.ts";
import type { ImageCapabilities } from "./image-capabilities.ts";

export interface UpstreamRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Absent for a question without a body, which is asked with GET. */
  readonly body?: string | StreamedBody;
  /** Where neither GET without a body nor POST with one is meant. */
  readonly method?: "PUT" | "DELETE" | "POST";
  /** The answer may come piece by piece. Absent: it is taken whole. */
  readonly streams?: boolean;
  /** The upstream may charge for each copy that reaches it: never sent again by itself. */
  readonly once?: boolean;
}

/** A body too large to hold: opened anew for each attempt, its length known beforehand. */
export interface StreamedBody {
  readonly length: number;
  open(): AsyncIterable<Uint8Array>;
}

/** An upstream's answer whose body has not been read. */
export interface UpstreamResponse {
  readonly status: number;
  readonly headers: Pick<Headers, "get" | "has">;
  /** False: its headers do not say that a rate limit is used up. Absent: they have to be read to know. */
  readonly seemsSpent?: boolean;
  /** The whole body, bounded. Throws GatewayError. */
  json(): Promise<unknown>;
  /** These two without the byte order mark that some servers begin with. */
  text(maxBytes?: number): Promise<string>;
  /** At once where the answer is there already. */
  bytes(): Promise<Pieces> | Pieces;
  /** The body as it comes, bounded. */
  chunks(): AsyncIterable<Uint8Array>;
}

export interface EndpointAdapter<Q, A> {
  toUpstream(query: Q, target: Target): UpstreamRequest;
  fromUpstream(reply: UpstreamResponse, query: Q, target: Target): Promise<A> | A;
}

export interface EmbeddingsAdapter extends EndpointAdapter<EmbeddingsQuery, EmbeddingsResponse> {
  capabilities(target: Target): EmbeddingCapabilities;
}

/** A question about pictures. An upstream that draws for a while may say so, and is asked again. */
export interface ImageAdapter<Q extends GenerationQuery> {
  toUpstream(query: Q, target: Target): UpstreamRequest;
  /** Reads the answer to the question, and the answers to the questions whether it is done. */
  fromUpstream(
    reply: UpstreamResponse,
    asked: ImageRequestContext<Q>,
  ): Promise<ImageResponse | PendingJob> | ImageResponse | PendingJob;
  /** A question about how far a call is that has not been answered yet, and the preview in its answer, in base64. */
  readonly watch?: {
    toUpstream(query: Q, target: Target): UpstreamRequest;
    fromUpstream(reply: UpstreamResponse): Promise<string | undefined>;
  };
}

export interface ImageRequestContext<Q extends GenerationQuery> {
  readonly query: Q;
  readonly target: Target;
  /** Where large parts of the answer are put. */
  readonly scratch: Scratch;
}

/** A question whether a prompt may be drawn. */
export interface ModerationAdapter {
  toUpstream(prompt: string, target: Target): UpstreamRequest;
  fromUpstream(reply: UpstreamResponse): Promise<ModerationResult>;
}

export interface ModerationResult {
  readonly flagged: boolean;
  /** Why, in the upstream's words. */
  readonly categories: readonly string[];
}

/** Not done yet. */
export interface PendingJob {
  readonly kind: "pending";
  /** How to ask whether it is done. Absent in the answer to such a question: as before. */
  readonly poll?: UpstreamRequest;
  /** What it will cost, in US dollars, where that is told beforehand. */
  readonly cost?: number;
  /** Tells the upstream that nobody waits any more. */
  readonly cancel?: UpstreamRequest;
  /** What there is to see so far, in base64. */
  readonly preview?: string;
  /** When to ask, where the upstream says so. */
  readonly afterMs?: number;
}

/** A credential that must be fetched first and lasts for a while. `tokens.ts` keeps it and renews it in time. */
export interface TokenExchange {
  /** `now`: Unix milliseconds. */
  toUpstream(upstream: Upstream, now: number): UpstreamRequest;
  fromUpstream(
    reply: UpstreamResponse,
  ): Promise<{ readonly token: string; readonly lastsMs: number }>;
}

export interface ErrorContext {
  readonly target: Target;
  /** The public id, to be named instead of the target's own. */
  readonly model: string;
}

export interface Adapter {
  readonly name: string;
  readonly embeddings?: EmbeddingsAdapter;
  readonly generations?: ImageAdapter<GenerationQuery>;
  readonly edits?: ImageAdapter<EditQuery>;
  /** What a target can draw. There where one of the two above is. */
  readonly imageCapabilities?: (
    target: Target,
    operation: "generations" | "edits",
  ) => ImageCapabilities;
  readonly moderations?: ModerationAdapter;
  /** Its token goes into the `authorization` header of every call. Undefined for an upstream that needs none. */
  readonly token?: (upstream: Upstream) => TokenExchange | undefined;
  /** The last touch, where the bytes of the request and the time are part of the proof. `now`: Unix milliseconds. */
  readonly sign?: (request: UpstreamRequest, upstream: Upstream, now: number) => UpstreamRequest;
  /** The same where the body is streamed: its bytes must be read first. Absent: `sign` takes it as it is. */
  readonly signStreamed?: (
    request: UpstreamRequest,
    upstream: Upstream,
    now: number,
  ) => Promise<UpstreamRequest>;
  /** A question that costs nothing and shows whether the key is taken. Absent: OpenAI's list of models. */
  readonly probe?: (upstream: Upstream) => UpstreamRequest;
  readError(reply: UpstreamResponse, context: ErrorContext): Promise<GatewayError>;
}
