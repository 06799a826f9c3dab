/** A large body is parsed in steps: the event loop serves other requests between them. */
import { expect, test } from "bun:test";
import { type JsonBodyContext, readJson } from "../../server/http/read-body.ts";
import { createSerialize } from "../../server/lib/tasks.ts";

const images = 16;
const limit = 64 * 1024 * 1024;

const context = (): JsonBodyContext => ({
  timeout: { wait: (work) => work },
  countReceived: () => undefined,
  reserveMemory: () => undefined,
  parseInTurn: createSerialize(),
});

/** The turns of the event loop from the last byte of the body to the parsed value, and the value. */
async function parse(body: object): Promise<{ readonly turns: number; readonly value: unknown }> {
  const bytes = Buffer.from(JSON.stringify(body));
  const chunks = [bytes.subarray(0, 1000), bytes.subarray(1000)];
  let turns = 0;
  let isRead = false;
  const countTurn = (): void => {
    turns++;
    if (!isRead) setImmediate(countTurn);
  };
  const next = async (): Promise<Buffer | undefined> => {
    const chunk = chunks.shift();
    if (!chunk) setImmediate(countTurn);
    // The reader frees the memory of a chunk.
    return chunk && Buffer.from(Uint8Array.from(chunk).buffer);
  };
  const headers = new Headers({ "content-type": "application/json" });
  const limits = { maxTextBytes: limit, maxDataUrlBytes: limit };
  const value = await readJson(
    { headers, body: { whole: () => undefined, next } },
    limits,
    context(),
  );
  isRead = true;
  return { turns, value };
}

test("other requests are served between the images of a body, as they are not between texts", async () => {
  const characters = "QUJD".repeat(60_000);
  const bodyOf = (prefix: string) => ({
    input: Array.from({ length: images }, (_, at) => ({ image: `${prefix}${characters}${at}` })),
  });
  const texts = await parse(bodyOf("text: image/png;base64,"));
  const withImages = await parse(bodyOf("data:image/png;base64,"));
  expect(withImages.value).toEqual(bodyOf("data:image/png;base64,"));
  expect(withImages.turns - texts.turns).toBeGreaterThanOrEqual(images - 1);
});

test("other requests are served after a small body with many values was parsed", async () => {
  const few = await parse({ extra: "x".repeat(200_000) });
  const many = await parse({ extra: Array(100_000).fill([]) });
  expect(many.value).toEqual({ extra: Array(100_000).fill([]) });
  expect(many.turns).toBeGreaterThan(few.turns);
});
