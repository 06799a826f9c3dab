/** Reads Parquet, one row group at a time, and only the columns that are needed. */
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import type { SchemaElement } from "hyparquet";
import { errorCode, errorMessage } from "../../../server/lib/error-code.ts";
import { UsageError } from "../../command.ts";
import { PreciseTime } from "../cells.ts";
import type { SourceRow } from "../row.ts";
import { checkPages } from "./check-parquet-pages.ts";

/** The codecs that hyparquet leaves to its callers, besides Snappy, which it has. */
const compressors = {
  GZIP: (bytes: Uint8Array) => gunzipSync(bytes),
  ZSTD: (bytes: Uint8Array) => Bun.zstdDecompressSync(bytes),
  BROTLI: (bytes: Uint8Array) => brotliDecompressSync(bytes),
};

const parsers = {
  timestampFromMicroseconds: (micros: bigint) => new PreciseTime(micros),
  timestampFromNanoseconds: (nanos: bigint) => new PreciseTime(nanos / 1000n),
};

interface Wanted {
  readonly named: ReadonlySet<string>;
  /** Whether rows have their other columns too. */
  readonly others: boolean;
}

/** The first row has the names of all columns of the file, also of columns that are not read. */
export async function* readParquet(path: string, wanted: Wanted): AsyncGenerator<SourceRow> {
  // Loaded here: the other formats do not need it.
  const { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects, parquetSchema } =
    await import("hyparquet");
  const file = await asyncBufferFromFile(path);
  const { metadata, schema } = await readable(path, async () => {
    const found = await parquetMetadataAsync(file);
    return { metadata: found, schema: parquetSchema(found) };
  });
  const elements = schema.children.map(({ element }) => element);
  const all = elements.map(({ name }) => name);
  const columns = wanted.others ? all : all.filter((name) => wanted.named.has(name));
  const fractional = new Set(elements.filter(isFractional).map(({ name }) => name));
  let names = Object.fromEntries(all.map((name) => [name, undefined]));
  let rowStart = 0;
  for (const group of metadata.row_groups) {
    const rowEnd = rowStart + Number(group.num_rows);
    const read = { file, metadata, columns, rowStart, rowEnd, compressors, parsers, utf8: false };
    const rows =
      columns.length === 0
        ? Array.from({ length: rowEnd - rowStart }, () => ({}))
        : await readable(path, async () => {
            await checkPages(file, group, { columns, schema });
            return parquetReadObjects(read);
          });
    for (const row of rows) {
      yield { columns: { ...names, ...row, ...textsOf(row, wanted.named) }, fractional };
      names = {};
    }
    rowStart = rowEnd;
  }
}

const utf8 = new TextDecoder();

/** Older writers do not say that the bytes of a column are a text. */
const textsOf = (
  row: Readonly<Record<string, unknown>>,
  named: ReadonlySet<string>,
): Record<string, string> => {
  const texts: Record<string, string> = {};
  for (const name of named) {
    const value = row[name];
    if (value instanceof Uint8Array) texts[name] = utf8.decode(value);
  }
  return texts;
};

const isFractional = ({ type, converted_type, logical_type }: SchemaElement): boolean =>
  type === "FLOAT" ||
  type === "DOUBLE" ||
  converted_type === "DECIMAL" ||
  logical_type?.type === "FLOAT16";

/** An error of the operating system, such as EACCES. Those of the decoder begin with ERR_. */
const isOfSystem = (error: unknown): boolean => /^E(?!RR_)/.test(errorCode(error));

/** Throws UsageError for a file that is damaged, or no Parquet at all. */
async function readable<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (isOfSystem(error)) throw error;
    throw new UsageError(
      `--input: ${path} is not a Parquet file that can be read: ${errorMessage(error)}`,
    );
  }
}
