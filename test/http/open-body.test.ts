/** A stored body that is opened before the head of its response is sent. */
import { expect, test } from "bun:test";
import { openBody } from "../../server/request/open-body.ts";

test("a body is closed even if its storage fails while the rest is discarded", async () => {
  const closed: boolean[] = [];
  const body = await openBody({
    length: 2,
    async *open() {
      try {
        yield Buffer.from("a");
        yield Buffer.from("b");
      } finally {
        await Promise.reject(new Error("the storage failed"));
      }
    },
    close: async (isComplete) => void closed.push(isComplete),
  });
  await body.close(false);
  expect(closed).toEqual([false]);
});
