/** The metadata of an image is correct, and an option that an upstream ignored is reported. */

import { describe, expect, test } from "bun:test";
import sharp from "sharp";
import { base64Of } from "../conformance/arrange.ts";
import { encodeImage } from "../fake-upstream/fake-image.ts";
import { eventsOf } from "../faults/faults-fixture.ts";
import { startImageGateway } from "./image-gateway-fixture.ts";

let image = "";
let reported: object = {};
const { generate: send } = startImageGateway({
  model: "g1",
  respond: () => Response.json({ created: 1, ...reported, data: [{ b64_json: image }] }),
  yaml: (url) => `
upstreams:
  - { id: fake, kind: openai, baseUrl: "${url}/v1", apiKey: x }
  - { id: shapes, kind: xai, baseUrl: "${url}/v1", apiKey: x }
  - { id: house, kind: openai-compatible, baseUrl: "${url}/v1" }
models:
  - { id: g1, kind: image, targets: [{ upstream: fake, model: gpt-image-1 }] }
  - { id: shaped, kind: image, targets: [{ upstream: shapes, model: grok-imagine-image }] }
  - { id: drop, kind: image, parameters: drop, targets: [{ upstream: fake, model: gpt-image-2 }] }
  - { id: strict, kind: image, parameters: strict, targets: [{ upstream: house, model: image-model }] }`,
});

const edges = { width: 16, height: 16, shade: 90 } as const;
const kinds = {
  "png with a transparent color": encodeImage({ ...edges, format: "png", transparent: true }),
  "webp with alpha": encodeImage({ ...edges, format: "webp", transparent: true }),
  "png without": encodeImage({ ...edges, format: "png" }),
  "webp without": encodeImage({ ...edges, format: "webp" }),
  "png without, behind a profile": await sharp(encodeImage({ ...edges, format: "png" }))
    .removeAlpha()
    .withIccProfile("p3")
    .png()
    .toBuffer(),
};

const generate = async (body: object, came: Uint8Array, says: object = {}) => {
  image = base64Of(came);
  reported = says;
  const response = await send(body);
  const text = await response.text();
  const upstreamResponse =
    "stream" in body && response.status === 200
      ? eventsOf(text)[0]!.data
      : (JSON.parse(text) as Record<string, unknown>);
  const { data } = upstreamResponse as { data?: { b64_json: string }[] };
  const bytes = Buffer.from(
    (upstreamResponse.b64_json as string) ?? data?.[0]?.b64_json ?? "",
    "base64",
  );
  const { headers } = response;
  return {
    response: upstreamResponse,
    bytes,
    status: response.status,
    dropped: headers.get("vexel-dropped"),
    adapted: headers.get("vexel-adapted"),
  };
};

describe("background", () => {
  test.each(["png with a transparent color", "webp with alpha"] as const)(
    "is transparent if it was requested and generated: %s",
    async (kind) => {
      const { response, dropped } = await generate({ background: "transparent" }, kinds[kind]);
      expect(response.background).toBe("transparent");
      expect(dropped).toBeNull();
    },
  );

  test.each(["png without", "webp without", "png without, behind a profile"] as const)(
    "is opaque without an alpha channel, whatever the upstream says, and a header reports it: %s",
    async (kind) => {
      for (const says of [{}, { background: "transparent" }]) {
        for (const stream of [{}, { stream: true }]) {
          const body = { background: "transparent", ...stream };
          const { response, dropped } = await generate(body, kinds[kind], says);
          expect(response.background).toBe("opaque");
          expect(dropped).toBe("background");
        }
      }
    },
  );

  test("is not reported as opaque for an image with alpha only because the client requested it", async () => {
    const came = kinds["webp with alpha"];
    expect((await generate({ background: "opaque" }, came)).response).not.toHaveProperty(
      "background",
    );
    const streamed = await generate({ background: "opaque", stream: true }, came);
    expect(streamed.response.background).toBe("auto");
  });

  test("is made opaque if the image is converted anyway", async () => {
    const body = { background: "opaque", output_format: "webp" };
    const came = kinds["png with a transparent color"];
    const { response, bytes } = await generate(body, came);
    expect(response.background).toBe("opaque");
    expect((await sharp(bytes).stats()).isOpaque).toBe(true);
  });
});

test("a size that the upstream ignored is reported, in a stream as well", async () => {
  const came = kinds["png without"];
  for (const stream of [{}, { stream: true }]) {
    const { response, dropped } = await generate({ size: "1024x1024", ...stream }, came);
    expect(response.size).toBe("16x16");
    expect(dropped).toBe("size");
  }
  expect((await generate({ size: "auto" }, came)).dropped).toBeNull();
});

test("a format that the gateway cannot make, and the upstream ignored, is reported", async () => {
  const png = kinds["png without"];
  for (const output_format of ["gif", "svg"]) {
    const { status, dropped, response } = await generate({ output_format }, png);
    expect([status, dropped, response.output_format]).toEqual([200, "output_format", "png"]);
  }
  const gif = await sharp(png).gif().toBuffer();
  const heeded = await generate({ output_format: "gif" }, gif);
  expect([heeded.status, heeded.dropped, heeded.response.output_format]).toEqual([
    200,
    null,
    "gif",
  ]);
  expect((await generate({ output_format: "bmp" }, png)).status).toBe(400);
});

describe("an aspect ratio, for an upstream that takes no sizes", () => {
  const generated = (width: number, height: number) =>
    encodeImage({ width, height, shade: 90, format: "png" });
  const headersFor = async (size: string, came: Uint8Array, more: object = {}) => {
    const { adapted, dropped } = await generate({ model: "shaped", size, ...more }, came);
    return { adapted, dropped };
  };

  test("that was applied is reported as adapted, and not as dropped, though vendors round sizes", async () => {
    const heeded = { adapted: "size", dropped: null };
    expect(await headersFor("1536x1024", generated(96, 64))).toEqual(heeded);
    // As Imagen generates 4:3, and Gemini 16:9.
    expect(await headersFor("1600x1200", generated(80, 56))).toEqual(heeded);
    expect(await headersFor("1920x1080", generated(84, 48))).toEqual(heeded);
  });

  test("that was ignored is reported, however the image was delivered", async () => {
    const unheeded = { adapted: "size", dropped: "size" };
    expect(await headersFor("1536x1024", generated(64, 64))).toEqual(unheeded);
    expect(
      await headersFor("1536x1024", generated(64, 96), { output_format: "webp" }),
    ).toMatchObject({
      dropped: "size",
    });
    expect(await headersFor("3:2", generated(64, 64))).toEqual({ adapted: null, dropped: "size" });
    expect(await headersFor("auto", generated(64, 96))).toEqual({ adapted: null, dropped: null });
  });
});

describe("output_compression", () => {
  const noise = sharp({
    create: {
      width: 128,
      height: 128,
      channels: 3,
      background: "#888",
      noise: { type: "gaussian", mean: 128, sigma: 60 },
    },
  });

  test("applies if the gateway converts the format, and that is reported", async () => {
    const came = await noise.clone().png().toBuffer();
    const of = (output_compression: number) =>
      generate({ output_format: "jpeg", output_compression }, came);
    const [low, high] = [await of(5), await of(95)];
    expect(low.adapted).toBe("output_format, output_compression");
    expect(low.bytes.length * 3).toBeLessThan(high.bytes.length);
  });

  test("of a png is dropped and reported if that is the policy", async () => {
    const came = kinds["png without"];
    for (const format of [{ output_format: "png" }, {}]) {
      const requested = { model: "drop", ...format };
      const half = await generate({ ...requested, output_compression: 50 }, came);
      expect([half.status, half.dropped]).toEqual([200, "output_compression"]);
      const whole = await generate({ ...requested, output_compression: 100 }, came);
      expect([whole.status, whole.dropped]).toEqual([200, null]);
    }
  });

  test("is left to an upstream that supports the format", async () => {
    const came = await noise.clone().jpeg().toBuffer();
    const { bytes, adapted } = await generate(
      { output_format: "jpeg", output_compression: 5 },
      came,
    );
    expect(bytes.equals(came)).toBe(true);
    expect(adapted).toBeNull();
  });
});

describe("links, which a stream cannot carry,", () => {
  const body = { stream: true, response_format: "url" };

  test("are served as base64, and that is reported", async () => {
    const { adapted, bytes } = await generate(body, kinds["png without"]);
    expect(adapted).toContain("response_format");
    expect(bytes.length).toBeGreaterThan(0);
  });

  test("are rejected by name if nothing may be adapted", async () => {
    const { status, response } = await generate({ ...body, model: "strict" }, kinds["png without"]);
    expect(status).toBe(400);
    expect(response).toMatchObject({ error: { param: "response_format" } });
  });
});
