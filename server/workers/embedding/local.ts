/**
 * Embedding models of the operator, each loaded from a local model directory into a process of its own, with LRU
 * eviction.
 */
import { basename, resolve } from "node:path";
import { z } from "zod";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { BuiltInModel, Target } from "../../upstream/contract.ts";
import { fullQueueError } from "../process/worker-process.ts";
import { createEmbedder, type Embedder, type EmbedderOptions } from "./embedder.ts";
import type { DirectorySpec } from "./messages.ts";

interface LocalOptions extends EmbedderOptions {
  /** How many models may be in use at once. */
  readonly maxModels?: number;
}

const settings = z.object({
  path: z.string().min(1),
  pooling: z.enum(["mean", "cls"]).optional(),
  normalize: z.boolean().optional(),
  maxTokens: z.int().min(1).optional(),
});

type BuiltInLocalModels = Required<Pick<BuiltInModel, "embeddings" | "close">>;

/** Each model takes a process and its memory. */
const maxLocalModels = 8;

export function createLocal({
  maxModels = maxLocalModels,
  ...options
}: LocalOptions = {}): BuiltInLocalModels {
  /** By their settings, least recently used first. */
  const embedders = new Map<string, Embedder>();

  const find = (target: Target): Embedder => {
    const spec = readSpec(target);
    const key = JSON.stringify(spec);
    const existing = embedders.get(key);
    if (!existing && embedders.size >= maxModels) evictUnused();
    const name = `The local model ${basename(spec.path)}`;
    const embedder = existing ?? createEmbedder({ id: target.model, name }, spec, options);
    embedders.delete(key);
    embedders.set(key, embedder);
    return embedder;
  };
  const evictUnused = () => {
    const unused = [...embedders].find(([, embedder]) => embedder.state().requests === 0);
    if (!unused) {
      const message = `The maximum of ${maxModels} local models is in use. Please try again later.`;
      throw fullQueueError(message);
    }
    embedders.delete(unused[0]);
    void unused[1].close();
  };

  return {
    embeddings: async (query, target, signal) => find(target).embed(query, signal),
    close: async () => {
      await Promise.all([...embedders.values()].map((embedder) => embedder.close()));
    },
  };
}

function readSpec({ upstream }: Target): DirectorySpec {
  const read = settings.safeParse(upstream.options);
  if (!read.success) {
    const message = `The options of the upstream ${upstream.id} are wrong: ${z.prettifyError(read.error)}`;
    throw new GatewayError("upstream_error", message);
  }
  return { kind: "directory", ...read.data, path: resolve(read.data.path) };
}
