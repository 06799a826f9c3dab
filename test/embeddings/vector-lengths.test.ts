/** All vectors of one response have one length, wherever they come from. */
import { afterEach, expect, test } from "bun:test";
import { startGateway, type TestGateway, testKey } from "../harness.ts";

let gateway: TestGateway | undefined;
/** The length depends on the text, so that sub-requests of one request may differ. */
let lengthFor: (text: string) => number = () => 8;
const requested: string[][] = [];
const upstream = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: async (request) => {
    const { input } = (await request.json()) as { input: string[] };
    requested.push(input);
    const length = lengthFor(input[0] ?? "");
    const data = input.map((_, index) => ({
      object: "embedding",
      index,
      embedding: Array.from({ length }, (_, at) => at + 1),
    }));
    return Response.json({ object: "list", model: "own", data });
  },
});
afterEach(async () => {
  await gateway?.close();
  requested.length = 0;
});

const start = (): TestGateway =>
  startGateway({
    yaml: `
upstreams:
  - { id: own, kind: openai-compatible, baseUrl: "http://127.0.0.1:${upstream.port}/v1", apiKey: sk-fake }
models:
  - { id: vectors, kind: embedding, batch: false, targets: [{ upstream: own, model: own }] }
keys:
  - { name: test, key: ${testKey} }
`,
    settings: { VEXEL_CACHE_BYTES: "1048576", VEXEL_MAX_INPUTS: "5000" },
  });

async function lengthsOf(input: readonly string[]): Promise<number[] | number> {
  const response = await gateway!.post("/v1/embeddings", { model: "vectors", input });
  if (response.status !== 200) return response.status;
  const { data } = (await response.json()) as { data: { embedding: number[] }[] };
  return data.map(({ embedding }) => embedding.length);
}

test("cached vectors of another length are requested again after the model has changed", async () => {
  gateway = start();
  lengthFor = () => 8;
  expect(await lengthsOf(["old text"])).toEqual([8]);
  lengthFor = () => 4;
  expect(await lengthsOf(["old text", "new text"])).toEqual([4, 4]);
  expect(requested).toEqual([["old text"], ["new text"], ["old text", "new text"]]);
  const [, row] = gateway.rows();
  expect(row).toMatchObject({ status: 200, cachedInputs: 0, attempts: 2 });
  // From now on it is cached.
  expect(await lengthsOf(["old text"])).toEqual([4]);
  expect(requested).toHaveLength(3);
});

test("sub-responses whose vectors differ in length are an invalid upstream response", async () => {
  gateway = start();
  lengthFor = (text) => (text === "0" ? 8 : 4);
  const many = Array.from({ length: 3000 }, (_, at) => `${at}`);
  expect(await lengthsOf(many)).toBe(502);
});
