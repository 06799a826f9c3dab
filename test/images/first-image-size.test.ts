/** An edit without a size keeps the shape of its first image, also where the vendor has a list of sizes. */
import { expect, test } from "bun:test";
import { prepareSources, type SourceTools } from "../../server/images/prepare-sources.ts";
import { noRequestTemp } from "../../server/temp-storage/request-temp.ts";
import { runway } from "../../server/upstream/adapters/runway/runway.ts";
import type { GenerationQuery } from "../../server/upstream/contract.ts";
import { bodyOf, edit, file, targetOf } from "../upstream/image-adapter-fixture.ts";

/** The `ratio` that Runway gets for the edit of an image with these edges. */
async function ratioOf(
  model: string,
  width: number,
  height: number,
  more: Partial<GenerationQuery> = {},
): Promise<unknown> {
  const target = targetOf("runway", model);
  const tools = {
    inspect: async () => ({
      width,
      height,
      orientation: 1,
      alphaChannel: false,
      opaque: true,
      pages: 1,
    }),
  } as unknown as SourceTools;
  const query = await prepareSources(
    { ...edit({ kind: "file", file }), ...more },
    {
      edits: runway.adapter.imageCapabilities!(target, "edits").edits!,
      tools,
      task: { signal: new AbortController().signal, temp: noRequestTemp, key: "" },
      onAdapted: () => {},
    },
  );
  return (await bodyOf(runway.adapter.edits!.toUpstream(query, target))).ratio;
}

test.each([
  ["gen4_image", 1024, 1024, "1024:1024"],
  ["gen4_image", 64, 64, "720:720"],
  ["gen4_image", 900, 1600, "1080:1920"],
  ["gen4_image", 3000, 4000, "1080:1440"],
  ["gen4_image_turbo", 4000, 3000, "1440:1080"],
  ["gemini_2.5_flash", 1920, 1080, "1344:768"],
  ["gemini_image3_pro", 4096, 4096, "1024:1024"],
  ["gemini_image3_pro", 1080, 1920, "768:1344"],
  ["gemini_image3.1_flash", 500, 2000, "512:2048"],
  ["gemini_image3.1_flash_lite", 1080, 1920, "768:1376"],
  ["nano_banana_2.1", 2100, 900, "1584:672"],
  ["seedream5_lite", 1000, 1500, "1664:2496"],
  ["bria_fibo_1_5", 800, 1200, "768:1152"],
])("%s gets the size nearest to an image of %dx%d", async (model, width, height, ratio) => {
  expect(await ratioOf(model, width, height)).toBe(ratio);
});

test.each([
  ["gpt_image_2", "auto"],
  ["seedream5_pro", "auto_1k"],
  ["ideogram_4_5", undefined],
])("%s chooses by itself", async (model, ratio) => {
  expect(await ratioOf(model, 900, 1600)).toBe(ratio);
});

test("the client's own size or ratio is sent", async () => {
  expect(await ratioOf("gen4_image", 64, 64, { options: { size: "1280x720" } })).toBe("1280:720");
  expect(await ratioOf("gen4_image", 64, 64, { extraFields: { ratio: "1680:720" } })).toBe(
    "1680:720",
  );
});
