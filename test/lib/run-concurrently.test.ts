/** Work on a stack runs with bounded concurrency, and nothing is left running afterwards. */
import { describe, expect, test } from "bun:test";
import { runConcurrently } from "../../server/lib/tasks.ts";
import { outcomeOf, settled } from "../embeddings/stage-fixture.ts";

/** Work that the test settles. */
function held() {
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<void>>();
  const work = (item: string): Promise<void> => {
    begun.push(item);
    const end = Promise.withResolvers<void>();
    ends.set(item, end);
    return end.promise;
  };
  const end = async (item: string, error?: Error): Promise<void> => {
    if (error) ends.get(item)?.reject(error);
    else ends.get(item)?.resolve();
    await settled();
  };
  return { begun, work, end };
}

describe("a stack of work", () => {
  test("is started at once, from the top, up to the concurrency limit", async () => {
    const { begun, work, end } = held();
    const done = runConcurrently(["c", "b", "a"], 2, work);
    expect(begun).toEqual(["a", "b"]);
    await end("b");
    expect(begun).toEqual(["a", "b", "c"]);
    await end("a");
    await end("c");
    await done;
  });

  test("that is empty settles at once", async () => {
    await runConcurrently([], 3, () => Promise.reject(new Error("nothing to do")));
  });

  test("may grow while it runs, and added items run concurrently", async () => {
    const { begun, work, end } = held();
    const stack = ["whole"];
    const done = runConcurrently(stack, 2, async (item) => {
      await work(item);
      if (item === "whole") stack.push("right", "left");
    });
    await end("whole");
    expect(begun).toEqual(["whole", "left", "right"]);
    await end("left");
    await end("right");
    await done;
  });

  test("stops after the first failure, once running work has settled", async () => {
    const { begun, work, end } = held();
    let over = false;
    const outcome = outcomeOf(runConcurrently(["d", "c", "b", "a"], 3, work)).finally(() => {
      over = true;
    });
    const first = new Error("first");
    await end("b", first);
    await end("a", new Error("second"));
    expect(over).toBe(false);
    await end("c");
    expect(await outcome).toEqual({ error: first });
    expect(begun).toEqual(["a", "b", "c"]);
  });

  test("may have a hundred thousand items", async () => {
    let sum = 0;
    await runConcurrently(
      Array.from({ length: 100_000 }, () => 1),
      8,
      async (item) => {
        sum += item;
      },
    );
    expect(sum).toBe(100_000);
  });
});
