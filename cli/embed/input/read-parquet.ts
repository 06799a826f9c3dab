/** Reads Parquet, one row group at a time, and only the columns that are needed. */
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import type { SourceRow } from "../row.ts";

/** The codecs that hyparquet leaves to its callers, besides Snappy, which it has. */
const compressors = {
  GZIP: (bytes: Uint8Array) => gunzipSync(bytes),
  ZSTD: (bytes: Uint8Array) => Bun.zstdDecompressSync(bytes),
  BROTLI: (bytes: Uint8Array) => brotliDecompressSync(bytes),
};

export async function* readParquet(
  path: string,
  wanted: readonly string[],
): AsyncGenerator<SourceRow> {
  // Loaded here: the other formats do not need it.
  const { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects, parquetSchema } =
    await import("hyparquet");
  const file = await asyncBufferFromFile(path);
  const metadata = await parquetMetadataAsync(file);
  const present = new Set(parquetSchema(metadata).children.map(({ element }) => element.name));
  const columns = wanted.filter((name) => present.has(name));
  let rowStart = 0;
  for (const group of metadata.row_groups) {
    const rowEnd = rowStart + Number(group.num_rows);
    const rows = await parquetReadObjects({
      file,
      metadata,
      columns,
      rowStart,
      rowEnd,
      compressors,
    });
    for (const row of rows) yield { columns: row };
    rowStart = rowEnd;
  }
}
