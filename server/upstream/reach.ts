/** Steps 11 and 12: the way to any upstream, over the wire through an adapter or inside this machine. */
import { GatewayError } from "../std/gateway-error.ts";
import type { Signal } from "../std/signal.ts";
import type { Adapter, WireQuestion, WireRequest } from "./adapter.ts";
import type {
  EditQuery,
  EmbeddingsQuery,
  EmbeddingsReply,
  EmbeddingTraits,
  Engine,
  GenerationQuery,
  ImageReply,
  Target,
} from "./contract.ts";
import type { Send } from "./send.ts";
import { createTokens } from "./tokens.ts";

export type Reach = {
  readonly embeddings: NonNullable<Engine["embeddings"]>;
  readonly generations: NonNullable<Engine["generations"]>;
  readonly edits: NonNullable<Engine["edits"]>;
  /** What a target's embeddings can take. */
  readonly traits: (target: Target) => EmbeddingTraits;
};

/** Models inside this machine look at what they are asked themselves, and say what they cannot do. */
const insideTraits: EmbeddingTraits = {
  maxItems: 2048,
  base64: false,
  tokens: true,
  dimensions: "any",
  purposes: "indifferent",
  normalised: true,
};

export interface ReachOptions {
  readonly adapters: ReadonlyMap<string, Adapter>;
  readonly engines: ReadonlyMap<string, Engine>;
  readonly send: Send;
  /** Unix milliseconds. */
  readonly now: () => number;
}

export function createReach({ adapters, engines, send, now }: ReachOptions): Reach {
  const tokens = createTokens({ send, now });

  /** Rejects and never throws. Few steps and no async function: what every call goes through must not add up. */
  const overWire = <Q extends { readonly model: string }, A>(
    question: WireQuestion<Q, A> | undefined,
    adapter: Adapter | undefined,
    query: Q,
    target: Target,
    signal: Signal,
  ): Promise<A> => {
    if (!question || !adapter) return Promise.reject(unsupported(query.model));
    const { upstream } = target;
    const ask = (request: WireRequest): Promise<A> =>
      send(request, signal).then((reply) => {
        // Some servers answer a POST with 201.
        if (reply.status >= 200 && reply.status <= 299) {
          return question.fromUpstream(reply, query, target);
        }
        if (reply.status === 401 && adapter.token) tokens.forget(upstream, request);
        return adapter.fault(reply, { target, model: query.model }).then((fault) => {
          throw fault;
        });
      });
    try {
      const request = question.toUpstream(query, target);
      // Most have their proof in the request already: for them there is nothing to wait for.
      return adapter.token || adapter.sign
        ? tokens.prove(request, adapter, upstream, signal).then(ask)
        : ask(request);
    } catch (error) {
      return Promise.reject(error);
    }
  };

  return {
    traits: (target) =>
      adapters.get(target.upstream.kind)?.embeddings?.traits(target) ?? insideTraits,
    embeddings: (query: EmbeddingsQuery, target, signal): Promise<EmbeddingsReply> => {
      const engine = engines.get(target.upstream.kind);
      if (engine?.embeddings) return engine.embeddings(query, target, signal);
      const adapter = adapters.get(target.upstream.kind);
      return overWire(adapter?.embeddings, adapter, query, target, signal);
    },
    generations: async (query: GenerationQuery, target, signal): Promise<ImageReply> => {
      const engine = engines.get(target.upstream.kind);
      if (engine?.generations) return engine.generations(query, target, signal);
      const adapter = adapters.get(target.upstream.kind);
      return overWire(adapter?.generations, adapter, query, target, signal);
    },
    edits: async (query: EditQuery, target, signal): Promise<ImageReply> => {
      const engine = engines.get(target.upstream.kind);
      if (engine?.edits) return engine.edits(query, target, signal);
      const adapter = adapters.get(target.upstream.kind);
      return overWire(adapter?.edits, adapter, query, target, signal);
    },
  };
}

const unsupported = (model: string): GatewayError =>
  new GatewayError(
    "unsupported_operation",
    `The model '${model}' cannot do this kind of call. GET /v1/models/${encodeURIComponent(model)} describes it.`,
    { param: "model" },
  );
