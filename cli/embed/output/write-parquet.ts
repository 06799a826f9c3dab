/** Writes Parquet: the columns `id` (text) and `embedding` (list of float32), in row groups. */
import type { SchemaElement } from "hyparquet";
import type { VectorRow } from "../row.ts";
import type { Vectors } from "./vectors.ts";

const schema: SchemaElement[] = [
  { name: "schema", num_children: 2 },
  { name: "id", type: "BYTE_ARRAY", converted_type: "UTF8", repetition_type: "REQUIRED" },
  { name: "embedding", converted_type: "LIST", repetition_type: "REQUIRED", num_children: 1 },
  { name: "list", repetition_type: "REPEATED", num_children: 1 },
  { name: "element", type: "FLOAT", repetition_type: "REQUIRED" },
];

/** Numbers in a row group: the library has a few JavaScript arrays of this length. */
const groupNumbers = 512 * 1024;

export async function writeParquet(path: string, { rows, vectorLength }: Vectors): Promise<void> {
  // Loaded here: the other formats do not need it.
  const { fileWriter, ParquetWriter } = await import("hyparquet-writer");
  const writer = new ParquetWriter({
    writer: fileWriter(path),
    schema,
    statistics: false,
    createdBy: "vexel",
  });
  const groupRows = Math.max(1, Math.floor(groupNumbers / Math.max(1, vectorLength)));
  let group: VectorRow[] = [];
  const writeGroup = async (): Promise<void> => {
    const columnData = [
      { name: "id", data: group.map(({ id }) => String(id)), offsetIndex: false },
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
  };
  for await (const row of rows) {
    group.push(row);
    if (group.length === groupRows) await writeGroup();
  }
  if (group.length > 0) await writeGroup();
  await writer.finish();
}
