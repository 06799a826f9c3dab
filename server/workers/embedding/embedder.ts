/** Runs an embedding model in a child process, as an upstream. */

import { join } from "node:path";
import { sourceFolder } from "../../lib/executable.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type {
  EmbeddingInput,
  EmbeddingsQuery,
  EmbeddingsResponse,
} from "../../upstream/contract.ts";
import type { WorkerMetadata } from "../process/protocol.ts";
import { type Spawn, WorkerProcess, type WorkerProcessState } from "../process/worker-process.ts";
import {
  type EmbedRequest,
  type EmbedResponsePart,
  type EmbedSpec,
  maxCharacters,
} from "./messages.ts";

export interface EmbedderOptions {
  /** How long an unused model stays in memory. */
  readonly idleMs?: number;
  /** The maximum weight of the queued inputs, over all requests. */
  readonly maxQueued?: number;
  readonly runtime?: EmbedSpec["runtime"];
  /** The module to load as onnxruntime. */
  readonly onnxruntime?: string;
  readonly spawn?: Spawn;
  /** Called each time a model has been loaded, with its id and its runtime. */
  readonly onReady?: (model: string, metadata: WorkerMetadata) => void;
}

export interface Embedder {
  embed(query: EmbeddingsQuery, signal: AbortSignal): Promise<EmbeddingsResponse>;
  state(): WorkerProcessState;
  close(): Promise<void>;
}

/**
 * An idle model accepts the largest request: 2,048 inputs and 8 MiB of text weigh 4,096. A smaller limit would refuse
 * it each time, with the advice to try again.
 */
const defaultMaxQueued = 16_384;

const entry = join(sourceFolder, "server/workers/embedding/child/main.ts");

/** `id`: the model in the log. `name`: the model in error messages. */
export function createEmbedder(
  { id, name }: { readonly id: string; readonly name: string },
  model: EmbedSpec["model"],
  options: EmbedderOptions = {},
): Embedder {
  const { idleMs, maxQueued = defaultMaxQueued, runtime = "auto", spawn, onReady } = options;
  const worker = new WorkerProcess<EmbedSpec, EmbedRequest, EmbedResponsePart>({
    name,
    entry,
    spec: (failedStarts) => ({
      model,
      // A binary for another processor does not throw but crashes the process: after two crashes the fallback is used.
      runtime: runtime === "auto" && failedStarts >= 2 ? "wasm" : runtime,
      onnxruntime: options.onnxruntime ?? "onnxruntime-node",
    }),
    maxWeight: maxQueued,
    ...(idleMs !== undefined && { idleMs }),
    ...(spawn && { spawn }),
    ...(onReady && { onReady: (metadata) => onReady(id, metadata) }),
  });

  return {
    state: () => worker.state(),
    close: () => worker.close(),
    embed: async ({ input, dimensions, extraFields }, signal) => {
      if (input.kind !== "text") throw textsOnly(input.kind);
      const { texts } = input;
      if (texts.length === 0) return { vectors: [], usage: { inputTokens: 0 } };
      const vectors: Float32Array[] = new Array(texts.length);
      const perInput: number[] = new Array(texts.length);
      // One character more than the tokenizer reads shows the child that the text was longer.
      const sentTexts = texts.map((text) => text.slice(0, maxCharacters + 1));
      await worker.send({
        request: {
          texts: sentTexts,
          truncate: extraFields.truncate === true || extraFields.truncation === true,
          ...(dimensions !== undefined && { dimensions }),
        },
        weight: weightOf(sentTexts),
        signal,
        onPart: (part) => {
          const width = part.vectors.length / part.indexes.length;
          part.indexes.forEach((index, i) => {
            vectors[index] = part.vectors.subarray(i * width, (i + 1) * width);
            perInput[index] = part.tokens[i] ?? 0;
          });
        },
      });
      const inputTokens = perInput.reduce((sum, tokens) => sum + tokens, 0);
      return { vectors, usage: { inputTokens, perInput } };
    },
  };
}

/** The number of inputs, plus one for every 4,096 characters: many long texts must not fill the memory either. */
function weightOf(texts: readonly string[]): number {
  const characters = texts.reduce((sum, text) => sum + text.length, 0);
  return texts.length + Math.floor(characters / 4_096);
}

/** LangChain for Python sends OpenAI's cl100k tokens by default; in this model's vocabulary they would be nonsense. */
function textsOnly(kind: EmbeddingInput["kind"]): GatewayError {
  if (kind === "mixed")
    return new GatewayError("invalid_input", "This model reads texts only.", { param: "input" });
  const message =
    "This model does not accept token arrays: clients' tokens belong to another vocabulary than its own. " +
    "Send strings (in LangChain for Python: check_embedding_ctx_length=False).";
  return new GatewayError("invalid_input", message, { param: "input" });
}
