/** Loads an embedding model from a directory of the operator. */
import { readFile } from "node:fs/promises";
import { GatewayError } from "../../../lib/gateway-error.ts";
import type { DirectorySpec, EmbedSpec, LoadedModel } from "../messages.ts";
import { type ModelDirectory, readModelDirectory } from "../model-directory.ts";
import { createNativeModel } from "./native.ts";
import { loadOnnxruntime } from "./onnxruntime.ts";
import { createTokenizer } from "./tokenize.ts";

export async function loadDirectory(
  spec: DirectorySpec,
  { onnxruntime: specifier, threads }: Omit<EmbedSpec, "model">,
): Promise<LoadedModel> {
  const failed = (message: string, cause?: unknown) =>
    new GatewayError("upstream_error", message, cause === undefined ? {} : { cause });
  const found = attempt(
    () => readModelDirectory(spec.path),
    (error) => failed(`The local model cannot be used. ${error.message}`, error),
  );
  const onnxruntime = attempt(
    () => loadOnnxruntime(specifier),
    (error) =>
      failed(
        `The local model ${spec.path} needs ${specifier}, which does not load here: ${error.message}`,
        error,
      ),
  );
  const options = { ...found, ...configuredOptions(spec, found) };
  try {
    const file = JSON.parse(await readFile(found.tokenizer, "utf8"));
    const tokenizer = createTokenizer(file, found.tokenizerConfig, options);
    return await createNativeModel({
      ...options,
      onnxruntime,
      graph: found.onnx,
      tokenizer,
      ...(threads !== undefined && { threads }),
    });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw failed(`The local model ${spec.path} cannot be used: ${reason}`, error);
  }
}

/** Configured options override those of the model. `maxTokens` can lower the model's own limit, and not raise it. */
function configuredOptions(
  { pooling, normalize, maxTokens }: DirectorySpec,
  found: ModelDirectory,
) {
  return {
    ...(pooling !== undefined && { pooling }),
    ...(normalize !== undefined && { normalize }),
    ...(maxTokens !== undefined && { maxTokens: Math.min(maxTokens, found.maxTokens) }),
  };
}

function attempt<T>(act: () => T, wrap: (error: Error) => GatewayError): T {
  try {
    return act();
  } catch (error) {
    throw wrap(error instanceof Error ? error : new Error(String(error)));
  }
}
