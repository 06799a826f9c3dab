/** A queued request holds no other slots, and one that timed out sends no upstream request. */
import { afterEach, expect, test } from "bun:test";
import { startGateway, type TestGateway } from "../harness.ts";

let gateway: TestGateway | undefined;
let asked = 0;
/** How long the upstream takes, by what the text begins with. */
const upstream = Bun.serve({
  ...{ port: 0, hostname: "127.0.0.1" },
  fetch: async (request) => {
    asked++;
    const { input } = (await request.json()) as { input: string[] };
    await Bun.sleep(input[0]?.startsWith("slow") ? 1500 : 5);
    const data = input.map((_, index) => ({ object: "embedding", index, embedding: [0.6, 0.8] }));
    const usage = { prompt_tokens: 1, total_tokens: 1 };
    return Response.json({ object: "list", model: "own", data, usage });
  },
});
afterEach(async () => {
  await gateway?.close();
  asked = 0;
});

const start = (model: string, keys: string): TestGateway =>
  startGateway({
    yaml: `
upstreams:
  - { id: own, kind: openai-compatible, baseUrl: "http://127.0.0.1:${upstream.port}/v1", apiKey: sk-fake }
models:
  - { id: vectors, kind: embedding, cache: false, batch: false, ${model}, targets: [{ upstream: own, model: own, price: { input: 100000 } }] }
keys:
${keys}`,
  });

const keyOf = (name: string) => `sk-${name}-0123456789abcdef0123456789`;
const ask = (name: string, input: string) =>
  gateway!.post(
    "/v1/embeddings",
    { model: "vectors", input: [input] },
    {
      authorization: `Bearer ${keyOf(name)}`,
    },
  );

test("calls that wait for money keep no place from those who have it", async () => {
  gateway = start(
    "limits: { concurrent: 3 }",
    `  - { name: poor, key: ${keyOf("poor")}, budget: { total: 1.2 } }
  - { name: rich, key: ${keyOf("rich")} }
`,
  );
  // What is held for the first is all that there is, as long as it takes.
  const slow = ask("poor", "slow text");
  await Bun.sleep(100);
  const poor = Array.from({ length: 6 }, (_, at) => ask("poor", `slow ${at}`));
  await Bun.sleep(100);
  const began = performance.now();
  const rich = await Promise.all(Array.from({ length: 4 }, (_, at) => ask("rich", `quick ${at}`)));
  expect(rich.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(performance.now() - began).toBeLessThan(1200);
  await Promise.all([slow, ...poor]);
  expect(gateway.inFlight()).toBe(0);
}, 30_000);

test("a call whose time is over while it waits asks nobody, and is told so", async () => {
  gateway = start(
    "timeout: 1, limits: { concurrent: 1 }",
    `  - { name: one, key: ${keyOf("one")} }
`,
  );
  const answers = await Promise.all(
    Array.from({ length: 3 }, (_, at) => ask("one", at === 0 ? "slow one" : `quick ${at}`)),
  );
  const late = answers.filter(({ status }) => status === 504);
  expect(late.length).toBeGreaterThanOrEqual(1);
  const rows = gateway.rows();
  expect(rows).toHaveLength(3);
  const unasked = rows.filter(({ attempts }) => attempts === 0);
  expect(asked).toBe(3 - unasked.length);
  for (const row of unasked) expect(row).toMatchObject({ error: "upstream_timeout", cost: null });
  expect(JSON.stringify(await Promise.all(answers.map((each) => each.text())))).not.toMatch(
    /-0\.\d|within -/,
  );
}, 20_000);
