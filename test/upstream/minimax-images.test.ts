/** MiniMax images: cases that the laws for all vendors do not cover. */
import { expect, test } from "bun:test";
import { minimax } from "../../server/upstream/adapters/minimax.ts";
import { query, targetOf } from "./image-adapter-fixture.ts";

const { adapter } = minimax;

const wanted = query({
  stream: true,
  options: { size: "1536x1024", n: 2 },
  extraFields: { seed: 42 },
});

test("the first model gets requests in its native format", () => {
  const { url, body } = adapter.generations!.toUpstream(wanted, targetOf("minimax", "image-01"));
  expect(url).toBe("https://api.minimax.io/v1/image_generation");
  expect(JSON.parse(body as string)).toEqual({
    seed: 42,
    model: "image-01",
    prompt: "an otter",
    width: 1536,
    height: 1024,
    n: 2,
    response_format: "base64",
  });
});

test("later models get OpenAI's format, and never a stream, whose format is another", () => {
  const target = targetOf("minimax", "MiniMax-H3-Image");
  const { url, body } = adapter.generations!.toUpstream(wanted, target);
  expect(url).toBe("https://api.minimax.io/v1/images/generations");
  expect(JSON.parse(body as string)).toEqual({
    seed: 42,
    size: "1536x1024",
    n: 2,
    model: "MiniMax-H3-Image",
    prompt: "an otter",
  });
});

test("a model that only uses a face as reference has no edit capability", () => {
  expect(
    adapter.imageCapabilities?.(targetOf("minimax", "image-01"), "edits").edits,
  ).toBeUndefined();
  expect(
    adapter.imageCapabilities?.(targetOf("minimax", "MiniMax-H3-Image"), "edits").edits?.maxImages,
  ).toBe(16);
});
