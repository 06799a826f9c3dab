/** A queued request holds no other slots, and one that timed out sends no upstream request. */
import { afterEach, expect, test } from "bun:test";
import { encodeImage } from "../fake-upstream/fake-image.ts";
import { startGateway, type TestGateway } from "../harness.ts";
import { until } from "../until.ts";

let gateway: TestGateway | undefined;
let upstreamRequests = 0;
/** An upstream that takes 1.5 s for texts that begin with "slow". */
const upstream = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: async (request) => {
    upstreamRequests++;
    const { input } = (await request.json()) as { input: string[] };
    await Bun.sleep(input[0]?.startsWith("slow") ? 1500 : 5);
    const data = input.map((_, index) => ({ object: "embedding", index, embedding: [0.6, 0.8] }));
    const usage = { prompt_tokens: 1, total_tokens: 1 };
    return Response.json({ object: "list", model: "own", data, usage });
  },
});
afterEach(async () => {
  await gateway?.close();
  upstreamRequests = 0;
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
const embed = (name: string, input: string) =>
  gateway!.post(
    "/v1/embeddings",
    { model: "vectors", input: [input] },
    {
      authorization: `Bearer ${keyOf(name)}`,
    },
  );

test("a request that times out in the queue sends no upstream request", async () => {
  gateway = start(
    "timeout: 1, limits: { concurrent: 1 }",
    `  - { name: one, key: ${keyOf("one")} }
`,
  );
  const responses = await Promise.all(
    Array.from({ length: 3 }, (_, at) => embed("one", at === 0 ? "slow one" : `quick ${at}`)),
  );
  const timedOut = responses.filter(({ status }) => status === 504);
  expect(timedOut.length).toBeGreaterThanOrEqual(1);
  const rows = gateway.rows();
  expect(rows).toHaveLength(3);
  const notSent = rows.filter(({ attempts }) => attempts === 0);
  // On a busy machine, a request that was sent may time out before it arrives.
  expect(upstreamRequests).toBeLessThanOrEqual(3 - notSent.length);
  for (const row of notSent) expect(row).toMatchObject({ error: "upstream_timeout", cost: null });
  expect(JSON.stringify(await Promise.all(responses.map((each) => each.text())))).not.toMatch(
    /-0\.\d|within -/,
  );
});

test("an image request that times out in the queue of its upstream gets an error that says so, and is not charged", async () => {
  const { promise: imageReleased, resolve: releaseImage } = Promise.withResolvers<void>();
  let imageRequests = 0;
  const images = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async () => {
      imageRequests++;
      await imageReleased;
      const image = encodeImage({ format: "png", width: 8, height: 8, shade: 0 });
      const b64_json = Buffer.from(image).toString("base64");
      return Response.json({ created: 1, data: [{ b64_json }] });
    },
  });
  try {
    gateway = startGateway({
      yaml: `
upstreams:
  - { id: own, kind: openai-compatible, baseUrl: "http://127.0.0.1:${images.port}/v1", apiKey: sk-fake, limits: { concurrent: 1 } }
models:
  - { id: patient, kind: image, timeout: 60, targets: [{ upstream: own, model: own, price: { image: 1 } }] }
  - { id: hasty, kind: image, timeout: 1, targets: [{ upstream: own, model: own, price: { image: 1 } }] }
keys:
  - { name: one, key: ${keyOf("one")}, budget: { total: 10 } }`,
    });
    const generate = (model: string) =>
      gateway!.post(
        "/v1/images/generations",
        { model, prompt: "a" },
        { authorization: `Bearer ${keyOf("one")}` },
      );
    const first = generate("patient");
    await until(() => imageRequests === 1);
    const second = await generate("hasty");
    const { error } = (await second.json()) as { error: { message: string } };
    expect(error.message).toStartWith("Timed out while queued: no upstream was called.");
    expect(second.status).toBe(504);
    // The client may retry: nothing was billed.
    expect(second.headers.get("x-should-retry")).toBe(null);
    releaseImage();
    expect((await first).status).toBe(200);
    expect(imageRequests).toBe(1);
    await until(() => gateway!.rows().length === 2);
    expect(gateway.rows().map(({ cost, estimatedCost }) => [cost, estimatedCost])).toContainEqual([
      null,
      null,
    ]);
  } finally {
    releaseImage();
    await images.stop(true);
  }
});
