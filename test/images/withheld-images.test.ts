/** Images that a vendor's content filter withholds in a successful response; and the cost that a response reports. */
import { describe, expect, test } from "bun:test";
import type { GatewayError } from "../../server/lib/gateway-error.ts";
import { noRequestTemp } from "../../server/temp-storage/request-temp.ts";
import type { Adapter, UpstreamResponse } from "../../server/upstream/adapter.ts";
import { fireworks } from "../../server/upstream/adapters/fireworks.ts";
import { ideogram } from "../../server/upstream/adapters/ideogram/ideogram.ts";
import { recraft } from "../../server/upstream/adapters/recraft.ts";
import { stability } from "../../server/upstream/adapters/stability/stability.ts";
import { xai } from "../../server/upstream/adapters/xai.ts";
import { upstreamResponseOf } from "../laws/adapter-cases.ts";
import { file, query, read, targetOf } from "../upstream/image-adapter-fixture.ts";

const safe = { url: "https://ideogram.ai/api/images/a.png", prompt: "an otter", seed: 7 };
const link = "https://imgen.x.ai/a.jpg";

const errorKindOf = (reading: Promise<unknown>): Promise<string> =>
  reading.then(
    () => "none",
    (error: GatewayError) => error.kind,
  );

const readWith = ({ generations }: Adapter, kind: string, response: UpstreamResponse) =>
  Promise.resolve(
    generations!.fromUpstream(response, {
      query: query(),
      target: targetOf(kind, "some-model"),
      temp: noRequestTemp,
    }),
  );

describe("images that pass the content filter are delivered, others are omitted", () => {
  test("at Ideogram", async () => {
    const response = await read(ideogram.adapter, targetOf("ideogram", "ideogram-3"), {
      data: [
        { ...safe, is_image_safe: true },
        { ...safe, url: null, is_image_safe: false },
      ],
    });
    expect(response).toMatchObject({ results: [{ image: { kind: "url", url: safe.url } }] });
  });

  test("at xAI", async () => {
    const response = await read(xai.adapter, targetOf("xai", "grok-imagine-image"), {
      data: [{ url: "", respect_moderation: false }, { url: link }],
    });
    expect(response).toMatchObject({ results: [{ image: { kind: "url", url: link } }] });
  });
});

describe("where no image passes, the request is rejected by the safety system", () => {
  test("at Ideogram", async () => {
    const response = { data: [{ ...safe, url: null, is_image_safe: false }] };
    const target = targetOf("ideogram", "ideogram-4-5");
    expect(await errorKindOf(read(ideogram.adapter, target, response))).toBe("moderation_blocked");
  });

  test("at xAI", async () => {
    const response = { data: [{ url: link, respect_moderation: false }] };
    const target = targetOf("xai", "grok-imagine-image");
    expect(await errorKindOf(read(xai.adapter, target, response))).toBe("moderation_blocked");
  });

  test("at Stability and Fireworks, which still send an image", async () => {
    const headers = { "content-type": "image/png", "finish-reason": "CONTENT_FILTERED" };
    for (const { adapter, kind } of [stability, fireworks]) {
      const response = upstreamResponseOf(await file.bytes(), { headers });
      expect(await errorKindOf(readWith(adapter, kind.name, response))).toBe("moderation_blocked");
    }
  });

  test("at Fireworks, if the job ends without an image", async () => {
    const target = targetOf("fireworks", "flux-kontext-pro");
    for (const status of ["Request Moderated", "Content Moderated"]) {
      const response = { id: "1", status, result: null };
      expect(await errorKindOf(read(fireworks.adapter, target, response))).toBe(
        "moderation_blocked",
      );
    }
  });
});

test("a failed job is an upstream error, with its message but without the API key", async () => {
  const target = targetOf("fireworks", "flux-kontext-pro");
  const details = `worker died, key ${target.upstream.apiKey}`;
  const reading = read(fireworks.adapter, target, { id: "1", status: "Error", details });
  const { kind, message } = await reading.then(
    () => ({ kind: "none", message: "" }),
    (error: GatewayError) => error,
  );
  expect({ kind, message }).toEqual({
    kind: "upstream_error",
    message: "The upstream failed to generate the image: worker died, key ***",
  });
});

describe("the cost that a response reports is converted to dollars", () => {
  test("from the ticks of xAI", async () => {
    const response = { data: [{ url: link }], usage: { cost_in_usd_ticks: 200_000_000 } };
    const target = targetOf("xai", "grok-imagine-image");
    expect(await read(xai.adapter, target, response)).toMatchObject({ cost: 0.02 });
  });

  test("from the units of Recraft", async () => {
    const response = { created: 1_760_335_349, credits: 40, data: [{ image_id: "1", url: link }] };
    const target = targetOf("recraft", "recraftv3");
    expect(await read(recraft.adapter, target, response)).toMatchObject({ cost: 0.04 });
  });

  test("a response without a cost has none", async () => {
    const target = targetOf("xai", "grok-imagine-image");
    expect(await read(xai.adapter, target, { data: [{ url: link }] })).not.toHaveProperty("cost");
  });
});
