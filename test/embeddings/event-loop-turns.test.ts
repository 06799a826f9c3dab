/** While a long request is decoded and written, other requests get their turn of the event loop in between. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { adaptParameters, decodeTokens } from "../../server/embeddings/adapt-parameters.ts";
import { capabilitiesOf, model, requestFor } from "./stage-fixture.ts";

/** Whether the event loop has made a turn since. */
function turn(): { readonly isOver: boolean } {
  const state = { isOver: false };
  setImmediate(() => {
    state.isOver = true;
  });
  return state;
}

const long = "x".repeat(2 * 1024 * 1024);

const tokensOf = (count: number) =>
  requestFor({ kind: "tokens", tokens: Array(3).fill(Array(count).fill(1000)) }, model);

test("the event loop gets a turn between long token arrays that are decoded, and not between short ones", async () => {
  // The vocabulary is read once.
  await decodeTokens(tokensOf(1).query, "cl100k_base");
  for (const [count, isOver] of [
    [70_000, true],
    [10, false],
  ] as const) {
    const { query } = tokensOf(count);
    const next = turn();
    await decodeTokens(query, "cl100k_base");
    expect(next.isOver).toBe(isOver);
  }
});

test("the event loop gets a turn before a long upstream request is written, and not before a short one", async () => {
  for (const [text, isOver] of [
    [long, true],
    ["short", false],
  ] as const) {
    const next = turn();
    let observed: boolean | undefined;
    const send = adaptParameters({
      capabilities: capabilitiesOf({}),
      markDimensionsIgnored: () => undefined,
    })(async () => {
      observed = next.isOver;
      return { vectors: [[1, 2]] };
    });
    await send(requestFor([text], model));
    expect(observed).toBe(isOver);
  }
});

test("the event loop gets turns while the vocabulary for the first token estimate is loaded", () => {
  const script = `
    const { countTokens } = await import("./server/upstream/tokenizers.ts");
    await import("gpt-tokenizer/bpeRanks/cl100k_base");
    let turns = 0;
    const count = () => { turns++; setImmediate(count); };
    setImmediate(count);
    await countTokens(["a text"]);
    console.log(turns);
    process.exit();
  `;
  const { stdout } = Bun.spawnSync([process.execPath, "-e", script], {
    cwd: join(import.meta.dir, "../.."),
  });
  expect(Number(stdout.toString())).toBeGreaterThan(20);
});
