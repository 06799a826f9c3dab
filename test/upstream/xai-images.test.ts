/** xAI images: cases that the laws for all vendors do not cover. */
import { expect, test } from "bun:test";
import { xai } from "../../server/upstream/adapters/xai.ts";
import type { GenerationQuery } from "../../server/upstream/contract.ts";
import { bodyOf, query, targetOf } from "./image-adapter-fixture.ts";

const sent = (more: Partial<GenerationQuery>) =>
  bodyOf(
    xai.adapter.generations!.toUpstream(query(more), targetOf("xai", "grok-imagine-image-2.0")),
  );

test("a size of two thousand pixels is requested at xAI's 2k, and a smaller one at its default", async () => {
  const resolution = async (size: string) =>
    (await sent({ aspectRatio: "1:1", requestedSize: size })).resolution;
  expect(await resolution("2048x2048")).toBe("2k");
  expect(await resolution("4096x4096")).toBe("2k");
  expect(await resolution("1024x1024")).toBeUndefined();
});

test("a resolution in xAI's own field is used", async () => {
  const body = await sent({
    aspectRatio: "1:1",
    requestedSize: "2048x2048",
    extraFields: { resolution: "1k" },
  });
  expect(body.resolution).toBe("1k");
});

test("only aspect ratios of xAI's own SDK are requested", () => {
  const { sizes } = xai.adapter.imageCapabilities!(
    targetOf("xai", "grok-imagine-image"),
    "generations",
  );
  const ratios = typeof sizes === "object" && "ratios" in sizes ? sizes.ratios : [];
  expect(ratios).toHaveLength(13);
  expect(ratios).not.toContain("21:9");
});
