/** Images by Venice and DigitalOcean, where they differ from OpenAI, whose paths they have. */
import { describe, expect, test } from "bun:test";
import { planImage } from "../../server/images/plan/plan.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { noRequestTemp } from "../../server/temp-storage/request-temp.ts";
import { digitalocean } from "../../server/upstream/adapters/digitalocean.ts";
import { venice } from "../../server/upstream/adapters/venice.ts";
import { upstreamResponseOf } from "../laws/adapter-cases.ts";
import { bodyOf, edit, file, query, targetOf } from "./image-adapter-fixture.ts";

describe("Venice", () => {
  const target = targetOf("venice", "qwen-image-3-edit");
  const { edits, imageCapabilities: images } = venice.adapter;
  const image = { kind: "file", file } as const;

  test("an edit of one image and an edit of several go to Venice's own paths", async () => {
    const one = edits!.toUpstream(edit(image), target);
    expect(one.url).toBe("https://api.venice.ai/api/v1/image/edit");
    expect(await bodyOf(one)).toEqual({
      prompt: "an otter",
      model: "qwen-image-3-edit",
      image: expect.stringMatching(/^iVBOR/),
    });
    const link = { kind: "url", url: "https://example.com/otter.png" } as const;
    const two = edits!.toUpstream(edit(image, link), target);
    expect(two.url).toBe("https://api.venice.ai/api/v1/image/multi-edit");
    expect(await bodyOf(two)).toEqual({
      prompt: "an otter",
      modelId: "qwen-image-3-edit",
      images: [expect.stringMatching(/^iVBOR/), "https://example.com/otter.png"],
    });
  });

  test("several images need several requests, and a long prompt and an unknown size are refused here", () => {
    const capabilities = images!(targetOf("venice", "qwen-image"), "generations");
    expect(capabilities).toMatchObject({ maxImages: 1, maxPrompt: 1500, extras: [] });
    const { sizes } = capabilities;
    expect(typeof sizes === "object" && "list" in sizes && sizes.list).toHaveLength(7);
  });

  test("an edit by another model than the requested one is an error", async () => {
    const by = (model: string) =>
      edits!.fromUpstream(
        upstreamResponseOf("\x89PNG\r\n", {
          headers: { "content-type": "image/png", "x-venice-model-id": model },
        }),
        { query: edit(image), target, temp: noRequestTemp },
      );
    expect(await by("qwen-image-3-edit")).toMatchObject({ kind: "buffered" });
    expect(() => by("firered-image-edit")).toThrow(GatewayError);
  });

  test("an edit model gets no generation request, because Venice would use its default model", () => {
    expect(() => planImage(query(), images!(target, "generations"), "adapt")).toThrow(
      /only edits images/,
    );
  });
});

describe("DigitalOcean", () => {
  const target = targetOf("digitalocean", "openai-gpt-image-2");
  const sent = (more: Parameters<typeof query>[0]) =>
    bodyOf(digitalocean.adapter.generations!.toUpstream(query(more), target));

  test("a request without n is sent with n, which DigitalOcean requires", async () => {
    expect(await sent({})).toMatchObject({ n: 1 });
    expect(await sent({ options: { n: 3 } })).toMatchObject({ n: 3 });
  });

  test("a stream without partial images is requested whole, as DigitalOcean refuses it otherwise", async () => {
    expect(await sent({ stream: true })).not.toHaveProperty("stream");
    const partialImages = { stream: true, options: { partial_images: 2 } };
    expect(await sent(partialImages)).toMatchObject({ stream: true, partial_images: 2 });
  });

  test("edits are refused here, because DigitalOcean has none", () => {
    expect(digitalocean.adapter.edits).toBeUndefined();
    expect(digitalocean.adapter.imageCapabilities!(target, "edits").edits).toBeUndefined();
  });
});
