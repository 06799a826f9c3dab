/** Each stream of a temp file has one buffer of its own, and lends it chunk by chunk. */
import { expect, test } from "bun:test";
import { copyAll, viewOf } from "../../server/lib/borrowed-bytes.ts";
import { UnlinkedTempFile } from "../../server/temp-storage/unlinked-temp-file.ts";
import { temporaryFolder } from "../harness.ts";

const content = Buffer.alloc(200_000, "an image on disk");

async function openFile() {
  const folder = temporaryFolder();
  const file = await UnlinkedTempFile.create(folder.path);
  file.append(content);
  const dispose = async () => {
    await file.close();
    folder[Symbol.dispose]();
  };
  return { file, [Symbol.asyncDispose]: dispose };
}

test("a stream reads its range, and a stream that is left early does not affect another one", async () => {
  await using opened = await openFile();
  const other = opened.file.stream();
  const first = (await other.next()).value ?? new Uint8Array();
  for await (const chunk of opened.file.stream()) {
    expect(chunk.length).toBeGreaterThan(16_384);
    break;
  }
  const read = await copyAll(opened.file.stream(10, 190_000));
  expect(read.equals(content.subarray(10, 190_000))).toBe(true);
  expect(viewOf(first)).toEqual(new Uint8Array(content.subarray(0, first.length)));
  await other.return(undefined);
});
