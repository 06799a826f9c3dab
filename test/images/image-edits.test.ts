/** Edits: an image keeps its size where none is requested, and a mask is checked before anything is billed. */

import { beforeEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import sharp from "sharp";
import { decodeDataUrl } from "../../server/images/inline-image.ts";
import { createRequestTemp, MemoryBudget } from "../../server/temp-storage/request-temp.ts";
import { nearestSize, sizeRuleViolation } from "../../server/upstream/image-sizes.ts";
import { base64Of, grayImage, maskOf } from "../conformance/arrange.ts";
import { startGateway, temporaryFolder, testKey } from "../harness.ts";
import { createImage } from "../image-vendors/test-images.ts";
import { turnsDuring } from "../upstream/turns-during.ts";
import { errorOf, startImageGateway } from "./image-gateway-fixture.ts";
import { largePng } from "./large-image-fixture.ts";

const upstreamRequests: Record<string, unknown>[] = [];
const shown = new Map<string, Uint8Array<ArrayBuffer>>();
const { gateway, url: origin } = startImageGateway({
  model: "image-model",
  respond: async (request) => {
    const { pathname } = new URL(request.url);
    const image = shown.get(pathname);
    if (image) return new Response(image);
    upstreamRequests.push((await request.json()) as Record<string, unknown>);
    const info = JSON.stringify({ sd_model_name: "custom-checkpoint" });
    return Response.json({ images: [base64Of(grayImage("an otter"))], info });
  },
  yaml: (url) => `
upstreams: [{ id: fake, kind: automatic1111, baseUrl: "${url}" }]
models: [{ id: image-model, kind: image, targets: [{ upstream: fake, model: custom-checkpoint }] }]`,
  settings: { VEXEL_DOWNLOAD_PRIVATE: "127.0.0.1" },
});
beforeEach(() => {
  upstreamRequests.length = 0;
});

const link = (name: string, image: Uint8Array<ArrayBuffer>) => {
  shown.set(name, image);
  return { image_url: `${origin}${name}` };
};
const inline = (image: Uint8Array) => ({
  image_url: `data:image/png;base64,${base64Of(image)}`,
});
const edit = (body: object) =>
  gateway.post("/v1/images/edits", { model: "image-model", prompt: "a hat", ...body });

describe("an edit without a size, at a server that has a size of its own", () => {
  const image = (width: number, height: number) =>
    createImage("mine", { width, height, kind: "png" }).then((bytes) => new Uint8Array(bytes));

  test.each([{}, { size: "auto" }])("requests that of the image: %j", async (more) => {
    const images = [inline(await image(640, 320))];
    expect((await edit({ images, ...more })).status).toBe(200);
    expect(upstreamRequests).toMatchObject([{ width: 640, height: 320 }]);
  });

  test("may have images that are larger than the size limit of JSON text", async () => {
    const large = largePng(9 * 1024 * 1024);
    const response = await edit({ images: [inline(large)], prompt: "ein Hut für den Otter 猫" });
    expect(response.status).toBe(200);
    expect(upstreamRequests).toMatchObject([{ prompt: "ein Hut für den Otter 猫" }]);
    const [
      {
        init_images: [sent],
      },
    ] = upstreamRequests as [{ init_images: [string] }];
    expect(sent.endsWith(base64Of(large))).toBe(true);
  });

  test("lets other requests be served while a large image is decoded", async () => {
    using folder = temporaryFolder();
    const { image_url } = inline(largePng(4 * 1024 * 1024));
    const temp = createRequestTemp(folder.path, new MemoryBudget(1e9));
    const decoding = () => decodeDataUrl(image_url, "images[0].image_url", temp);
    const { turns } = await turnsDuring(decoding);
    await temp.clear();
    expect(turns).toBeGreaterThanOrEqual(image_url.length / 2 ** 19);
  });

  test("may not have an image URL that is longer than at OpenAI", async () => {
    const image_url = `data:image/png;base64,${"A".repeat(20 * 1024 * 1024)}`;
    const { code, param } = await errorOf(await edit({ images: [{ image_url }] }));
    expect({ code, param }).toEqual({
      code: "string_above_max_length",
      param: "images[0].image_url",
    });
  });

  test("may not have other text above that limit beside them", async () => {
    const { code } = await errorOf(
      await edit({ images: [inline(await image(640, 320))], prompt: "x".repeat(9_000_000) }),
    );
    expect(code).toBe("request_too_large");
  });

  test("reads a data URL whose scheme is in upper case", async () => {
    const { image_url } = inline(await image(640, 320));
    const images = [{ image_url: image_url.replace("data:", "DATA:") }];
    expect((await edit({ images })).status).toBe(200);
    expect(upstreamRequests).toMatchObject([{ width: 640, height: 320 }]);
  });

  test("uses the size of the image as shown, not as stored", async () => {
    const stored = await image(640, 320);
    const turned = await sharp(stored).jpeg().withMetadata({ orientation: 6 }).toBuffer();
    const images = [link("/turned.jpg", new Uint8Array(turned))];
    expect((await edit({ images })).status).toBe(200);
    expect(upstreamRequests).toMatchObject([{ width: 320, height: 640 }]);
  });

  test("requests the size that the request names", async () => {
    const images = [inline(await image(640, 320))];
    await edit({ images, size: "512x512" });
    await edit({ images, width: 256, height: 128 });
    expect(upstreamRequests).toMatchObject([
      { width: 512, height: 512 },
      { width: 256, height: 128 },
    ]);
  });

  test("with a mask sends no size: the result is composed into the image", async () => {
    await edit({ images: [inline(grayImage("mine"))], mask: inline(await maskOf()) });
    expect(upstreamRequests).toHaveLength(1);
    expect(upstreamRequests[0]).not.toHaveProperty("width");
  });
});

test("the nearest size is one that the rule allows, and keeps the aspect ratio if possible", () => {
  const rule = { multipleOf: 8, minEdge: 64, maxEdge: 2048, maxPixels: 1024 * 1536 };
  const edges = fc.integer({ min: 1, max: 20_000 });
  fc.assert(
    fc.property(edges, edges, (width, height) => {
      const nearest = nearestSize({ width, height }, rule);
      expect(sizeRuleViolation(nearest, rule)).toBeUndefined();
    }),
  );
  expect(nearestSize({ width: 1024, height: 1536 }, rule)).toEqual({ width: 1024, height: 1536 });
  expect(nearestSize({ width: 4000, height: 3000 }, rule)).toEqual({ width: 1448, height: 1080 });
  expect(nearestSize({ width: 32, height: 16 }, rule)).toEqual({ width: 128, height: 64 });
});

describe("a mask that does not fit is rejected before the upstream is called", () => {
  test.each(["the mask", "the image", "both"])("where %s came by a link", async (which) => {
    const mask = await maskOf(24);
    const image = grayImage("mine", 16);
    const linked = (part: string) => which === part || which === "both";
    const response = await edit({
      images: [linked("the image") ? link("/image.png", image) : inline(image)],
      mask: linked("the mask") ? link("/mask.png", mask) : inline(mask),
    });
    expect(response.status).toBe(400);
    const error = await errorOf(response);
    expect(error.param).toBe("mask.image_url");
    expect(error.message).toContain("the mask is 24x24 and the image 16x16");
    expect(upstreamRequests).toHaveLength(0);
  });

  test("a mask that fits is sent to the upstream", async () => {
    const response = await edit({
      images: [link("/image.png", grayImage("mine", 16))],
      mask: link("/mask.png", await maskOf(16)),
    });
    expect(response.status).toBe(200);
    expect(upstreamRequests).toHaveLength(1);
  });
});

describe("an error about the images of an edit names them as the client spelled them", () => {
  const otter = grayImage("an otter");

  test("`images` in JSON", async () => {
    const response = await edit({ images: [inline(otter), inline(otter)] });
    const error = await errorOf(response);
    expect(response.status).toBe(400);
    expect(error.param).toBe("images");
    expect(error.message).toStartWith("Invalid 'images': array too long.");
  });

  test("`image` in a form", async () => {
    const form = new FormData();
    form.append("model", "image-model");
    form.append("prompt", "a hat");
    for (const name of ["a.png", "b.png"]) form.append("image", new Blob([otter]), name);
    const response = await fetch(`${gateway.url}/v1/images/edits`, {
      method: "POST",
      headers: { authorization: `Bearer ${testKey}` },
      body: form,
    });
    const error = await errorOf(response);
    expect(error.param).toBe("image");
    expect(error.message).toStartWith("Invalid 'image': array too long.");
  });
});

describe("a field that the drawing program does not know", () => {
  const sketch = (body: object, parameters = "adapt") => {
    const models = `models: [{ id: sketch, kind: image, parameters: ${parameters}, targets: [{ upstream: here, model: x }] }]`;
    const nativeGateway = startGateway({
      yaml: `upstreams: [{ id: here, kind: sketch }]\n${models}\nkeys: [{ name: test, key: ${testKey} }]\n`,
    });
    return nativeGateway
      .post("/v1/images/generations", { model: "sketch", prompt: "x", size: "64x64", ...body })
      .then(async (response) => ({ response, body: (await response.json()) as object }))
      .finally(() => nativeGateway.close());
  };

  test("is refused with the advice to omit it; a supported one is not", async () => {
    const { response } = await sketch({ seed: 7, guidance: 3, steps: 20 });
    expect(response.status).toBe(200);
    expect(response.headers.get("vexel-dropped")).toBe("guidance, steps");
  });

  test("is one of thousands: the header names as many as fit and counts the others", async () => {
    const many = Object.fromEntries(Array.from({ length: 4000 }, (_, at) => [`field-${at}`, at]));
    const { response } = await sketch(many);
    expect(response.status).toBe(200);
    const header = response.headers.get("vexel-dropped") ?? "";
    expect(header.length).toBeLessThan(1100);
    const [, named = "", more] = /^(field-0, .*), \.\.\. and (\d+) more$/.exec(header) ?? [];
    expect(named.split(", ").length + Number(more)).toBe(4000);
  });

  test("has a name that no header has space for: the header counts it", async () => {
    const { response } = await sketch({ ["x".repeat(9000)]: 1 });
    expect(response.headers.get("vexel-dropped")).toBe("1 field");
  });

  test("is refused by name if the policy is strict", async () => {
    const { response, body } = await sketch({ guidance: 3 }, "strict");
    expect(response.status).toBe(400);
    expect(body).toMatchObject({ error: { param: "guidance", code: "unknown_parameter" } });
  });
});
