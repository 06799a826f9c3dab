/** A mistyped generation model at Venice is refused: Venice would generate with its default model, and bill it. */
import { beforeEach, expect, test } from "bun:test";
import { closeAfterAll } from "../clean-up.ts";
import { base64Of, grayImage } from "../conformance/arrange.ts";
import { startGateway } from "../harness.ts";

const received: string[] = [];
let list: (() => Response) | undefined;
beforeEach(() => {
  received.length = 0;
  list = undefined;
});

/** As Venice: an unknown model is replaced by the default model, and the response does not say so. */
const venice = Bun.serve({
  port: 0,
  fetch: (request) => {
    const { pathname, search } = new URL(request.url);
    received.push(`${request.method} ${pathname}${search}`);
    if (request.method === "GET")
      return list?.() ?? Response.json({ object: "list", data: [{ id: "qwen-image" }] });
    return Response.json({ created: 1, data: [{ b64_json: base64Of(grayImage("default")) }] });
  },
});
const listRequest = "GET /v1/models?type=image";
const generation = "POST /v1/images/generations";

/** A gateway of its own, because the list is cached. */
function start() {
  const gateway = startGateway({
    yaml: `
upstreams:
  - { id: venice, kind: venice, baseUrl: "http://127.0.0.1:${venice.port}/v1", apiKey: k }
models:
  - { id: right, kind: image, targets: [{ upstream: venice, model: qwen-image }] }
  - { id: mistyped, kind: image, targets: [{ upstream: venice, model: qwen-imgae }] }
  - { id: spare, kind: image, targets: [{ upstream: venice, model: qwen-imgae, tier: 1 }, { upstream: venice, model: qwen-image, tier: 2 }] }
keys: [{ name: test, key: sk-test-0123456789abcdef }]
`,
  });
  const generate = async (model: string) => {
    const response = await gateway.post("/v1/images/generations", { model, prompt: "a boat" });
    const body = (await response.json()) as { error?: { code: string; message: string } };
    return { status: response.status, code: body.error?.code, message: body.error?.message };
  };
  return { gateway, generate };
}

const first = start();
closeAfterAll(first.gateway, venice);

test("a mistyped model is model_not_found, and nothing is generated or billed", async () => {
  for (let time = 0; time < 2; time++)
    expect(await first.generate("mistyped")).toMatchObject({
      status: 404,
      code: "model_not_found",
    });
  expect(received.filter((line) => line === generation)).toEqual([]);
  expect(new Set(received)).toEqual(new Set([listRequest]));
  expect(first.gateway.rows().at(-1)).toMatchObject({ status: 404, estimatedCost: null });
});

test("a model of the list is generated, and the list is read once", async () => {
  const { gateway, generate } = start();
  try {
    for (let time = 0; time < 3; time++) expect((await generate("right")).status).toBe(200);
    expect(received).toEqual([listRequest, generation, generation, generation]);
  } finally {
    await gateway.close();
  }
});

test("the next target serves a request whose first target has a mistyped model", async () => {
  expect((await first.generate("spare")).status).toBe(200);
  expect(received.filter((line) => line === generation)).toHaveLength(1);
});

test.each([
  ["cannot be read", () => new Response("busy", { status: 503 })],
  ["has another shape", () => Response.json({ models: [] })],
])("nothing is generated if the list %s", async (_, answer) => {
  const { gateway, generate } = start();
  try {
    list = answer;
    const { status, message } = await generate("right");
    expect(status).toBeGreaterThanOrEqual(500);
    expect(message).toContain("list of models cannot be read, so nothing was generated");
    expect(received).not.toContain(generation);
  } finally {
    await gateway.close();
  }
});

test("a list that cannot be read does not eject the target", async () => {
  const { gateway, generate } = start();
  try {
    list = () => new Response("busy", { status: 500 });
    for (let time = 0; time < 6; time++) expect((await generate("right")).status).toBe(502);
    list = undefined;
    expect((await generate("right")).status).toBe(200);
    expect(gateway.log()).not.toContain('"target-ejected"');
  } finally {
    await gateway.close();
  }
});

test("concurrent first requests read the list once", async () => {
  const { gateway, generate } = start();
  try {
    const responses = await Promise.all(Array.from({ length: 5 }, () => generate("right")));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(received.filter((line) => line === listRequest)).toHaveLength(1);
  } finally {
    await gateway.close();
  }
});
