/** Writes JSON Lines: `{"id": ..., "embedding": [...]}`, with the shortest digits that read back as the same float32. */
import { maxTextBytes, printFloats } from "../../../server/lib/vector-codec/index.ts";
import type { Vectors } from "./vectors.ts";

const flushBytes = 1024 * 1024;

export async function writeJsonl(path: string, { rows, vectorLength }: Vectors): Promise<void> {
  const sink = Bun.file(path).writer({ highWaterMark: flushBytes });
  const text = Buffer.allocUnsafe(maxTextBytes(vectorLength));
  for await (const { id, vector } of rows) {
    sink.write(`{"id":${JSON.stringify(id)},"embedding":`);
    if (vector instanceof Float32Array) sink.write(text.subarray(0, printFloats(vector, text, 0)));
    else sink.write(`[${vector.join(",")}]`);
    await sink.write("}\n");
  }
  await sink.end();
}
