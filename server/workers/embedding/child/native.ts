/**
 * Runs a sentence-embedding ONNX model in onnxruntime, feeding it by the names of its inputs, and makes one vector per
 * text: mean pooling or CLS pooling, then normalization.
 */

import { GatewayError } from "../../../lib/gateway-error.ts";
import type { LoadedModel, TextTokenizer, Tokenized } from "../messages.ts";
import {
  type Onnxruntime,
  type OnnxSession,
  type OnnxTensor,
  sessionOptions,
} from "./onnxruntime.ts";

interface NativeOptions {
  readonly onnxruntime: Onnxruntime;
  /** The bytes of an ONNX file, or its path. */
  readonly graph: Uint8Array | string;
  readonly tokenizer: TextTokenizer;
  readonly maxTokens: number;
  /** The default is mean, or none where the model has a sentence output. */
  readonly pooling?: Pooling;
  readonly normalize: boolean;
  /** A layer after pooling that is not in the file, such as Dense. */
  readonly unsupported?: string;
}

type IntegerType = "int64" | "int32";

const knownInputs = ["input_ids", "attention_mask", "token_type_ids", "position_ids"] as const;
const perSentence = "sentence_embedding";
const perToken = ["last_hidden_state", "token_embeddings"];

export async function createNativeModel(options: NativeOptions): Promise<LoadedModel> {
  const { onnxruntime, tokenizer, maxTokens } = options;
  const session = await onnxruntime.InferenceSession.create(options.graph, sessionOptions);
  const unsupportedInput = session.inputNames.find(
    (name) => !knownInputs.some((one) => one === name),
  );
  if (unsupportedInput) {
    throw new GatewayError(
      "upstream_error",
      `The ONNX model has an unsupported input named ${unsupportedInput}.`,
    );
  }
  const output = chooseOutput(session, options);

  const run = async (batch: readonly Tokenized[], integerType: IntegerType) => {
    const feeds = createFeeds(onnxruntime, session.inputNames, batch, integerType);
    const tensor = (await session.run(feeds, [output]))[output];
    if (!tensor) throw new GatewayError("upstream_error", `The ONNX model returned no ${output}.`);
    return toVectors(tensor, batch, options);
  };

  // A test run shows the vector length, and that the model works. Some exports take int32.
  const probe = [{ text: "a", ids: tokenizer.encode("a") }];
  const integerType: IntegerType = await run(probe, "int64").then(
    () => "int64",
    (error: unknown) => {
      if (/data type/i.test(String(error))) return "int32";
      throw explainError(error);
    },
  );
  const dimensions = (await run(probe, integerType)).length;
  return {
    runtime: "native",
    dimensions,
    maxTokens,
    tokenizer,
    embed: (batch) => run(batch, integerType),
  };
}

/** For an fp16 output, onnxruntime-node 1.17 only reports "Invalid argument". */
function explainError(error: unknown): unknown {
  if (!(error instanceof Error) || error.message !== "Invalid argument") return error;
  const message =
    "The outputs of the ONNX model are probably fp16. Export the model with fp32 outputs.";
  return new GatewayError("upstream_error", message, { cause: error });
}

function chooseOutput({ outputNames }: OnnxSession, options: NativeOptions): string {
  const ofTokens = outputNames.find((name) => perToken.includes(name));
  const ofSentence = outputNames.find((name) => name === perSentence);
  const preferred = options.pooling ? (ofTokens ?? ofSentence) : (ofSentence ?? ofTokens);
  const output = preferred ?? outputNames[0];
  if (output === undefined)
    throw new GatewayError("upstream_error", "The ONNX model has no output.");
  if (output !== perSentence && options.unsupported) {
    const message = `The model ends in a ${options.unsupported} layer that is not in its ONNX file. Export it with an output named ${perSentence}.`;
    throw new GatewayError("upstream_error", message);
  }
  return output;
}

/** Padding is on the right and masked: in fp32 it changes no bit of the vectors. */
function createFeeds(
  { Tensor }: Onnxruntime,
  names: readonly string[],
  batch: readonly Tokenized[],
  integerType: IntegerType,
): Record<string, OnnxTensor> {
  const length = Math.max(...batch.map(({ ids }) => ids.length));
  const dims = [batch.length, length];
  const tensor = (at: (ids: readonly number[], index: number) => number) => {
    const values = batch.flatMap(({ ids }) => Array.from({ length }, (_, index) => at(ids, index)));
    return integerType === "int64"
      ? new Tensor(integerType, BigInt64Array.from(values, BigInt), dims)
      : new Tensor(integerType, Int32Array.from(values), dims);
  };
  const inputs: Record<(typeof knownInputs)[number], () => OnnxTensor> = {
    input_ids: () => tensor((ids, index) => ids[index] ?? 0),
    attention_mask: () => tensor((ids, index) => (index < ids.length ? 1 : 0)),
    token_type_ids: () => tensor(() => 0),
    position_ids: () => tensor((_, index) => index),
  };
  return Object.fromEntries(
    knownInputs.filter((name) => names.includes(name)).map((name) => [name, inputs[name]()]),
  );
}

function toVectors(tensor: OnnxTensor, batch: readonly Tokenized[], options: NativeOptions) {
  const values = toFloat32(tensor);
  const [rows = 0, second = 0, third] = tensor.dims;
  const width = third ?? second;
  if (rows !== batch.length || tensor.dims.length < 2 || tensor.dims.length > 3) {
    const message = `The ONNX model returned a tensor of shape [${tensor.dims.join(", ")}].`;
    throw new GatewayError("upstream_error", message);
  }
  const counts = batch.map(({ ids }) => ids.length);
  const pooled =
    third === undefined
      ? values.slice()
      : pool({ values, length: second, width }, counts, options.pooling ?? "mean");
  if (options.normalize) normalize(pooled, width);
  if (!pooled.every(Number.isFinite)) {
    throw new GatewayError(
      "upstream_invalid",
      "The model returned a vector with a value that is not a finite number.",
    );
  }
  return pooled;
}

function toFloat32({ type, data }: OnnxTensor): Float32Array {
  if (data instanceof Float32Array) return data;
  throw new GatewayError("upstream_error", `The ONNX model returns ${type}, not float32.`);
}

/** Pooling: combines the token vectors of a text into one vector. */
type Pooling = "mean" | "cls";

interface Hidden {
  /** [batch, length, width] */
  readonly values: Float32Array;
  readonly length: number;
  readonly width: number;
}

/** `counts`: how many positions of each row are tokens; the rest is padding on the right. */
function pool(hidden: Hidden, counts: readonly number[], pooling: Pooling): Float32Array {
  const { values, length, width } = hidden;
  const pooled = new Float32Array(counts.length * width);
  counts.forEach((count, row) => {
    const from = row * length * width;
    const to = row * width;
    const used = pooling === "cls" ? 1 : count;
    for (let token = 0; token < used; token += 1) {
      for (let i = 0; i < width; i += 1) {
        pooled[to + i] = pooled[to + i]! + values[from + token * width + i]!;
      }
    }
    for (let i = 0; i < width; i += 1) pooled[to + i] = pooled[to + i]! / used;
  });
  return pooled;
}

/** Normalizes to length 1, in place. A zero vector stays zero. */
function normalize(vectors: Float32Array, width: number): Float32Array {
  for (let from = 0; from < vectors.length; from += width) {
    let squares = 0;
    for (let i = from; i < from + width; i += 1) squares += vectors[i]! ** 2;
    const norm = Math.sqrt(squares) || 1;
    for (let i = from; i < from + width; i += 1) vectors[i] = vectors[i]! / norm;
  }
  return vectors;
}
