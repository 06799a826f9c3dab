/** The content of a file that was uploaded in parts: they stay as they arrived, and are read one after the other. */
import type { FileStore, FoundFile } from "../storage/ports/file-store.ts";
import type { FileParts } from "../storage/sql/file-index.ts";

export function joinedParts(
  store: Pick<FileStore, "find">,
  { folder, parts }: FileParts,
): FoundFile {
  const size = parts.reduce((sum, { bytes }) => sum + bytes, 0);
  const chunks = async function* (from: number, to: number): AsyncGenerator<Uint8Array> {
    let start = 0;
    for (const { id, bytes } of parts) {
      const [first, last] = [Math.max(from - start, 0), Math.min(to - start, bytes)];
      start += bytes;
      if (first >= last) continue;
      const part = await store.find(`${folder}/${id}`);
      if (!part) throw new Error(`The part ${id} of a file is missing in the storage.`);
      yield* part.read(first, last);
    }
  };
  return { size, read: (from = 0, to = size) => streamOf(chunks(from, to)) };
}

/** Reads no chunk before it is requested. */
const streamOf = (chunks: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> =>
  new ReadableStream(
    {
      pull: async (controller) => {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: async () => void (await chunks.return(undefined)),
    },
    { highWaterMark: 0 },
  );
