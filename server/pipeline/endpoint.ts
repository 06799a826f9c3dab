/** An endpoint is a row: how to read the question, where it may go, how to write the answer. */
import type { z } from "zod";
import type { LinkStore } from "../images/image-links.ts";
import type { GatewayError } from "../lib/gateway-error.ts";
import type { IncomingRequest } from "../request/http-types.ts";
import type { Operation, ResponseBody, Usage } from "../request/operation.ts";
import type { Target } from "../upstream/contract.ts";
import type { Chunk } from "./stream-response.ts";

/** A question, with what must be cleared away once it is answered. */
export interface Read<Q> {
  readonly query: Q;
  dispose?(): Promise<void>;
}

/** An answer ready to leave. What a stream used is known when it has ended. */
export type Written =
  | {
      readonly kind: "whole";
      readonly body: ResponseBody;
      /** For the ledger: what was reported. */
      readonly usage: Usage | undefined;
      /** The number of images in the body. */
      readonly images?: number;
      /** The `usage` in the body was estimated, because the upstream reported none. */
      readonly estimated?: boolean;
    }
  | {
      readonly kind: "stream";
      readonly chunks: AsyncIterable<Chunk>;
      usage(): Usage | undefined;
    };

export interface WriteContext {
  readonly publicUrl: () => string;
  /** Unix seconds. */
  readonly now: number;
  readonly links: LinkStore;
  /** Which target served the request; of a stream, which serves it so far. */
  readonly target: () => Target | undefined;
  /** Told of what was asked for and could not be done after all. */
  readonly onDropped: (name: string) => void;
}

/** The model that a request is for, given what its body says: that of its path, its own, or a default. */
export type NameModel = (given: unknown) => unknown;

export interface Endpoint<Q extends { readonly model: string }, A> {
  readonly operation: Operation;
  /** What models of the snapshot it is for. */
  readonly kind: "embedding" | "image";
  /** For the OpenAPI document: the same schemas that validate. */
  readonly body: z.ZodType;
  /** Waits only for what has not come yet. `keyId`: whose share of temp storage an upload takes. */
  read(incoming: IncomingRequest, keyId: string, nameModel: NameModel): Promise<Read<Q>> | Read<Q>;
  /** The same error with fields named as this request spells them. Absent: there is one spelling. */
  inClientWords?(error: GatewayError, incoming: IncomingRequest): GatewayError;
  /** `context`: asked for by those who have use for it. */
  write(answer: A, query: Q, context: () => WriteContext): Promise<Written> | Written;
}
