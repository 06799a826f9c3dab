/** Each stream of a temp file has one buffer, lends it chunk by chunk, and frees it when it ends. */
import { expect, test } from "bun:test";
import { viewOf } from "../../server/lib/borrowed-bytes.ts";
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

test("a stream that is read to its end frees its buffer", async () => {
  await using opened = await openFile();
  const read: Buffer[] = [];
  const lent = new Set<ArrayBufferLike>();
  for await (const chunk of opened.file.stream(10, 190_000)) {
    read.push(Buffer.from(chunk));
    lent.add(viewOf(chunk).buffer);
  }
  expect(Buffer.concat(read).equals(content.subarray(10, 190_000))).toBe(true);
  expect([...lent].map(({ byteLength }) => byteLength)).toEqual([0]);
});

test("a stream that is left early frees its buffer, and another stream of the file is not affected", async () => {
  await using opened = await openFile();
  const other = opened.file.stream();
  const first = (await other.next()).value ?? new Uint8Array();
  let lent: Uint8Array = new Uint8Array();
  for await (const chunk of opened.file.stream()) {
    lent = viewOf(chunk);
    expect(lent.length).toBeGreaterThan(16_384);
    break;
  }
  expect(lent.length).toBe(0);
  expect(viewOf(first)).toEqual(new Uint8Array(content.subarray(0, first.length)));
  await other.return(undefined);
});
