/** Builds a BERT encoder as an ONNX model, in memory, from fp16 weights: nothing is written to disk. */
import { z } from "zod";
import type { Tensor } from "../safetensors.ts";
import { contribDomain, Graph, tensorType } from "./graph.ts";

export const bertConfig = z.object({
  hidden_size: z.int().min(1),
  num_attention_heads: z.int().min(1),
  num_hidden_layers: z.int().min(1),
  layer_norm_eps: z.number().positive(),
  hidden_act: z.literal("gelu"),
});
type BertConfig = z.infer<typeof bertConfig>;

const { float, float16, int32, int64 } = tensorType;

/**
 * Inputs input_ids, attention_mask and token_type_ids as every exported BERT has them; output last_hidden_state.
 * Attention, bias + GELU and residual + norm are onnxruntime's fused operators, which save passes over memory.
 */
export function bertGraph(weights: (name: string) => Tensor, config: BertConfig): Uint8Array {
  const graph = new Graph();
  const width = config.hidden_size;
  const epsilon = { float: config.layer_norm_eps };
  const ids = graph.input("input_ids", int64, ["batch", "length"]);
  const mask = graph.input("attention_mask", int64, ["batch", "length"]);
  const types = graph.input("token_type_ids", int64, ["batch", "length"]);

  // Weights stay fp16 in the model. onnxruntime widens the constants once, when the session is made.
  const half = (name: string, shape: readonly number[], bytes: Uint8Array) =>
    graph.constant(name, float16, shape, bytes);
  const widen = (value: string) =>
    graph.node("Cast", [value], { attributes: { to: { int: float } } });
  const vector = (name: string) => {
    const { shape, bytes } = fp16(weights(name), name);
    return widen(half(name, shape, bytes));
  };
  const matrix = (...names: readonly string[]) => {
    const { shape, bytes } = columns(names.map((name) => fp16(weights(name), name)));
    return widen(half(names.join("+"), shape, bytes));
  };
  const vectors = (...names: readonly string[]) => {
    const parts = names.map((name) => fp16(weights(name), name));
    const bytes = Buffer.concat(parts.map((part) => part.bytes));
    return widen(half(names.join("+"), [bytes.length / 2], bytes));
  };
  // Only the looked-up rows are widened: the whole table would double in size.
  const lookUp = (name: string, indices: string) => {
    const { shape, bytes } = fp16(weights(name), name);
    return widen(graph.node("Gather", [half(name, shape, bytes), indices]));
  };
  const number = (name: string, value: bigint) =>
    graph.constant(name, int64, [1], new Uint8Array(BigInt64Array.of(value).buffer));

  const first = number("first", 0n);
  const second = number("second", 1n);
  const length = graph.node("Gather", [graph.node("Shape", [ids]), second]);
  const positions = graph.node("Slice", [
    vector("embeddings.position_embeddings.weight"),
    first,
    length,
  ]);
  const embedded = graph.node("Add", [
    graph.node("Add", [
      lookUp("embeddings.word_embeddings.weight", ids),
      lookUp("embeddings.token_type_embeddings.weight", types),
    ]),
    positions,
  ]);
  const keep = graph.node("Cast", [mask], { attributes: { to: { int: int32 } } });

  let hidden = graph.node(
    "LayerNormalization",
    [embedded, vector("embeddings.LayerNorm.weight"), vector("embeddings.LayerNorm.bias")],
    { attributes: { axis: { int: -1 }, epsilon } },
  );
  for (let layer = 0; layer < config.num_hidden_layers; layer += 1) {
    const at = (name: string) => `encoder.layer.${layer}.${name}`;
    const parts = ["query", "key", "value"].map((part) => at(`attention.self.${part}`));
    const addAndNormalize = (value: string, dense: string, norm: string, output?: string) =>
      graph.node(
        "SkipLayerNormalization",
        [
          value,
          hidden,
          vector(at(`${norm}.weight`)),
          vector(at(`${norm}.bias`)),
          vector(at(`${dense}.bias`)),
        ],
        { domain: contribDomain, attributes: { epsilon }, ...(output && { output }) },
      );
    const attended = graph.node(
      "Attention",
      [
        hidden,
        matrix(...parts.map((part) => `${part}.weight`)),
        vectors(...parts.map((part) => `${part}.bias`)),
        keep,
      ],
      { domain: contribDomain, attributes: { num_heads: { int: config.num_attention_heads } } },
    );
    hidden = addAndNormalize(
      graph.node("MatMul", [attended, matrix(at("attention.output.dense.weight"))]),
      "attention.output.dense",
      "attention.output.LayerNorm",
    );
    const widened = graph.node("MatMul", [hidden, matrix(at("intermediate.dense.weight"))]);
    const activated = graph.node("BiasGelu", [widened, vector(at("intermediate.dense.bias"))], {
      domain: contribDomain,
    });
    hidden = addAndNormalize(
      graph.node("MatMul", [activated, matrix(at("output.dense.weight"))]),
      "output.dense",
      "output.LayerNorm",
      layer === config.num_hidden_layers - 1 ? "last_hidden_state" : undefined,
    );
  }
  graph.output(hidden, float, ["batch", "length", width]);
  return graph.finish();
}

function fp16(tensor: Tensor, name: string): Tensor {
  if (tensor.dtype !== "F16") throw new Error(`the tensor ${name} is ${tensor.dtype}, not F16`);
  return tensor;
}

/**
 * PyTorch keeps a layer's weights as [out, in]; ONNX multiplies by [in, out]. Several matrices become one, side by
 * side.
 */
function columns(matrices: readonly Tensor[]): { shape: [number, number]; bytes: Uint8Array } {
  const rows = matrices[0]?.shape[1] ?? 0;
  const width = matrices.reduce((sum, matrix) => sum + (matrix.shape[0] ?? 0), 0);
  const transposed = new Uint16Array(rows * width);
  let offset = 0;
  for (const { shape, bytes } of matrices) {
    const out = shape[0] ?? 0;
    // Copied, because a view of 16-bit numbers must start at an even address.
    const source = new Uint16Array(new Uint8Array(bytes).buffer);
    for (let o = 0; o < out; o += 1) {
      for (let i = 0; i < rows; i += 1)
        transposed[i * width + offset + o] = source[o * rows + i] ?? 0;
    }
    offset += out;
  }
  return { shape: [rows, width], bytes: new Uint8Array(transposed.buffer) };
}
