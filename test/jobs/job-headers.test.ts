/** A client of a job learns what was adapted or dropped, as the client of a request does from its headers. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import sharp from "sharp";
import { endOfBatch, line, resultLines, sdkOf, uploadLines } from "../batches/lines.ts";
import { startGateway, type TestGateway, testKey } from "../harness.ts";
import { sign } from "../images/signed-image.ts";
import { endOf, jobClient } from "./jobs-fixture.ts";

const keys = { mate: "sk-mate-0123456789abcdef" };
const gray = { width: 64, height: 64, channels: 3, background: "#808080" } as const;
const signed = sign(await sharp({ create: gray }).png().toBuffer(), "png");

let upstream: ReturnType<typeof Bun.serve>;
let gateway: TestGateway;

beforeAll(() => {
  upstream = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => Response.json({ created: 1, data: [{ b64_json: signed.toString("base64") }] }),
  });
  gateway = startGateway({
    yaml: `
upstreams:
  - { id: shapes, kind: xai, baseUrl: "http://127.0.0.1:${upstream.port}/v1", apiKey: x }
models:
  - { id: plain, kind: image, targets: [{ upstream: shapes, model: grok-imagine-image }] }
keys:
  - { name: test, key: ${testKey}, project: one, showCost: true }
  - { name: mate, key: ${keys.mate}, project: one }
projects: [{ name: one }]`,
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.stop(true);
});

const otter = { model: "plain", prompt: "an otter", response_format: "b64_json" };
const converted = { ...otter, output_format: "webp" };
const lost = { "vexel-adapted": "output_format", "vexel-dropped": "provenance" };
const prefer = "respond-async, wait=60";

const generate = (body: object, headers: Record<string, string> = {}) =>
  gateway.post("/v1/images/generations", body, headers);

const gatewayHeaders = ({ headers }: Response) =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith("vexel-")));

describe("the headers of an image job", () => {
  test.each([converted, otter])(
    "whose client waits are those of the request without a job: %o",
    async (body) => {
      const [waited, plain] = [await generate(body, { prefer }), await generate(body)];
      expect([waited.status, plain.status]).toEqual([200, 200]);
      expect(gatewayHeaders(waited)).toEqual(gatewayHeaders(plain));
      expect(gatewayHeaders(plain)["vexel-cost"]).toBeDefined();
      expect(waited.headers.get("preference-applied")).toBe("respond-async");
      expect(plain.headers.get("preference-applied")).toBeNull();
      if (body === converted) expect(gatewayHeaders(waited)).toMatchObject(lost);
    },
  );

  test("are in the job, without the cost, which not every key of the project may see", async () => {
    const client = jobClient(gateway.url);
    const { id } = await client.submit(converted);
    expect(await endOf(client, id)).toMatchObject({ status: "completed", headers: lost });
    const seen = await endOf(jobClient(gateway.url, keys.mate), id);
    expect(seen).toMatchObject({ result: { data: [expect.anything()] } });
    expect((seen as { headers?: object }).headers).toEqual(lost);
    const unchanged = await endOf(client, (await client.submit(otter)).id);
    expect(unchanged).not.toHaveProperty("headers");
  });

  test("do not show the cost to a key without showCost that repeats the submission of another", async () => {
    const again = { prefer, "idempotency-key": "otter 1" };
    const first = await generate(converted, again);
    const second = await generate(converted, { ...again, authorization: `Bearer ${keys.mate}` });
    expect(await second.text()).toBe(await first.text());
    expect(gatewayHeaders(first)).toHaveProperty("vexel-cost");
    expect(gatewayHeaders(second)).toMatchObject(lost);
    expect(gatewayHeaders(second)).not.toHaveProperty("vexel-cost");
  });
});

test("a line of a batch says what was adapted or dropped", async () => {
  const client = sdkOf(gateway.baseURL, testKey);
  const url = "/v1/images/generations";
  const { output_file_id } = await endOfBatch(
    client,
    (
      await client.batches.create({
        input_file_id: await uploadLines(
          client,
          line("converted", url, converted) + line("as it is", url, otter),
        ),
        endpoint: url,
        completion_window: "24h",
      })
    ).id,
  );
  const [first, second] = await resultLines(client, output_file_id ?? "");
  expect(first).toMatchObject({ custom_id: "converted", response: { headers: lost } });
  expect(Object.keys(first?.response ?? {})).toEqual([
    "status_code",
    "request_id",
    "headers",
    "body",
  ]);
  expect(Object.keys(second?.response ?? {})).toEqual(["status_code", "request_id", "body"]);
});
