/**
 * A BERT of two layers with random weights, in the file format of llama.cpp. Its vectors have 64 numbers, and it reads
 * 128 tokens. ggml/docs/gguf.md has the format, and src/llama-arch.cpp the names.
 */

const [length, hidden, layers, context] = [64, 128, 2, 128];
const letters = "abcdefghijklmnopqrstuvwxyz0123456789.,!?'-";
const words = "a the red blue boat sea on of and text word number".split(" ");
const special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];

interface Token {
  readonly text: string;
  /** 1: normal, 3: control. */
  readonly type: 1 | 3;
}

/** Pieces at the start of a word have a mark; the others continue one. */
const vocabulary: readonly Token[] = [
  ...special.map((text): Token => ({ text, type: 3 })),
  ...new Set([...words, ...letters].map((text) => `\u2581${text}`))
    .values()
    .map((text): Token => ({ text, type: 1 })),
  ...[...letters].map((text): Token => ({ text, type: 1 })),
];

/** Little-endian numbers and texts, one after the other. */
class Writer {
  readonly #chunks: Buffer[] = [];

  u32(value: number): this {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(value);
    return this.bytes(bytes);
  }

  u64(value: number): this {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt(value));
    return this.bytes(bytes);
  }

  text(value: string): this {
    const bytes = Buffer.from(value);
    return this.u64(bytes.length).bytes(bytes);
  }

  bytes(bytes: Buffer): this {
    this.#chunks.push(bytes);
    return this;
  }

  result(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}

type Value =
  | { readonly u32: number }
  | { readonly f32: number }
  | { readonly bool: boolean }
  | { readonly text: string }
  | { readonly texts: readonly string[] }
  | { readonly i32s: readonly number[] };

/** The number of each type in the format. */
const types = { u32: 4, i32: 5, f32: 6, bool: 7, text: 8, list: 9 } as const;

function writeValue(writer: Writer, value: Value): void {
  if ("u32" in value) writer.u32(types.u32).u32(value.u32);
  else if ("f32" in value)
    writer.u32(types.f32).bytes(Buffer.from(new Float32Array([value.f32]).buffer));
  else if ("bool" in value) writer.u32(types.bool).bytes(Buffer.from([value.bool ? 1 : 0]));
  else if ("text" in value) writer.u32(types.text).text(value.text);
  else if ("texts" in value) {
    writer.u32(types.list).u32(types.text).u64(value.texts.length);
    for (const text of value.texts) writer.text(text);
  } else {
    writer.u32(types.list).u32(types.i32).u64(value.i32s.length);
    writer.bytes(Buffer.from(new Int32Array(value.i32s).buffer));
  }
}

const metadata: Readonly<Record<string, Value>> = {
  "general.architecture": { text: "bert" },
  "general.name": { text: "tiny" },
  "bert.context_length": { u32: context },
  "bert.embedding_length": { u32: length },
  "bert.feed_forward_length": { u32: hidden },
  "bert.block_count": { u32: layers },
  "bert.attention.head_count": { u32: 2 },
  "bert.attention.layer_norm_epsilon": { f32: 1e-12 },
  "bert.attention.causal": { bool: false },
  // The mean of the tokens' vectors.
  "bert.pooling_type": { u32: 1 },
  "general.file_type": { u32: 0 },
  "tokenizer.ggml.model": { text: "bert" },
  "tokenizer.ggml.tokens": { texts: vocabulary.map(({ text }) => text) },
  "tokenizer.ggml.token_type": { i32s: vocabulary.map(({ type }) => type) },
  "tokenizer.ggml.token_type_count": { u32: 2 },
  "tokenizer.ggml.padding_token_id": { u32: 0 },
  "tokenizer.ggml.unknown_token_id": { u32: 1 },
  "tokenizer.ggml.cls_token_id": { u32: 2 },
  "tokenizer.ggml.bos_token_id": { u32: 2 },
  "tokenizer.ggml.seperator_token_id": { u32: 3 },
  "tokenizer.ggml.eos_token_id": { u32: 3 },
  "tokenizer.ggml.mask_token_id": { u32: 4 },
};

/** The dimensions of each tensor, the fastest first. Biases are 0, and norms are 1. */
function tensorShapes(): Readonly<Record<string, readonly number[]>> {
  const shapes: Record<string, readonly number[]> = {
    "token_embd.weight": [length, vocabulary.length],
    "position_embd.weight": [length, context],
    "token_types.weight": [length, 2],
    "token_embd_norm.weight": [length],
    "token_embd_norm.bias": [length],
  };
  const add = (name: string, from: number, to: number): void => {
    shapes[`${name}.weight`] = [from, to];
    shapes[`${name}.bias`] = [to];
  };
  for (let layer = 0; layer < layers; layer++) {
    for (const name of ["attn_q", "attn_k", "attn_v", "attn_output"])
      add(`blk.${layer}.${name}`, length, length);
    add(`blk.${layer}.ffn_up`, length, hidden);
    add(`blk.${layer}.ffn_down`, hidden, length);
    for (const name of ["attn_output_norm", "layer_output_norm"])
      for (const part of ["weight", "bias"]) shapes[`blk.${layer}.${name}.${part}`] = [length];
  }
  return shapes;
}

/** The same pseudorandom numbers in each run (linear congruential generator). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32 - 0.5;
  };
}

export function tinyGguf(): Buffer {
  const tensors = Object.entries(tensorShapes());
  const random = randomFrom(7);
  const head = new Writer().bytes(Buffer.from("GGUF")).u32(3);
  head.u64(tensors.length).u64(Object.keys(metadata).length);
  for (const [name, value] of Object.entries(metadata)) writeValue(head.text(name), value);
  const data: Buffer[] = [];
  let offset = 0;
  for (const [name, shape] of tensors) {
    head.text(name).u32(shape.length);
    for (const size of shape) head.u64(size);
    // 0: numbers of 32 bits.
    head.u32(0).u64(offset);
    const values = new Float32Array(shape.reduce((product, size) => product * size, 1));
    if (shape.length > 1) for (let at = 0; at < values.length; at++) values[at] = random();
    else values.fill(name.endsWith("_norm.weight") ? 1 : 0);
    data.push(Buffer.from(values.buffer));
    offset += values.byteLength;
  }
  // Tensors begin at multiples of 32 bytes; their own lengths are such multiples.
  const start = head.result();
  return Buffer.concat([start, Buffer.alloc((32 - (start.length % 32)) % 32), ...data]);
}
