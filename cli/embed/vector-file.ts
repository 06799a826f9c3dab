/**
 * The vectors of an unfinished run, in the order of the input. A record is the length of its head, the head as JSON (id
 * and other columns), and the numbers. The output is written from it at the end, so a reader never sees half an output.
 */
import { createReadStream } from "node:fs";
import type { Cell } from "./cells.ts";
import type { NumberType, Vector } from "./number-types.ts";
import type { RowId, VectorRow } from "./row.ts";

export interface StoredVector {
  readonly id: RowId;
  /** The other columns that have a value. */
  readonly cells: ReadonlyMap<string, Cell["value"]>;
  readonly vector: Vector;
  /** Of the head. */
  readonly headBytes: number;
}

type Head = readonly [id: RowId, cells: readonly (readonly [name: string, value: Cell["value"]])[]];

export function encodeRecord({ id, vector, cells = [] }: VectorRow): Buffer {
  const present = cells.filter(({ value }) => value !== null);
  const head: Head = [id, present.map(({ name, value }) => [name, value] as const)];
  const headBytes = Buffer.from(JSON.stringify(head));
  const record = Buffer.allocUnsafe(4 + headBytes.length + vector.byteLength);
  record.writeUInt32LE(headBytes.length, 0);
  headBytes.copy(record, 4);
  const numbers = Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
  numbers.copy(record, 4 + headBytes.length);
  return record;
}

interface VectorFile {
  readonly path: string;
  /** Of the file; the rest of it is not read. */
  readonly bytes: number;
  readonly vectorLength: number;
  readonly type: NumberType;
}

export async function* readRecords(file: VectorFile): AsyncGenerator<StoredVector> {
  const { path, bytes, vectorLength, type } = file;
  if (bytes === 0) return;
  const vectorBytes = vectorLength * type.bytes;
  const chunks: AsyncIterable<Buffer> = createReadStream(path, {
    end: bytes - 1,
    highWaterMark: 1024 * 1024,
  });
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    for (let end = endOf(rest, at, vectorBytes); end <= rest.length; ) {
      yield decodeRecord(rest.subarray(at, end), vectorBytes, type);
      at = end;
      end = endOf(rest, at, vectorBytes);
    }
    rest = rest.subarray(at);
  }
  if (rest.length > 0) throw new Error(`${path} is damaged: its last record is incomplete.`);
}

/** Infinity if the length of the head is not complete yet. */
const endOf = (bytes: Buffer, at: number, vectorBytes: number): number =>
  at + 4 > bytes.length ? Number.POSITIVE_INFINITY : at + 4 + bytes.readUInt32LE(at) + vectorBytes;

function decodeRecord(record: Buffer, vectorBytes: number, type: NumberType): StoredVector {
  const headEnd = record.length - vectorBytes;
  const [id, cells]: Head = JSON.parse(record.toString("utf8", 4, headEnd));
  const vector = type.read(record.subarray(headEnd));
  return { id, cells: new Map(cells), vector, headBytes: headEnd - 4 };
}
