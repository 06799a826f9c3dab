/** What fal's endpoints are sent: only fields that their schemas declare, and images where they look for them. */
import { expect, test } from "bun:test";
import { fal } from "../../server/upstream/adapters/fal/fal.ts";
import type { EditQuery, GenerationQuery } from "../../server/upstream/contract.ts";
import { bodyOf, edit, file, query, targetOf } from "./image-adapter-fixture.ts";

const image = { kind: "file", file } as const;
const capabilities = (model: string, operation: "generations" | "edits" = "edits") =>
  fal.adapter.imageCapabilities!(targetOf("fal", model), operation);
const generated = (model: string, more: Partial<GenerationQuery>) =>
  bodyOf(fal.adapter.generations!.toUpstream(query(more), targetOf("fal", model)));
const edited = (model: string, imageQuery: EditQuery) =>
  bodyOf(fal.adapter.edits!.toUpstream(imageQuery, targetOf("fal", model)));

const url = expect.stringMatching(/^data:image\/png;base64,/);

test.each([
  ["fal-ai/ideogram/character", { reference_image_urls: [url, url] }],
  ["fal-ai/ideogram/character/edit", { image_url: url, reference_image_urls: [url] }],
  ["fal-ai/flux-pro/v1/vto", { human_image_url: url, garment_image_url: url }],
  ["fal-ai/flux-kontext-lora/inpaint", { image_url: url, reference_image_url: url }],
  [
    "fal-ai/flux-control-lora-canny/image-to-image",
    { image_url: url, control_lora_image_url: url },
  ],
  ["fal-ai/flux-2-lora-gallery/virtual-tryon", { image_urls: [url, url] }],
])("%s gets two images in the fields that its schema declares", async (model, fields) => {
  expect(capabilities(model).edits?.maxImages).toBeGreaterThanOrEqual(2);
  expect(await edited(model, edit(image, image))).toEqual({ prompt: "an otter", ...fields });
});

test.each([
  ["fal-ai/flux-pulid", "reference_image_url"],
  ["fal-ai/fooocus/inpaint", "inpaint_image_url"],
  ["fal-ai/illusion-diffusion", "image_url"],
  ["fal-ai/lcm-sd15-i2i", "image_url"],
  ["fal-ai/z-image/turbo/controlnet", "image_url"],
  ["fal-ai/pasd", "image_url"],
])("%s edits an image, which is sent as %s", async (model, field) => {
  expect(capabilities(model).edits).toBeDefined();
  expect(await edited(model, edit(image))).toEqual({ prompt: "an otter", [field]: url });
});

test.each([
  "fal-ai/clarity-upscaler",
  "fal-ai/topaz/upscale/image",
  "fal-ai/creative-upscaler",
  "fal-ai/ideogram/upscale",
  "fal-ai/ideogram/v3/layerize-text",
  "fal-ai/qwen-image-layered",
  "fal-ai/finegrain-eraser",
  "fal-ai/image-apps-v2/outpaint",
  "fal-ai/recraft/upscale/crisp",
  "fal-ai/imageutils/depth",
  "pixelcut/background-removal",
  "fal-ai/flux-2-pro/outpaint",
])("%s gets no size, because its schema declares none", (model) => {
  expect(capabilities(model).sizes).toEqual({ list: [] });
});

test.each([
  "fal-ai/flux-2/klein/realtime",
  "fal-ai/qwen-image-layered",
  "fal-ai/ideogram/upscale",
  "fal-ai/ideogram/v3/layerize-text",
])("%s gets requests for one image each, because its schema declares no num_images", (model) => {
  expect(capabilities(model).maxImages).toBe(1);
});

test.each([
  ["fal-ai/nano-banana-2", "4096x4096", "4K"],
  ["fal-ai/nano-banana-pro", "2048x2048", "2K"],
  ["xai/grok-imagine-image", "4096x4096", "2k"],
  ["fal-ai/kling-image/o1", "2048x2048", "2K"],
  ["fal-ai/nano-banana-2", "1024x1024", undefined],
  ["fal-ai/nano-banana", "4096x4096", undefined],
  ["google/nano-banana-2-lite", "4096x4096", undefined],
])("%s gets a request for %s at the resolution %s", async (model, size, resolution) => {
  const body = await generated(model, { aspectRatio: "1:1", requestedSize: size });
  expect(body.resolution).toBe(resolution);
});

test("wan/v2.7 gets no output_format and no num_images, except for edits, as its schemas declare", () => {
  for (const model of ["fal-ai/wan/v2.7/text-to-image", "fal-ai/wan/v2.7/pro/text-to-image"]) {
    expect(capabilities(model, "generations")).toMatchObject({ maxImages: 1, takes: {} });
    expect(capabilities(model, "edits")).toMatchObject({ maxImages: 4, takes: {} });
  }
});

test("a resolution in the client's vendor-specific field is sent to fal", async () => {
  const imageQuery = {
    aspectRatio: "1:1",
    requestedSize: "4096x4096",
    extraFields: { resolution: "1K" },
  };
  expect((await generated("fal-ai/nano-banana-2", imageQuery)).resolution).toBe("1K");
});

test("GPT Image 2.5 at fal has OpenAI's two highest quality tiers, and one name for both operations", () => {
  const model = "openai/gpt-image-2.5/flare/text-to-image";
  expect(capabilities(model, "generations").takes.quality).toContain("max");
  expect(capabilities("openai/gpt-image-2", "generations").takes.quality).not.toContain("max");
  const { url } = fal.adapter.edits!.toUpstream(edit(image), targetOf("fal", model));
  expect(url).toBe("https://queue.fal.run/openai/gpt-image-2.5/flare/edit");
});
