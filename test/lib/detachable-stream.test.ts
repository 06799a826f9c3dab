/** A stream that is read to its end, also without its reader. */
import { expect, test } from "bun:test";
import { detachableStream } from "../../server/lib/detachable-stream.ts";

test("a detached stream ends once when its source fails", async () => {
  async function* breaking(): AsyncGenerator<string> {
    yield "one";
    throw new Error("broken");
  }
  let ended = 0;
  const chunks = detachableStream(breaking(), {
    continueDetached: true,
    onDetach: () => undefined,
    onChunk: () => undefined,
    onEnd: async () => {
      ended++;
    },
  });
  const reading = (async () => {
    for await (const chunk of chunks) expect(chunk).toBe("one");
  })();
  await expect(reading).rejects.toThrow("broken");
  expect(ended).toBe(1);
});
