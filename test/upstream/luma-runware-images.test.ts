/** Luma and Runware images: cases that the laws for all vendors do not cover. */
import { describe, expect, test } from "bun:test";
import type { PendingOperation } from "../../server/upstream/adapter.ts";
import { luma } from "../../server/upstream/adapters/luma/luma.ts";
import { runware } from "../../server/upstream/adapters/runware/runware.ts";
import type { BufferedImageResponse, EditQuery } from "../../server/upstream/contract.ts";
import { anyEdges } from "../../server/upstream/image-capabilities.ts";
import { errorKindOf } from "../laws/adapter-responses.ts";
import { bodyOf, edit, file, query, read, targetOf } from "./image-adapter-fixture.ts";
import { declaredSchemas } from "./runware-schemas.ts";

describe("Photon edits images behind links", () => {
  const target = targetOf("luma", "photon-1");
  const link = (at: number) => ({ kind: "url", url: `https://example.com/${at}.png` }) as const;
  const sent = (imageQuery: EditQuery) =>
    bodyOf(luma.adapter.edits!.toUpstream(imageQuery, target));

  test("one image is modified, several images are references", async () => {
    expect((await sent(edit(link(1)))).modify_image_ref).toEqual({ url: link(1).url });
    const several = await sent(edit(link(1), link(2)));
    expect(several.image_ref).toEqual([{ url: link(1).url }, { url: link(2).url }]);
    expect(several.modify_image_ref).toBeUndefined();
  });

  test("a file or a data: URL is rejected by name", async () => {
    const inside = { kind: "url", url: "data:image/png;base64,iVBORw0KGgo=" } as const;
    for (const source of [{ kind: "file", file } as const, inside]) {
      const error = await errorKindOf(async () => sent(edit(source)));
      expect(error?.kind).toBe("invalid_value");
      expect(error?.details.param).toBe("image");
    }
    expect(luma.adapter.imageCapabilities!(target, "edits").edits?.linksOnly).toBe(true);
  });
});

describe("Runware", () => {
  const task = async (model: string, imageQuery: EditQuery | ReturnType<typeof query>) => {
    const target = targetOf("runware", model);
    const request =
      "images" in imageQuery
        ? runware.adapter.edits!.toUpstream(imageQuery, target)
        : runware.adapter.generations!.toUpstream(imageQuery, target);
    return ((await bodyOf(request)) as unknown as Record<string, unknown>[])[0]!;
  };

  test("gets a size, which most of its models need, unless the client sends its own fields", async () => {
    expect(await task("runware:101@1", query())).toMatchObject({ width: 1024, height: 1024 });
    const imageQuery = query({ options: { size: "640x896" } });
    expect(await task("runware:101@1", imageQuery)).toMatchObject({ width: 640, height: 896 });
    const own = await task("google:4@2", query({ extraFields: { resolution: "2k" } }));
    expect(own.width).toBeUndefined();
    const fill = await task("bfl:1@2", edit({ kind: "file", file }));
    expect(fill.width).toBeUndefined();
  });

  test("gets `negative_prompt` under its own name", async () => {
    const extraFields = { negative_prompt: "rain" };
    const sent = await task("runware:101@1", query({ extraFields }));
    expect(sent).toMatchObject({ negativePrompt: "rain" });
    expect(sent).not.toHaveProperty("negative_prompt");
  });

  test("gets an input image in the field of the model", async () => {
    const images = [{ kind: "file", file } as const, { kind: "file", file } as const];
    const following = await task("google:4@2", edit(...images));
    expect(following.inputs).toEqual({
      referenceImages: [expect.stringMatching(/^data:image\/png;base64,/), expect.any(String)],
    });
    expect(following.seedImage).toBeUndefined();
    const beginning = await task("civitai:618692@691639", edit({ kind: "file", file }));
    expect(beginning.seedImage).toMatch(/^data:image\/png;base64,/);
    expect(beginning.inputs).toBeUndefined();
  });

  const listed = declaredSchemas.flatMap(({ models, ...schema }) =>
    models.map((model) => ({ model, ...schema })),
  );

  test.each(listed)("$model is sent only the fields that its schema declares", async (declared) => {
    const { model, images, sized, prompted } = declared;
    const { sizes, edits } = runware.adapter.imageCapabilities!(
      targetOf("runware", model),
      "edits",
    );
    const mask = edits?.mask && ({ kind: "file", file } as const);
    const sent = await task(model, {
      ...edit({ kind: "file", file }),
      ...(mask && { mask }),
      // The plan omits the size if the capabilities list none.
      options: sizes === anyEdges ? { size: "512x768" } : {},
    });
    const { inputs = {}, seedImage, maskImage, width, height, positivePrompt } = sent;
    const form =
      seedImage === undefined
        ? Object.keys(inputs as object)
        : Object.keys({ seedImage, maskImage });
    const expected = {
      "inputs.referenceImages": ["referenceImages"],
      "inputs.image": ["image", "mask"],
      seedImage: ["seedImage", "maskImage"],
    };
    expect(form).toEqual(expected[images]);
    expect([width !== undefined, height !== undefined]).toEqual([sized, sized]);
    expect(positivePrompt !== undefined).toBe(prompted);
  });

  test("reports the cost of a request: the sum of all images, or none if it is not reported", async () => {
    const target = targetOf("runware", "runware:101@1");
    const generated = (cost?: number) => ({ imageURL: "https://im.runware.ai/1.jpg", cost });
    const withCosts = await read(runware.adapter, target, {
      data: [generated(0.25), generated(0.5)],
    });
    expect((withCosts as BufferedImageResponse).cost).toBe(0.75);
    const silent = await read(runware.adapter, target, { data: [generated(0.25), generated()] });
    expect((silent as BufferedImageResponse).cost).toBeUndefined();
  });

  test("is polled for an asynchronous task", async () => {
    const target = targetOf("runware", "runware:101@1");
    const taskUUID = "0f9f1a4c-3a0e-4b8e-9d1f-5c6b7a8d9e0f";
    const data = [{ taskType: "imageInference", taskUUID, status: "processing" }];
    const { poll } = (await read(runware.adapter, target, { data })) as PendingOperation;
    expect(poll!.isNonIdempotent).toBeUndefined();
    expect((await bodyOf(poll!)) as unknown).toEqual([{ taskType: "getResponse", taskUUID }]);
  });

  test("delivers the generated images if only some failed", async () => {
    const { results } = (await read(runware.adapter, targetOf("runware", "runware:101@1"), {
      data: [{ imageURL: "https://im.runware.ai/1.jpg", seed: 7 }],
      errors: [{ code: "inferenceError", message: "one of them failed" }],
    })) as BufferedImageResponse;
    expect(results).toEqual([
      { image: { kind: "url", url: "https://im.runware.ai/1.jpg" }, extraFields: { seed: 7 } },
    ]);
  });
});
