/** Writes the subset of protocol buffers that an ONNX file needs. Tensors are kept by reference until `finish`. */

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

export class Message {
  readonly #chunks: Uint8Array[] = [];
  #length = 0;

  int(field: number, value: number | bigint): this {
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
