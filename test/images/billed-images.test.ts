/**
 * Billed images are delivered, described truthfully and recorded in the ledger, whatever fails after they were
 * generated.
 */

import { expect, test } from "bun:test";
import { base64Of, grayImage } from "../conformance/arrange.ts";
import { blackPng } from "../workers/image-worker-fixture.ts";
import { startImageGateway } from "./image-gateway-fixture.ts";

let response: (request: Request) => Response = () => new Response("?", { status: 500 });
const { gateway, url, generate } = startImageGateway({
  model: "g1",
  respond: (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/good.png") return new Response(grayImage("an otter"));
    if (pathname === "/page.html") return new Response("<html>gone</html>");
    return response(request);
  },
  yaml: (origin) => `
upstreams:
  - { id: fake, kind: openai, baseUrl: "${origin}/v1", apiKey: CSECRET1234567890 }
models:
  - { id: d2, kind: image, targets: [{ upstream: fake, model: dall-e-2 }] }
  - { id: g1, kind: image, targets: [{ upstream: fake, model: gpt-image-1 }] }`,
  settings: { VEXEL_IMAGES_MAX_BYTES: "1024" },
});

interface UpstreamResponse {
  readonly data: readonly { b64_json?: string; url?: string }[];
  readonly [fact: string]: unknown;
}
const read = async (response: Response) => (await response.json()) as UpstreamResponse;
const respondWith = (body: object, status = 200) => {
  response = () => Response.json({ created: 1, ...body }, { status });
};
const imageBytes = base64Of(grayImage("an otter"));

test("an image link that cannot be downloaded does not fail the other images", async () => {
  respondWith({ data: [{ url: `${url}/good.png` }, { url: `${url}/page.html` }] });
  const response = await generate({ model: "d2", n: 2, response_format: "b64_json" });
  expect(response.status).toBe(200);
  expect(response.headers.get("vexel-missing")).toBe("1; error=upstream_invalid");
  expect((await read(response)).data).toEqual([{ b64_json: imageBytes }]);
});

test("if no image link can be downloaded, the ledger row has no delivered image, and the cost of the generated ones", async () => {
  respondWith({ data: [{ url: `${url}/page.html` }] });
  expect((await generate({ model: "d2", response_format: "b64_json" })).status).toBe(502);
  expect(gateway.rows().at(-1)).toMatchObject({ status: 502, images: 0 });
  expect(gateway.rows().at(-1)?.cost).toBeGreaterThan(0);
});

test("without storage for image links the image is delivered in base64, and a header says so", async () => {
  const large = base64Of(Buffer.concat([grayImage("an otter"), Buffer.alloc(4096)]));
  respondWith({ data: [{ b64_json: large }] });
  const response = await generate({ response_format: "url" });
  expect(response.status).toBe(200);
  expect(response.headers.get("vexel-dropped")).toBe("response_format");
  expect((await read(response)).data).toEqual([{ b64_json: large }]);
});

test("an image in another format than requested is converted", async () => {
  respondWith({ data: [{ b64_json: base64Of(grayImage("an otter", 16, "jpeg")) }] });
  const response = await generate({ output_format: "webp" });
  const { data, output_format } = await read(response);
  expect(output_format).toBe("webp");
  expect(Buffer.from(data[0]?.b64_json ?? "", "base64").toString("latin1", 8, 12)).toBe("WEBP");
  expect(response.headers.get("vexel-adapted")).toContain("output_format");
  expect(gateway.rows().at(-1)?.steps).toContain("adapted: output_format");
});

test("an image that the gateway cannot decode is delivered as the upstream sent it, and a header says so", async () => {
  const svg = base64Of(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"></svg>'));
  for (const image of [svg, base64Of(blackPng(9000, 9000))]) {
    respondWith({ data: [{ b64_json: image }] });
    const response = await generate({ output_format: "webp" });
    expect(response.status).toBe(200);
    expect(response.headers.get("vexel-dropped")).toBe("output_format");
    const { data, output_format } = await read(response);
    expect(data).toEqual([{ b64_json: image }]);
    expect(output_format).toBe(image === svg ? "svg" : "png");
  }
});

test("no part of a key and no address is passed on in an upstream's error message, wherever it is truncated", async () => {
  const tail = " key: CSECRET1234567890 at gpu-7.corp.internal:8000 (10.1.2.3)";
  for (const length of [0, 1984, 1990, 2000]) {
    respondWith(
      { error: { message: "x".repeat(length) + tail, type: "invalid_request_error" } },
      400,
    );
    const text = await (await generate({})).text();
    for (const secret of ["CSEC", "gpu-7", "10.1.2.3"]) expect(text).not.toContain(secret);
  }
});
