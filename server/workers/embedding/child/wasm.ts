/**
 * WebAssembly fallback where onnxruntime does not load: the engine that comes with the weights, some ten times slower.
 */
import type { ModelManifest } from "@lat.md/embed";
import type { LoadedModel, TextTokenizer } from "../messages.ts";

export async function createWasmModel(
  manifest: ModelManifest,
  tokenizer: TextTokenizer,
): Promise<LoadedModel> {
  const { createEmbedder } = await import("@lat.md/embed");
  const engine = await createEmbedder({ model: manifest });
  const { dimensions, maxTokens } = manifest;
  return {
    runtime: "wasm",
    dimensions,
    maxTokens,
    tokenizer,
    // The engine tokenizes by itself, and truncates at `maxTokens` where the request allows it. One text at a time: it
    // gains nothing from batches, and from 24 texts on it would start threads of its own.
    embed: async (batch) => {
      const vectors = new Float32Array(batch.length * dimensions);
      for (const [row, { text }] of batch.entries()) {
        const [vector = []] = await engine.embed([text]);
        vectors.set(vector, row * dimensions);
      }
      return vectors;
    },
  };
}
