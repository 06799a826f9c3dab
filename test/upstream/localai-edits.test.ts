/**
 * Edits at LocalAI, which silently ignores what it does not understand: requests are sent in its format, or refused.
 */
import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import type { UpstreamRequest } from "../../server/upstream/adapter.ts";
import { localai } from "../../server/upstream/adapters/localai.ts";
import type { EditQuery, ImageSource } from "../../server/upstream/contract.ts";
import { fileOf, partsOf } from "../laws/adapter-cases.ts";
import { bodyOf, edit, targetOf } from "./image-adapter-fixture.ts";

const image = (at: number): ImageSource => ({
  kind: "file",
  file: fileOf("image", "a.png", "image/png", Uint8Array.of(137, 80, 78, 71, at)),
});

const upstreamRequestOf = (model: string, more: Partial<EditQuery>): UpstreamRequest => {
  const { edits } = localai.adapter;
  if (!edits) throw new Error("LocalAI edits");
  const target = targetOf("localai", model, "http://localai.internal:8080/v1");
  return edits.toUpstream({ ...edit(image(0)), ...more }, target);
};

const refusalOf = (build: () => unknown): { kind: string; param?: string } => {
  try {
    build();
    return { kind: "none" };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { param } = error.details;
    return { kind: error.kind, ...(param !== undefined && { param }) };
  }
};

describe("an image without a mask", () => {
  test("is sent as bare base64: a data URL would be ignored silently", async () => {
    const { file, ref_images } = await bodyOf(upstreamRequestOf("dreamshaper", {}));
    expect(file).toBe(Buffer.from([137, 80, 78, 71, 0]).toString("base64"));
    expect(ref_images).toBeUndefined();
  });

  test("is a reference for models that edit, and there may be several", async () => {
    const { file, ref_images } = await bodyOf(
      upstreamRequestOf("flux.1-kontext-dev", { images: [image(0), image(1)] }),
    );
    expect(file).toBeUndefined();
    expect(ref_images).toHaveLength(2);
  });
});

describe("an image with a mask", () => {
  const mask = image(9);

  test("is sent to the inpainting endpoint, as files", async () => {
    const request = upstreamRequestOf("dreamshaper", { mask, extraFields: { steps: 30 } });
    expect(request.url).toBe("http://localai.internal:8080/v1/images/inpainting");
    expect((await partsOf(request)).map(({ field }) => field)).toEqual([
      "steps",
      "model",
      "prompt",
      "image",
      "mask",
    ]);
  });

  test("is refused in any size but the one that LocalAI generates regardless of the request", () => {
    expect(
      refusalOf(() => upstreamRequestOf("dreamshaper", { mask, options: { size: "512x512" } })),
    ).toEqual({
      kind: "none",
    });
    expect(
      refusalOf(() => upstreamRequestOf("dreamshaper", { mask, options: { size: "1024x1024" } })),
    ).toEqual({
      kind: "invalid_size",
      param: "size",
    });
  });

  test("is accepted for one image only", () => {
    const images = [image(0), image(1)];
    expect(refusalOf(() => upstreamRequestOf("flux.1-kontext-dev", { mask, images }))).toEqual({
      kind: "invalid_value",
      param: "image",
    });
  });
});
