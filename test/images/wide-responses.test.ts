/**
 * An upstream's image response with a member that is very wide or very deep: the image is delivered, the member is cut.
 */

import { describe, expect, test } from "bun:test";
import { documentBounds, maxJsonDepth } from "../../server/upstream/upstream-json.ts";
import { fakeImage } from "../fake-upstream.ts";
import { errorOf, startImageGateway } from "./image-gateway-fixture.ts";

const image = Buffer.from(
  fakeImage("a small image", 0, { format: "png", width: 16, height: 16 }),
).toString("base64");

/** The next response of the upstream, and its content type. */
let body = "";
let type = "application/json";

const { generate } = startImageGateway({
  model: "m",
  respond: () => new Response(body, { headers: { "content-type": type } }),
  yaml: (url) => `
upstreams: [{ id: own, kind: openai, baseUrl: "${url}/v1", apiKey: k }]
models: [{ id: m, kind: image, targets: [{ upstream: own, model: gpt-image-1 }] }]`,
});

const wide = `[${"[],".repeat(500_000)}1]`;
const deep = "[".repeat(100_000) + "]".repeat(100_000);

/** Levels of the value, up to the first that is too deep. */
function depthOf(value: unknown): number {
  let depth = 0;
  for (let at = value; Array.isArray(at) && depth < 200; at = at[0]) depth++;
  return depth;
}

describe.each([
  ["wide", wide],
  ["deep", deep],
])("an image response with a %s member", (_, value) => {
  test("gives the image, and passes on a bounded part of the member", async () => {
    type = "application/json";
    body = `{"created":1,"x":${value},"data":[{"b64_json":"${image}"}]}`;
    const response = await generate();
    const text = await response.text();
    expect(response.status, text.slice(0, 500)).toBe(200);
    const { data, x } = JSON.parse(text) as { data: { b64_json: string }[]; x: unknown[] };
    expect(data.map(({ b64_json }) => b64_json)).toEqual([image]);
    expect(x.length).toBeLessThanOrEqual(documentBounds.memberValues);
    expect(depthOf(x)).toBeLessThanOrEqual(maxJsonDepth);
    expect(text.length).toBeLessThan(image.length + 4 * documentBounds.memberValues);
  });

  test("gives the image of a stream", async () => {
    type = "text/event-stream";
    body = `event: image_generation.completed\ndata: {"type":"image_generation.completed","x":${value},"b64_json":"${image}","created_at":1,"size":"1024x1024","quality":"high","background":"auto","output_format":"png","usage":{"total_tokens":2,"input_tokens":1,"output_tokens":1}}\n\n`;
    const response = await generate({ stream: true });
    const text = await response.text();
    expect(response.status, text.slice(0, 500)).toBe(200);
    expect(text).toContain(image);
    expect(text.length).toBeLessThan(image.length + 4 * documentBounds.memberValues);
  });
});

test("an image response with a million members is refused as invalid", async () => {
  type = "application/json";
  body = `{${'"a":1,'.repeat(1_000_000)}"data":[{"b64_json":"${image}"}]}`;
  const response = await generate();
  expect(response.status).toBe(502);
  expect((await errorOf(response)).code).toBe("upstream_invalid");
});
