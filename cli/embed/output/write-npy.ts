/** Writes NumPy's format: a matrix of numbers, one row per vector; the ids go to a file of their own, one per line. */
import type { Vectors } from "./vectors.ts";

const flushBytes = 1024 * 1024;

export async function writeNpy(
  path: string,
  { rows, count, vectorLength, type }: Vectors,
  idsPath: string,
): Promise<void> {
  const matrix = Bun.file(path).writer({ highWaterMark: flushBytes });
  const ids = Bun.file(idsPath).writer({ highWaterMark: flushBytes });
  matrix.write(npyHeader(type.numpy, count, vectorLength));
  for await (const { id, vector } of rows) {
    await matrix.write(vector);
    await ids.write(`${JSON.stringify(id)}\n`);
  }
  await matrix.end();
  await ids.end();
}

/** Version 1.0 (numpy.org/doc/stable/reference/generated/numpy.lib.format.html): padded to a multiple of 64 bytes. */
function npyHeader(type: string, rows: number, columns: number): Buffer {
  const shape = `{'descr': '${type}', 'fortran_order': False, 'shape': (${rows}, ${columns}), }`;
  const prefix = 10;
  const bytes = Math.ceil((prefix + shape.length + 1) / 64) * 64;
  const header = Buffer.alloc(bytes, " ");
  header.write("\x93NUMPY\x01\x00", 0, "latin1");
  header.writeUInt16LE(bytes - prefix, 8);
  header.write(shape, prefix, "latin1");
  header.write("\n", bytes - 1);
  return header;
}
