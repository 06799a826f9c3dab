/** The types of the numbers in a vector, as `output_dtype` names them, and how files store them. */
import type { SchemaElement } from "hyparquet";
import { quantizedTypes } from "../../server/embeddings/output-type.ts";

export type Vector = Float32Array | Int8Array | Uint8Array;

export const typeNames = ["float", ...quantizedTypes] as const;
export type NumberTypeName = (typeof typeNames)[number];

export interface NumberType {
  readonly name: NumberTypeName;
  readonly bytes: 1 | 4;
  /** The vector in these bytes, which are copied, because float32 numbers must be aligned. */
  read(bytes: Uint8Array): Vector;
  /** The vector of the numbers in a response. */
  from(numbers: readonly unknown[]): Vector;
  /** As NumPy's `dtype.descr` writes it. */
  readonly numpy: string;
  readonly parquet: Pick<SchemaElement, "type" | "converted_type">;
}

const signed = (name: NumberTypeName): NumberType => ({
  name,
  bytes: 1,
  read: (bytes) => new Int8Array(new Uint8Array(bytes).buffer),
  from: (numbers) => Int8Array.from(numbers, Number),
  numpy: "|i1",
  parquet: { type: "INT32", converted_type: "INT_8" },
});

const unsigned = (name: NumberTypeName): NumberType => ({
  name,
  bytes: 1,
  read: (bytes) => new Uint8Array(bytes),
  from: (numbers) => Uint8Array.from(numbers, Number),
  numpy: "|u1",
  parquet: { type: "INT32", converted_type: "UINT_8" },
});

export const numberTypes: Readonly<Record<NumberTypeName, NumberType>> = {
  float: {
    name: "float",
    bytes: 4,
    read: (bytes) => new Float32Array(new Uint8Array(bytes).buffer),
    from: (numbers) => Float32Array.from(numbers, Number),
    numpy: "<f4",
    parquet: { type: "FLOAT" },
  },
  int8: signed("int8"),
  binary: signed("binary"),
  uint8: unsigned("uint8"),
  ubinary: unsigned("ubinary"),
};
