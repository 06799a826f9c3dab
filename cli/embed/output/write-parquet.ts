/** Writes Parquet, in row groups: `id` (text), the other columns of the rows, and `embedding` (a list of numbers). */
import type { SchemaElement } from "hyparquet";
import { type ColumnType, fromCell } from "../cells.ts";
import type { StoredVector } from "../vector-file.ts";
import type { Vectors } from "./vectors.ts";

type ValueType = Pick<SchemaElement, "type" | "converted_type">;

const text: ValueType = { type: "BYTE_ARRAY", converted_type: "UTF8" };

const valueTypes: Readonly<Record<ColumnType, ValueType>> = {
  none: text,
  text,
  boolean: { type: "BOOLEAN" },
  integer: { type: "INT64" },
  number: { type: "DOUBLE" },
  time: { type: "INT64", converted_type: "TIMESTAMP_MICROS" },
  bytes: { type: "BYTE_ARRAY" },
};

const schemaOf = ({ columns, type }: Vectors): SchemaElement[] => [
  { name: "schema", num_children: 2 + columns.size },
  { name: "id", ...text, repetition_type: "REQUIRED" },
  ...[...columns].map(
    ([name, own]): SchemaElement => ({
      name,
      ...valueTypes[own],
      repetition_type: "OPTIONAL",
    }),
  ),
  { name: "embedding", converted_type: "LIST", repetition_type: "REQUIRED", num_children: 1 },
  { name: "list", repetition_type: "REPEATED", num_children: 1 },
  { name: "element", ...type.parquet, repetition_type: "REQUIRED" },
];

/** Numbers in a row group: the library has a few JavaScript arrays of this length. */
const groupNumbers = 512 * 1024;

/** Bytes of ids and other columns in a row group. */
const groupHeadBytes = 16 * 1024 * 1024;

export async function writeParquet(path: string, vectors: Vectors): Promise<void> {
  const { rows, vectorLength, columns } = vectors;
  // Loaded here: the other formats do not need it.
  const { fileWriter, ParquetWriter } = await import("hyparquet-writer");
  const writer = new ParquetWriter({
    writer: fileWriter(path),
    schema: schemaOf(vectors),
    statistics: false,
    createdBy: "vexel",
  });
  const groupRows = Math.max(1, Math.floor(groupNumbers / Math.max(1, vectorLength)));
  let group: StoredVector[] = [];
  let headBytes = 0;
  const writeGroup = async (): Promise<void> => {
    const columnData = [
      { name: "id", data: group.map(({ id }) => String(id)), offsetIndex: false },
      ...[...columns].map(([name, type]) => ({
        name,
        data: group.map(({ cells }) => fromCell(type, cells.get(name))),
        offsetIndex: false,
      })),
      {
        name: "embedding",
        data: group.map(({ vector }) => Array.from(vector)),
        offsetIndex: false,
        encoding: "PLAIN" as const,
        // Compression does not make float32 vectors smaller.
        codec: "UNCOMPRESSED" as const,
      },
    ];
    await writer.write({ columnData, rowGroupSize: groupRows });
    group = [];
    headBytes = 0;
  };
  for await (const row of rows) {
    group.push(row);
    headBytes += row.headBytes;
    if (group.length === groupRows || headBytes >= groupHeadBytes) await writeGroup();
  }
  if (group.length > 0) await writeGroup();
  await writer.finish();
}
