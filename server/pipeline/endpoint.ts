/** An endpoint: how a request is read, which models serve it, what it costs and how its response is written. */
import type { ModelKind } from "../../contract/model-kinds.ts";
import type { LinkStore } from "../images/image-links.ts";
import type { GatewayError } from "../lib/gateway-error.ts";
import type { PermittedModel } from "../request/caller.ts";
import type { IncomingRequest, RequestUsage, ResponseBody } from "../request/http-types.ts";
import type { Operation } from "../request/operation.ts";
import type { Deviations, Target } from "../upstream/contract.ts";
import type { StreamEvent } from "./stream-response.ts";

/** A validated request. `dispose` deletes its uploaded files. */
export interface ParsedRequest<Q> {
  readonly query: Q;
  dispose?(): Promise<void>;
}

/** A response ready to be sent. The usage of a stream is known after it has ended. */
export type WrittenResponse =
  | {
      readonly kind: "buffered";
      readonly body: ResponseBody;
      /** For the ledger: the usage that the upstream reported. */
      readonly usage: RequestUsage | undefined;
      /** The number of images in the body. */
      readonly images?: number;
      /** How the response differs from the request. If absent, it does not. */
      readonly deviations?: Deviations | undefined;
      /** The `usage` in the body was estimated, because the upstream reported none. */
      readonly estimated?: boolean;
    }
  | {
      readonly kind: "stream";
      readonly chunks: AsyncIterable<StreamEvent>;
      usage(): RequestUsage | undefined;
      /** As far as they are known. */
      deviations(): Deviations;
    };

export interface WriteContext {
  /**
   * Runs the steps of a long computation, with a turn of the event loop after each, after those of earlier requests.
   * Rejects if the client disconnects.
   */
  runInSteps<T>(steps: Iterator<void, T>): Promise<T>;
  readonly publicUrl: () => string;
  /** Unix seconds. */
  readonly now: number;
  readonly links: LinkStore;
  /** The target that served the request, or serves the stream so far. */
  readonly target: () => Target | undefined;
}

/** Returns the model of a request: from its path, else from its body (`given`), else a default. */
export type NameModel = (given: unknown) => unknown;

/** Whether the embedding model of this name reads images. */
export type ReadsImages = (model: unknown) => boolean;

export interface Endpoint<Q extends { readonly model: string }, A> {
  readonly operation: Operation;
  /** The kind of models that the endpoint serves. */
  readonly kind: ModelKind;
  /**
   * `keyId`: the API key whose share of temp storage an upload takes. `readsImages`: absent if no model of the
   * configuration reads images.
   */
  read(
    incoming: IncomingRequest,
    keyId: string,
    nameModel: NameModel,
    readsImages?: ReadsImages,
  ): Promise<ParsedRequest<Q>>;
  /**
   * Returns the error with the field names that this client used: a form has `image` where JSON has `images`. If absent,
   * each field has only one name.
   */
  withClientFieldNames?(error: GatewayError, incoming: IncomingRequest): GatewayError;
  /** The expected memory of the response. Below 1: not counted. If absent, responses are small, or on disk. */
  responseBytes?(query: Q, model: PermittedModel): number;
  /** `context` is created only for endpoints that use it. */
  write(response: A, query: Q, context: () => WriteContext): Promise<WrittenResponse>;
}
