/**
 * The vectors of an unfinished run, in the order of the input. A record is the length of the id, the id as JSON, and the
 * float32 numbers. The output is written from it at the end, so a reader never sees half an output.
 */
import { createReadStream } from "node:fs";
import type { RowId, VectorRow } from "./row.ts";

export function encodeRecord({ id, vector }: VectorRow): Buffer {
  const idBytes = Buffer.from(JSON.stringify(id));
  const record = Buffer.allocUnsafe(4 + idBytes.length + vector.byteLength);
  record.writeUInt32LE(idBytes.length, 0);
  idBytes.copy(record, 4);
  Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).copy(record, 4 + idBytes.length);
  return record;
}

/** `bytes`: of the file; the rest of it is not read. */
export async function* readRecords(
  path: string,
  bytes: number,
  vectorLength: number,
): AsyncGenerator<VectorRow> {
  if (bytes === 0) return;
  const chunks: AsyncIterable<Buffer> = createReadStream(path, {
    end: bytes - 1,
    highWaterMark: 1024 * 1024,
  });
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    for (let end = endOf(rest, at, vectorLength); end <= rest.length; ) {
      yield decodeRecord(rest.subarray(at, end), vectorLength);
      at = end;
      end = endOf(rest, at, vectorLength);
    }
    rest = rest.subarray(at);
  }
  if (rest.length > 0) throw new Error(`${path} is damaged: its last record is incomplete.`);
}

/** Infinity if the length of the id is not complete yet. */
const endOf = (bytes: Buffer, at: number, vectorLength: number): number =>
  at + 4 > bytes.length
    ? Number.POSITIVE_INFINITY
    : at + 4 + bytes.readUInt32LE(at) + 4 * vectorLength;

function decodeRecord(record: Buffer, vectorLength: number): VectorRow {
  const idEnd = record.length - 4 * vectorLength;
  const id: RowId = JSON.parse(record.toString("utf8", 4, idEnd));
  // A copy: float32 numbers must be aligned.
  return { id, vector: new Float32Array(new Uint8Array(record.subarray(idEnd)).buffer) };
}
