/** Steps 11 and 12: the way to any upstream, over the wire through an adapter or inside this machine. */
import { GatewayError } from "../std/gateway-error.ts";
import type { Adapter, WireQuestion } from "./adapter.ts";
import type {
  EditQuery,
  EmbeddingsQuery,
  EmbeddingsReply,
  Engine,
  GenerationQuery,
  ImageReply,
  Target,
} from "./contract.ts";
import type { Send } from "./send.ts";

export type Reach = {
  readonly embeddings: NonNullable<Engine["embeddings"]>;
  readonly generations: NonNullable<Engine["generations"]>;
  readonly edits: NonNullable<Engine["edits"]>;
};

export interface ReachOptions {
  readonly adapters: ReadonlyMap<string, Adapter>;
  readonly engines: ReadonlyMap<string, Engine>;
  readonly send: Send;
}

export function createReach({ adapters, engines, send }: ReachOptions): Reach {
  const overWire = async <Q extends { readonly model: string }, A>(
    question: WireQuestion<Q, A> | undefined,
    adapter: Adapter | undefined,
    query: Q,
    target: Target,
    signal: AbortSignal,
  ): Promise<A> => {
    if (!question || !adapter) throw unsupported(query.model);
    const reply = await send(question.toUpstream(query, target), signal);
    // Some servers answer a POST with 201.
    if (reply.status < 200 || reply.status > 299)
      throw await adapter.fault(reply, { target, model: query.model });
    return question.fromUpstream(reply, query, target);
  };

  return {
    embeddings: async (query: EmbeddingsQuery, target, signal): Promise<EmbeddingsReply> => {
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
