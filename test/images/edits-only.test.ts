/** Models that only edit refuse a generation before anything is sent, and say where to send it. */
import { describe, expect, test } from "bun:test";
import { planRejection } from "../../server/images/generate.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { adapters } from "../../server/upstream/adapters/index.ts";
import { edit, file, query, targetOf } from "../upstream/image-adapter-fixture.ts";

const editors: readonly (readonly [kind: string, model: string])[] = [
  ["stability", "erase"],
  ["stability", "control/structure"],
  ["bfl", "flux-pro-1.0-fill"],
  ["bfl", "flux-pro-1.0-expand"],
  ["replicate", "black-forest-labs/flux-fill-pro"],
  ["replicate", "black-forest-labs/flux-fill-dev"],
  ["replicate", "qwen/qwen-image-edit"],
  ["replicate", "qwen/qwen-image-edit-plus"],
  ["siliconflow", "Qwen/Qwen-Image-Edit"],
  ["siliconflow", "Qwen/Qwen-Image-Edit-2509"],
  ["dashscope", "wan2.5-i2i-preview"],
  ["dashscope", "wan2.6-image"],
  ["dashscope", "qwen-image-edit"],
  ["dashscope", "qwen-image-edit-plus"],
  ["dashscope", "wanx2.1-imageedit"],
  ["runway", "gen4_image_turbo"],
  ["runway", "bria_fibo_edit_1_5"],
  ["bedrock", "us.stability.stable-image-inpaint-v1:0"],
  ["venice", "firered-image-edit"],
];

const generators: readonly (readonly [kind: string, model: string])[] = [
  ["stability", "ultra"],
  ["bfl", "flux-2-pro"],
  ["replicate", "qwen/qwen-image"],
  ["siliconflow", "Qwen/Qwen-Image"],
  ["dashscope", "qwen-image-2.1"],
  ["runway", "gen4_image"],
  ["bedrock", "stability.sd3-5-large-v1:0"],
  ["venice", "z-image-turbo"],
];

const generation = (kind: string, model: string, options = {}) =>
  planRejection(
    query({ options }),
    adapters.get(kind)!.imageCapabilities!(targetOf(kind, model), "generations"),
    "adapt",
  );

describe("a model that only edits", () => {
  test.each(editors)(
    "refuses a generation and names the endpoint of edits: %s %s",
    (kind, model) => {
      for (const options of [{}, { size: "1024x1024" }]) {
        const error = generation(kind, model, options);
        if (!(error instanceof GatewayError)) throw new Error("it was not refused");
        expect([error.kind, error.details.param]).toEqual(["unsupported_operation", "model"]);
        expect(error.message).toContain("'public-model' only edits images");
        expect(error.message).toContain("/v1/images/edits");
      }
    },
  );

  test.each(editors)("edits: %s %s", (kind, model) => {
    const capabilities = adapters.get(kind)!.imageCapabilities!(targetOf(kind, model), "edits");
    const source = { kind: "file", file } as const;
    expect(planRejection(edit(source), capabilities, "adapt")).toBeUndefined();
  });
});

test.each(generators)("a model that does both generates: %s %s", (kind, model) => {
  expect(generation(kind, model)).toBeUndefined();
});
