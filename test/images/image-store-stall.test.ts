/** An image store that stops sending. */
import { expect, test } from "bun:test";
import { createImageFiles } from "../../server/api/image-files.ts";
import { ByteTurns } from "../../server/lib/byte-turns.ts";

test("an image whose store stops sending ends with an error, and the store's stream is closed", async () => {
  let isClosed = false;
  const content = {
    slice: () => new Blob(),
    stream: () =>
      new ReadableStream<Uint8Array<ArrayBuffer>>({
        start: (controller) => controller.enqueue(new Uint8Array(10)),
        cancel: () => {
          isClosed = true;
        },
      }),
  };
  const handler = createImageFiles({
    store: { find: async () => ({ type: "image/png", size: 100, content }) },
    check: () => 1,
    turns: new ByteTurns(() => 0),
    now: () => 0,
    stallMs: 10,
  });
  const request = { search: "", method: "GET", headers: new Headers() };
  const { body } = await handler(request as unknown as Parameters<typeof handler>[0], {
    name: "a.png",
  });
  const chunks: number[] = [];
  const read = async (): Promise<void> => {
    if (typeof body !== "object" || !("open" in body)) throw new Error("not a streamed body");
    for await (const chunk of body.open()) chunks.push(chunk.length);
  };
  await expect(read()).rejects.toThrow("sent nothing for 10 ms");
  expect([chunks, isClosed]).toEqual([[10], true]);
});
