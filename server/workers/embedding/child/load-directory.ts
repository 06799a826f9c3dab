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
  { onnxruntime: specifier }: Omit<EmbedSpec, "model">,
): Promise<LoadedModel> {
  const { path } = spec;
  const found = await attempt("The local model cannot be used. ", async () =>
    readModelDirectory(path),
  );
  const onnxruntime = await attempt(
    `The local model ${path} needs ${specifier}, which does not load here: `,
    async () => loadOnnxruntime(specifier),
  );
  const options = { ...found, ...configuredOptions(spec, found) };
  return attempt(`The local model ${path} cannot be used: `, async () => {
    const file = JSON.parse(await readFile(found.tokenizer, "utf8"));
    const tokenizer = createTokenizer(file, found.tokenizerConfig, options);
    return createNativeModel({ ...options, onnxruntime, graph: found.onnx, tokenizer });
  });
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

/** `message`: the reason of a failure follows it. */
async function attempt<T>(message: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new GatewayError("upstream_error", `${message}${reason}`, { cause });
  }
}
