/** Seedream images: cases that the laws for all vendors do not cover. */
import { describe, expect, test } from "bun:test";
import { planRejection } from "../../server/images/generate.ts";
import type { GatewayError } from "../../server/lib/gateway-error.ts";
import { noRequestTemp } from "../../server/temp-storage/request-temp.ts";
import { volcengine } from "../../server/upstream/adapters/volcengine/volcengine.ts";
import type { ExtraFields, GenerationQuery, ImageEvent } from "../../server/upstream/contract.ts";
import { upstreamResponseOf } from "../laws/adapter-cases.ts";
import { errorKindOf } from "../laws/adapter-responses.ts";
import { query, targetOf } from "./image-adapter-fixture.ts";

const { adapter } = volcengine;

const seedream4 = targetOf("volcengine", "doubao-seedream-4-0-250828");

const bodyOf = (imageQuery: GenerationQuery, target = seedream4): ExtraFields =>
  JSON.parse(adapter.generations!.toUpstream(imageQuery, target).body as string);

async function eventsOf(...events: object[]): Promise<ImageEvent[]> {
  const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  const response = await adapter.generations!.fromUpstream(
    upstreamResponseOf(`${text}data: [DONE]\n\n`, {
      headers: { "content-type": "text/event-stream" },
    }),
    { query: query({ stream: true }), target: seedream4, temp: noRequestTemp },
  );
  return response.kind === "stream" ? Array.fromAsync(response.events) : [];
}

const succeeded = (b64_json: string) => ({
  type: "image_generation.partial_succeeded",
  created: 1_757_396_757,
  b64_json,
});
const failed = {
  type: "image_generation.partial_failed",
  error: { code: "OutputImageSensitiveContentDetected", message: "It may be sensitive." },
};
const completed = {
  type: "image_generation.completed",
  usage: { generated_images: 2, output_tokens: 32_448, total_tokens: 32_448 },
};

describe("a size", () => {
  const planned = (model: string, size: string) =>
    planRejection(
      query({ options: { size } }),
      adapter.imageCapabilities!(targetOf("volcengine", model), "generations"),
      "adapt",
    );
  const large = "3686400 to 16777216 pixels, and an aspect ratio from 1:16 to 16:1";

  test.each([
    ["doubao-seedream-4-0-250828", "512x512", "921600 to 16777216 pixels"],
    ["doubao-seedream-4-5-251128", "1024x1024", large],
    ["doubao-seedream-4-5-251128", "1K", "'auto', '2K', '4K'"],
    ["doubao-seedream-5-0-260128", "1024x1024", large],
    ["doubao-seedream-5-0-lite-260128", "1536x1024", "'auto', '2K', '3K', '4K'"],
    ["doubao-seedream-5-0-pro-260628", "4096x4096", "921600 to 4624220 pixels"],
  ])("that %s does not have, such as %s, is refused with its sizes", (model, size, sizes) => {
    const error = planned(model, size) as GatewayError;
    expect([error.kind, error.details.param]).toEqual(["invalid_size", "size"]);
    expect(error.message).toContain(sizes);
  });

  test.each([
    ["doubao-seedream-4-0-250828", "1280x720"],
    ["doubao-seedream-4-5-251128", "2K"],
    ["doubao-seedream-4-5-251128", "4096x4096"],
    ["doubao-seedream-5-0-260128", "2048x2048"],
    ["doubao-seedream-5-0-lite-260128", "3K"],
    ["doubao-seedream-5-0-pro-260628", "1024x1024"],
    ["doubao-seedream-5-0-flash-260915", "1024x1024"],
    ["ep-20260125201054-pfrb4", "512x512"],
  ])("that %s has, such as %s, is accepted", (model, size) => {
    expect(planned(model, size)).toBeUndefined();
  });
});

test("named sizes are sent, and an automatic size is omitted", () => {
  expect(bodyOf(query({ options: { size: "2K" } })).size).toBe("2K");
  expect(bodyOf(query({ options: { size: "auto" } }))).not.toHaveProperty("size");
});

test("a model that does not stream gets no `stream` parameter", () => {
  const stream = query({ stream: true, options: { response_format: "url" } });
  expect(bodyOf(stream)).toMatchObject({ stream: true, response_format: "b64_json" });
  for (const model of ["doubao-seedream-5-0-pro-260628", "ep-20260125201054-pfrb4"]) {
    expect(bodyOf(stream, targetOf("volcengine", model))).not.toHaveProperty("stream");
  }
});

test("transparency is requested together with the only format that supports it", () => {
  const options = { background: "transparent", output_format: "jpeg" };
  const body = bodyOf(query({ options }), targetOf("volcengine", "doubao-seedream-5-0-pro-260628"));
  expect(body).toMatchObject({ background: "transparent", output_format: "png" });
});

test("a stream's images arrive one by one, and the last event reports the usage of all", async () => {
  const usage = { total_tokens: 32_460, input_tokens: 12, output_tokens: 32_448 };
  const withUsage = { ...completed, usage: { generated_images: 2, ...usage } };
  const events = await eventsOf(succeeded("AAAA"), failed, succeeded("BBBB"), withUsage);
  expect(events).toEqual([
    { type: "completed", image: { kind: "base64", base64: "AAAA" }, created: 1_757_396_757 },
    { type: "completed", image: { kind: "base64", base64: "BBBB" }, created: 1_757_396_757, usage },
  ]);
});

test("tokens that the vendor has not counted are unknown, and not 0", async () => {
  const [event] = await eventsOf(succeeded("AAAA"), completed);
  expect(event).toMatchObject({ image: { base64: "AAAA" } });
  expect(event).not.toHaveProperty("usage");
});

test("a stream in which every image was rejected ends with the error", async () => {
  const error = await errorKindOf(() => eventsOf(failed, { ...completed, usage: undefined }));
  expect(error?.kind).toBe("moderation_blocked");
  expect(error?.message).toBe("It may be sensitive.");
});

test("an error in the middle of a stream keeps its meaning", async () => {
  const error = { code: "AccountOverdueError", message: "Account 2100000000 is overdue." };
  const gatewayError = await errorKindOf(() => eventsOf({ error }));
  expect(gatewayError?.kind).toBe("insufficient_quota");
  expect(gatewayError?.message).not.toContain("2100000000");
});

test("a stream that ends without an image is an invalid response", async () => {
  expect((await errorKindOf(() => eventsOf(completed)))?.kind).toBe("upstream_invalid");
});
