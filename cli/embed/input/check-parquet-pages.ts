/**
 * Checks the page headers of a row group before its pages are decoded. The decoder trusts them: it never ends at a
 * length that is missing, and fills the memory for a number of values that is not true.
 */
import type {
  AsyncBuffer,
  ColumnMetaData,
  DataReader,
  PageHeader,
  RowGroup,
  SchemaTree,
} from "hyparquet";

interface Wanted {
  /** The names of the columns to read. */
  readonly columns: readonly string[];
  readonly schema: SchemaTree;
}

/** Throws an Error for a damaged page, or a column that the schema does not have. */
export async function checkPages(
  file: AsyncBuffer,
  { columns: chunks }: RowGroup,
  { columns, schema }: Wanted,
): Promise<void> {
  const { parquetHeader } = await import("hyparquet/src/column.js");
  const { getTreePath } = await import("hyparquet/src/schema.js");
  for (const { meta_data: chunk } of chunks) {
    const [column = ""] = chunk?.path_in_schema ?? [];
    if (!chunk || !columns.includes(column)) continue;
    // At an unknown one, the decoder stops while others are being read, whose errors are caught nowhere.
    getTreePath(schema, chunk.path_in_schema);
    const [start, end] = rangeOf(chunk);
    const reader = { view: new DataView(await file.slice(start, end)), offset: 0 };
    for (let values = 0; values < chunk.num_values; ) {
      values += passPage(parquetHeader(reader), reader);
      if (values > chunk.num_values)
        throw new Error(`the column "${column}" has more values than the file says`);
    }
  }
}

/** Returns the rows' values in the page. */
function passPage(header: PageHeader, reader: DataReader): number {
  const values = valuesOf(header);
  const left = reader.view.byteLength - reader.offset;
  if (values === undefined || !isLength(header.compressed_page_size, left))
    throw new Error("a page is damaged");
  reader.offset += header.compressed_page_size;
  return header.type === "DICTIONARY_PAGE" ? 0 : values;
}

function rangeOf(chunk: ColumnMetaData): [start: number, end: number] {
  const { dictionary_page_offset: dictionary, data_page_offset: data } = chunk;
  const start = Number(dictionary && dictionary < data ? dictionary : data);
  return [start, start + Number(chunk.total_compressed_size)];
}

/** The values of a page. Undefined if the header is damaged. */
function valuesOf(header: PageHeader): number | undefined {
  const { uncompressed_page_size: size, compressed_page_size: compressed } = header;
  if (!isLength(size, maxPageBytes)) return undefined;
  switch (header.type) {
    case "DICTIONARY_PAGE":
      return lengthOf(header.dictionary_page_header?.num_values);
    case "DATA_PAGE":
      return lengthOf(header.data_page_header?.num_values);
    case "DATA_PAGE_V2": {
      const page = header.data_page_header_v2;
      if (!page) return undefined;
      const levels = [page.repetition_levels_byte_length, page.definition_levels_byte_length];
      const parts = [page.num_nulls, page.num_rows];
      const isWhole =
        levels.every((length) => isLength(length, Math.min(size, compressed))) &&
        parts.every((count) => isLength(count, page.num_values));
      return isWhole ? lengthOf(page.num_values) : undefined;
    }
    default:
      return undefined;
  }
}

/** The format stores the length in 32 bits with a sign. */
const maxPageBytes = 2 ** 31 - 1;

const lengthOf = (value: number | undefined): number | undefined =>
  isLength(value, maxPageBytes) ? value : undefined;

/** The types of the decoder promise a number, which a damaged file may not have. */
const isLength = (value: number | undefined, max: number): value is number =>
  Number.isInteger(value) && value !== undefined && value >= 0 && value <= max;
