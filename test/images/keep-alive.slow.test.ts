/** A keep-alive response reports in its body what its status and headers would have said. */

import { beforeEach, expect, test } from "bun:test";
import OpenAI from "openai";
import { base64Of, grayImage } from "../conformance/arrange.ts";
import { testKey } from "../harness.ts";
import { startImageGateway } from "./image-gateway-fixture.ts";

let upstreamResponse: () => Response = () => new Response("?", { status: 500 });
const { gateway, generate } = startImageGateway({
  model: "d2",
  respond: async () => {
    await Bun.sleep(1300);
    return upstreamResponse();
  },
  yaml: (url) => `
upstreams: [{ id: fake, kind: openai, baseUrl: "${url}/v1", apiKey: x }]
models: [{ id: d2, kind: image, targets: [{ upstream: fake, model: dall-e-2 }] }]`,
  settings: { VEXEL_KEEP_ALIVE: "1" },
});
beforeEach(() => gateway.resetTargets());

const image = base64Of(grayImage("an otter"));
/** Too large to be held in memory, so that it is sent in chunks. */
const large = base64Of(Buffer.concat([grayImage("an otter"), Buffer.alloc(300_000)]));

test("a keep-alive response has dropped parameters and missing images in the member `vexel`", async () => {
  for (const each of [image, large]) {
    upstreamResponse = () => Response.json({ created: 1, data: [{ b64_json: each }] });
    const response = await generate({ n: 3, safety_identifier: "someone" });
    expect(response.headers.get("vexel-keep-alive")).toBe("true");
    const text = await response.text();
    expect(text).toStartWith(" ");
    expect(JSON.parse(text)).toMatchObject({
      vexel: {
        status: 200,
        headers: {
          "vexel-dropped": "safety_identifier",
          "vexel-missing": "2; error=upstream_invalid",
        },
      },
      created: 1,
      data: [{ b64_json: each }],
    });
  }
});

test("a keep-alive response has the status of an error, and when to retry", async () => {
  upstreamResponse = () =>
    Response.json({ error: { message: "slow" } }, { status: 429, headers: { "retry-after": "7" } });
  const response = await generate();
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({
    vexel: { status: 429, headers: { "retry-after": "7" } },
    error: { code: "rate_limit_exceeded" },
  });
});

test("a keep-alive response has no member `vexel` if there is nothing to report", async () => {
  upstreamResponse = () => Response.json({ created: 1, data: [{ b64_json: image }] });
  expect(await (await generate()).json()).not.toHaveProperty("vexel");
});

test("a keep-alive response is read by OpenAI's client like any other response", async () => {
  upstreamResponse = () => Response.json({ created: 1, data: [{ b64_json: image }] });
  const client = new OpenAI({ baseURL: gateway.baseURL, apiKey: testKey, maxRetries: 0 });
  const { data } = await client.images.generate({ model: "d2", prompt: "x", n: 2 });
  expect(data).toEqual([{ b64_json: image }]);
});
