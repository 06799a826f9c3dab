/** The built-in model for embeddings, which comes with the gateway: English, 384 dimensions, runs on this machine. */
import type { BuiltInModel } from "../../upstream/contract.ts";
import type { WorkerProcessState } from "../process/worker-process.ts";
import { createEmbedder, type EmbedderOptions } from "./embedder.ts";

/**
 * Shown in the model list. The limit is 256 tokens, as in training and in sentence-transformers, although the weights
 * accept 512.
 */
const minilmModel = {
  id: "all-minilm-l6-v2",
  dimensions: 384,
  maxTokens: 256,
} as const;

export interface MinilmOptions extends EmbedderOptions {
  /** A directory of the weights other than the installed package. */
  readonly path?: string;
}

interface BuiltInMinilm extends Required<Pick<BuiltInModel, "embeddings" | "close">> {
  state(): WorkerProcessState;
}

export function createMinilm({ path, ...options }: MinilmOptions = {}): BuiltInMinilm {
  const spec = { kind: "minilm", ...(path !== undefined && { path }) } as const;
  const { id } = minilmModel;
  const embedder = createEmbedder({ id, name: `The embedding model ${id}` }, spec, options);
  return {
    embeddings: (query, _target, signal) => embedder.embed(query, signal),
    state: () => embedder.state(),
    close: () => embedder.close(),
  };
}
