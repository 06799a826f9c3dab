/** OpenRouter images: the events and the cost of a stream, and errors in the middle of it. */
import { describe, expect, test } from "bun:test";
import { noRequestTemp } from "../../server/temp-storage/request-temp.ts";
import { openrouter } from "../../server/upstream/adapters/openrouter/openrouter.ts";
import type { GenerationQuery, ImageEvent } from "../../server/upstream/contract.ts";
import { upstreamResponseOf } from "../laws/adapter-cases.ts";
import { errorKindOf } from "../laws/adapter-responses.ts";
import { edit, query, targetOf } from "./image-adapter-fixture.ts";

const target = targetOf("openrouter", "openai/gpt-image-1.5");
const streamed = query({ stream: true, options: { partial_images: 1 } });

const { generations } = openrouter.adapter;
if (!generations) throw new Error("OpenRouter draws");

async function read(body: string, type: string): Promise<readonly ImageEvent[]> {
  const response = upstreamResponseOf(body, { headers: { "content-type": type } });
  const read = await generations?.fromUpstream(response, {
    query: streamed,
    target,
    temp: noRequestTemp,
  });
  if (read?.kind === "buffered") return [{ type: "buffered", response: read }];
  if (read?.kind !== "stream") throw new Error("it is not done");
  return Array.fromAsync(read.events);
}

const frames = (...payloads: object[]): string =>
  [": OPENROUTER PROCESSING", ...payloads.map((payload) => `data: ${JSON.stringify(payload)}`)]
    .map((line) => `${line}\n\n`)
    .join("");

const partial = (at: number) => ({
  type: "image_generation.partial_image",
  b64_json: `partial image ${at}`,
  partial_image_index: at,
});
const completed = (name: string, usage?: object) => ({
  type: "image_generation.completed",
  b64_json: name,
  created: 1_748_372_400,
  ...(usage && { usage }),
});
const usage = { prompt_tokens: 10, completion_tokens: 90, total_tokens: 100, cost: 0.25 };

test("markup of an edit goes to gpt-image-2.6, and to no model that would ignore it", () => {
  const { edits, imageCapabilities } = openrouter.adapter;
  const takesMarkup = (model: string) =>
    imageCapabilities?.({ ...target, model }, "edits").edits?.markup === true;
  expect(takesMarkup("openai/gpt-image-2.6-flare")).toBe(true);
  for (const model of ["openai/gpt-image-2.5-flare", "google/gemini-2.5-flash-image"])
    expect(takesMarkup(model)).toBe(false);
  const markup = { kind: "url", url: "https://example.com/arrow.png" } as const;
  const image = { kind: "url", url: "https://example.com/otter.png" } as const;
  const { body } = edits?.toUpstream({ ...edit(image), markup }, target) ?? {};
  const reference = ({ url }: { url: string }) => ({ type: "image_url", image_url: { url } });
  expect(JSON.parse(String(body))).toMatchObject({
    input_references: [reference(image)],
    markup: reference(markup),
  });
});

describe("the request to OpenRouter", () => {
  const sent = (model: string, more: Partial<GenerationQuery>): Record<string, unknown> =>
    JSON.parse(generations?.toUpstream(query(more), { ...target, model }).body as string);
  const takes = (model: string) =>
    openrouter.adapter.imageCapabilities?.({ ...target, model }, "generations").takes;

  test("has OpenAI's two highest quality tiers for gpt-image-2.5, and not for earlier models", () => {
    expect(takes("openai/gpt-image-2.5-sunburst")?.quality).toContain("xhigh");
    expect(takes("openai/gpt-image-2.6-flare")?.quality).toContain("max");
    for (const model of ["openai/gpt-image-1.5", "openai/gpt-image-2", "openai/gpt-5.4-image-2"]) {
      expect(takes(model)?.quality).toEqual(["low", "medium", "high"]);
    }
    const body = sent("openai/gpt-image-2.5-sunburst", { options: { quality: "max", user: "u" } });
    expect(body).toMatchObject({ quality: "max", user: "u" });
  });

  test("has 4K for a large image of a Google model, or the resolution in the client's own field", () => {
    const large = { aspectRatio: "16:9", requestedSize: "4096x2304" };
    const model = "google/gemini-nano-banana-2.1";
    expect(sent(model, large)).toMatchObject({ aspect_ratio: "16:9", resolution: "4K" });
    expect(sent(model, { ...large, extraFields: { resolution: "2K" } }).resolution).toBe("2K");
    expect(
      sent(model, { aspectRatio: "16:9", requestedSize: "1024x576" }).resolution,
    ).toBeUndefined();
    expect(sent("google/gemini-2.5-flash-image", large).resolution).toBeUndefined();
  });

  test("has svg for a vectorization model", () => {
    expect(takes("quiver/arrow-2")?.output_format).toEqual(["svg"]);
  });
});

describe("a stream", () => {
  const stream = (...payloads: object[]) => read(frames(...payloads), "text/event-stream");

  test("yields at most the requested partial images, then the image with its usage and cost", async () => {
    const events = await stream(partial(0), partial(1), partial(2), completed("image", usage));
    expect(events).toEqual([
      { type: "partial", image: { kind: "base64", base64: "partial image 0" }, index: 0 },
      {
        type: "buffered",
        response: {
          kind: "buffered",
          results: [{ image: { kind: "base64", base64: "image" } }],
          metadata: {},
          usage: { total_tokens: 100, input_tokens: 10, output_tokens: 90 },
          cost: 0.25,
        },
      },
    ]);
  });

  test("reports the cost of all images, or none", async () => {
    const costOf = ([event]: readonly ImageEvent[]) =>
      event?.type === "buffered" ? event.response.cost : "no image";
    expect(costOf(await stream(completed("a", usage), completed("b", usage)))).toBe(0.5);
    expect(costOf(await stream(completed("a", usage), completed("b")))).toBeUndefined();
  });

  test("that ends without an image is an invalid response", async () => {
    expect((await errorKindOf(() => stream(partial(0))))?.kind).toBe("upstream_invalid");
  });

  test("that ends early reports the reason", async () => {
    const error = (code: unknown) => ({ type: "error", error: { code, message: "no" } });
    expect((await errorKindOf(() => stream(partial(0), error("moderation_blocked"))))?.kind).toBe(
      "moderation_blocked",
    );
    expect((await errorKindOf(() => stream(error(429))))?.kind).toBe("upstream_rate_limit");
    expect((await errorKindOf(() => stream(error(undefined))))?.kind).toBe("upstream_error");
  });
});

describe("a response with status 200", () => {
  const response = (body: object) => read(JSON.stringify(body), "application/json");

  test("may contain an error, which is mapped like an error status", async () => {
    const error = (code: number, metadata?: object) => ({
      error: { code, message: "Provider returned error", metadata },
    });
    expect((await errorKindOf(() => response(error(502))))?.kind).toBe("upstream_error");
    expect((await errorKindOf(() => response(error(529))))?.kind).toBe("upstream_overloaded");
    expect((await errorKindOf(() => response(error(403, { reasons: ["violence"] }))))?.kind).toBe(
      "moderation_blocked",
    );
  });

  test("that counts no tokens has no usage, but it has its cost", async () => {
    const none = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, cost: 0.04 };
    const [event] = await response({ created: 1, data: [{ b64_json: "image" }], usage: none });
    expect(event).toMatchObject({ response: { cost: 0.04 } });
    expect(event).not.toHaveProperty("response.usage");
  });
});
