/** Which of Ideogram's three APIs serves a model, and with which request fields. */
import { describe, expect, test } from "bun:test";
import { ideogram } from "../../server/upstream/adapters/ideogram/ideogram.ts";
import type { EditQuery } from "../../server/upstream/contract.ts";
import { bodyOf, edit, file, query, targetOf } from "./image-adapter-fixture.ts";

const { adapter } = ideogram;
const root = "https://api.ideogram.ai";
const source = { kind: "file", file } as const;

const upstreamRequest = (model: string, more = {}) =>
  adapter.generations!.toUpstream(query(more), targetOf("ideogram", model));

const changedAt = (model: string, more: Partial<EditQuery> = {}): string =>
  adapter.edits!.toUpstream({ ...edit(source), ...more }, targetOf("ideogram", model)).url;

const capabilitiesOf = (model: string, operation: "generations" | "edits" = "generations") =>
  adapter.imageCapabilities!(targetOf("ideogram", model), operation);

describe("a model gets a request", () => {
  test("on the newest API, unless its name belongs to an older one", () => {
    expect(upstreamRequest("ideogram-4-5").url).toBe(`${root}/v2/image/generate/ideogram-4-5`);
    expect(upstreamRequest("some-new-model-9").url).toBe(
      `${root}/v2/image/generate/some-new-model-9`,
    );
    expect(upstreamRequest("ideogram-v3").url).toBe(`${root}/v1/ideogram-v3/generate`);
    expect(upstreamRequest("V_2_TURBO").url).toBe(`${root}/generate`);
    expect(upstreamRequest("..").url).toBe(`${root}/v2/image/generate/%2F..`);
  });

  test("with the quality in its own field: a rendering speed, or a quality", async () => {
    const options = { quality: "high" };
    expect(await bodyOf(upstreamRequest("ideogram-4-5", { options }))).toMatchObject({
      quality: "high",
    });
    expect(await bodyOf(upstreamRequest("ideogram-3", { options }))).toMatchObject({
      rendering_speed: "quality",
    });
    expect(await bodyOf(upstreamRequest("ideogram-v4", { options }))).toEqual({
      text_prompt: "an otter",
      rendering_speed: "QUALITY",
    });
  });

  test("with the aspect ratio in its own field", async () => {
    const shape = { aspectRatio: "16:9" };
    expect(await bodyOf(upstreamRequest("ideogram-3", shape))).toMatchObject({
      aspect_ratio: "16x9",
    });
    expect(await bodyOf(upstreamRequest("nano-banana-2", shape))).toMatchObject({
      aspect_ratio: "16:9",
    });
    expect(await bodyOf(upstreamRequest("V_2", shape))).toMatchObject({
      image_request: { aspect_ratio: "ASPECT_16_9" },
    });
  });
});

describe("an edit", () => {
  test("inpaints with a mask, and generates a variation without one", () => {
    expect(changedAt("ideogram-3")).toBe(`${root}/v2/image/remix/ideogram-3`);
    expect(changedAt("ideogram-3", { mask: source })).toBe(`${root}/v2/image/inpaint/ideogram-3`);
    expect(changedAt("ideogram-v3", { mask: source })).toBe(`${root}/v1/ideogram-v3/inpaint`);
    expect(changedAt("V_2")).toBe(`${root}/remix`);
    expect(changedAt("V_2", { mask: source })).toBe(`${root}/edit`);
    expect(changedAt("ideogram-4-5", { mask: source })).toBe(
      `${root}/v2/image/generate/ideogram-4-5`,
    );
  });

  test("is not a capability of models that only generate", () => {
    for (const model of ["ideogram-2a", "ideogram-3-transparent", "p-image-ideogram"]) {
      expect(capabilitiesOf(model, "edits").edits).toBeUndefined();
    }
  });
});

test("only models that support transparency advertise a transparent background", () => {
  const backgroundOf = (model: string) => capabilitiesOf(model).takes.background;
  expect(backgroundOf("ideogram-4-transparent")).toEqual(["transparent"]);
  expect(backgroundOf("ideogram-4")).toBeUndefined();
});
