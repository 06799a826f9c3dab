/** Image streams with the official SDK, read to their end. */

import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { APIError, toFile } from "openai";
import { fakeImage } from "../fake-upstream.ts";
import { configFor } from "../harness.ts";
import { until } from "../until.ts";
import { arrange, base64Of, grayImage } from "./arrange.ts";

const { fake, gateway, client, close } = arrange({
  yaml: (url) => configFor(url, " onDisconnect: cancel,"),
});
beforeEach(() => fake.clear());
afterAll(close);

const big = { format: "png", width: 1024, height: 1024 } as const;
const image = (prompt: string, stage?: string, at = 0): string =>
  base64Of(fakeImage(prompt, at, big, stage));

const generate = (options: { partial_images?: number; n?: number }) =>
  client.images.generate({ model: "gpt-image-2", prompt: "an otter", stream: true, ...options });

async function gather<T>(events: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const event of events) all.push(event);
  return all;
}

describe("a stream of the official client", () => {
  test("of generate has the partial images and then the final one", async () => {
    const stream = await generate({ partial_images: 2 });
    const events = await gather(stream);
    const metadata = {
      created_at: expect.any(Number),
      size: "1024x1024",
      quality: "medium",
      background: "opaque",
      output_format: "png",
    };
    const partial = (index: number) => ({
      type: "image_generation.partial_image",
      b64_json: image("an otter", `partial ${index}`),
      partial_image_index: index,
      ...metadata,
    });
    const completed = {
      type: "image_generation.completed",
      b64_json: image("an otter"),
      usage: {
        total_tokens: 1058,
        input_tokens: 2,
        output_tokens: 1056,
        input_tokens_details: { text_tokens: 2, image_tokens: 0 },
      },
      ...metadata,
    };
    expect(events).toEqual([partial(0), partial(1), completed] as never);
    expect(fake.requests[0]!.json).toMatchObject({ stream: true, partial_images: 2 });
    expect(gateway.rows().at(-1)).toMatchObject({
      status: 200,
      error: null,
      inputTokens: 2,
      outputTokens: 1056,
      images: 1,
    });
  });

  test("of edit has the partial images and then the final one", async () => {
    const stream = await client.images.edit({
      model: "gpt-image-2",
      prompt: "add a hat",
      image: await toFile(grayImage("one"), "otter.png"),
      stream: true,
      partial_images: 1,
    });
    const events = await gather(stream);
    expect(events.map(({ type, b64_json }) => [type, b64_json])).toEqual([
      ["image_edit.partial_image", image("add a hat", "partial 0")],
      ["image_edit.completed", image("add a hat")],
    ]);
    const parts = Object.fromEntries(
      (fake.requests[0]!.form ?? []).map(({ field, value }) => [field, value]),
    );
    expect(parts).toMatchObject({ stream: "true", partial_images: "1" });
    expect(gateway.rows().at(-1)).toMatchObject({ endpoint: "edits", status: 200, images: 1 });
  });

  test("of two images counts both images and their usage", async () => {
    const stream = await generate({ n: 2 });
    const events = await gather(stream);
    expect(events.map(({ b64_json }) => b64_json)).toEqual([
      image("an otter"),
      image("an otter", "final", 1),
    ]);
    expect(gateway.rows().at(-1)).toMatchObject({ images: 2, outputTokens: 2 * 1056 });
  });

  test("delivers each image as soon as it arrives", async () => {
    fake.script({ eventDelayMs: 400 });
    const stream = await generate({ partial_images: 2 });
    const times: number[] = [];
    for await (const _ of stream) times.push(performance.now());
    expect(times).toHaveLength(3);
    // The last event waits for the ledger row, the first for nothing.
    expect(times[2]! - times[0]!).toBeGreaterThan(400);
  });

  test.each(["crlf", "done"] as const)(
    "is the same with an upstream's variant %s",
    async (stream) => {
      fake.script({ stream });
      const events = await gather(await generate({ partial_images: 1 }));
      expect(events.map(({ type, b64_json }) => [type, b64_json])).toEqual([
        ["image_generation.partial_image", image("an otter", "partial 0")],
        ["image_generation.completed", image("an otter")],
      ]);
    },
  );

  test("that breaks is an APIError after the events before it", async () => {
    fake.script({ stream: "error" });
    const stream = await generate({ partial_images: 1 });
    const eventTypes: string[] = [];
    let thrown: unknown;
    try {
      for await (const { type } of stream) eventTypes.push(type);
    } catch (error) {
      thrown = error;
    }
    expect(eventTypes).toEqual(["image_generation.partial_image"]);
    expect(thrown).toBeInstanceOf(APIError);
    expect(thrown).toMatchObject({ code: "upstream_error", type: "server_error" });
  });

  test("that the client cancels is canceled at the upstream too", async () => {
    fake.script({ eventDelayMs: 5_000 });
    const stream = await generate({ partial_images: 2 });
    for await (const _ of stream) break;
    await until(() => fake.requests[0]!.aborted);
    await until(() => gateway.rows().at(-1)?.error === "client_closed");
  });
});
