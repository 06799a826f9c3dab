/** A billed image that the gateway cannot convert is delivered as the upstream sent it. */
import { describe, expect, test } from "bun:test";
import type { ErrorKind } from "../../contract/errors.ts";
import type { PostProcessing } from "../../server/images/plan/image-plan.ts";
import { type PostProcessTools, postProcess } from "../../server/images/post-process.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import type { ImageContent, ImageEvent } from "../../server/upstream/contract.ts";
import { fullQueueError } from "../../server/workers/process/worker-process.ts";
import { base64Of, grayImage } from "../conformance/arrange.ts";
import { encodeImage } from "../fake-upstream/fake-image.ts";

const png = { kind: "base64", base64: base64Of(grayImage("an otter")) } as const;

/** Post-processes an image whose conversion fails with `error`. */
async function convertWith(
  error: unknown,
  postProcessing: PostProcessing,
  { image = png, isStream = false }: { image?: ImageContent; isStream?: boolean } = {},
) {
  const reported = {
    adapted: [] as string[],
    dropped: [] as string[],
    unconverted: [] as string[],
  };
  const tools: PostProcessTools = {
    download: () => Promise.reject(error),
    convert: () => Promise.reject(error),
    isPrivate: () => false,
    onFailure: () => undefined,
    onUnconverted: ({ kind }) => reported.unconverted.push(kind),
    onAdapted: (name) => reported.adapted.push(name),
    onDropped: (name) => reported.dropped.push(name),
    onUnusable: () => undefined,
  };
  async function* events(): AsyncGenerator<ImageEvent> {
    if (image.kind !== "url") yield { type: "completed", image };
  }
  const response = await postProcess(
    isStream
      ? { kind: "stream", events: events() }
      : { kind: "buffered", results: [{ image }], metadata: {} },
    { postProcessing, stream: isStream, maxImages: 1, requested: {} },
    tools,
  );
  return { response, reported };
}

const failures: readonly [string, GatewayError][] = [
  ["the image worker has died", new GatewayError("overloaded", "ended")],
  ["the image worker has taken too long", new GatewayError("overloaded", "60 seconds")],
  ["the queue of the image worker is full", fullQueueError("full")],
  ["the converted image cannot be written", new GatewayError("storage_unavailable", "disk full")],
  ["the request has timed out", new GatewayError("upstream_timeout", "600 s")],
  ["the gateway shuts down", new GatewayError("shutting_down", "closing")],
];

describe("a paid image is delivered as the upstream sent it when", () => {
  test.each(failures)("%s", async (_, error) => {
    const { response, reported } = await convertWith(error, { format: "webp", compression: 50 });
    expect(response).toMatchObject({
      results: [{ image: png }],
      metadata: { output_format: "png" },
    });
    expect(reported).toEqual({
      adapted: [],
      dropped: ["output_format", "output_compression"],
      unconverted: [error.kind],
    });
  });

  test.each(failures)("a stream ends with it and %s", async (_, error) => {
    const { response } = await convertWith(error, { format: "jpeg" }, { isStream: true });
    if (response.kind !== "stream") throw new Error("it was a stream");
    expect(await Array.fromAsync(response.events)).toMatchObject([
      { type: "completed", image: png, output_format: "png" },
    ]);
  });
});

test("a paid image that could not be flattened is delivered, and its background is reported as dropped", async () => {
  const shape = { width: 16, height: 16, shade: 90, format: "png", transparent: true } as const;
  const image = { kind: "base64", base64: base64Of(encodeImage(shape)) } as const;
  const ended = new GatewayError("overloaded", "ended");
  const { response, reported } = await convertWith(ended, { opaque: true }, { image });
  expect(response).toMatchObject({ results: [{ image }] });
  expect(reported.dropped).toEqual(["background"]);
});

test("a paid image whose download finds no space on disk is delivered as the upstream's link", async () => {
  const image = { kind: "url", url: "https://cdn.example.com/x.png" } as const;
  const full = new GatewayError("storage_unavailable", "disk full");
  const { response, reported } = await convertWith(full, { format: "webp" }, { image });
  expect(response).toMatchObject({ results: [{ image }] });
  expect(reported.dropped).toEqual(["output_format"]);
});

test("an image that is not valid is not delivered", async () => {
  const invalid = new GatewayError("upstream_invalid", "no image");
  expect(convertWith(invalid, { format: "webp" })).rejects.toMatchObject({
    kind: "upstream_invalid",
  });
});

const kinds: readonly ErrorKind[] = [
  "overloaded",
  "storage_unavailable",
  "shutting_down",
  "upstream_unreachable",
  "upstream_invalid",
];

test.each(kinds)(
  "after the upstream has generated, the error %s may have been billed",
  async (kind) => {
    const image = { kind: "url", url: "https://cdn.example.com/x.png" } as const;
    const unsent = new GatewayError(kind, "no", {
      notSent: true,
      notBilled: true,
      notExecuted: true,
    });
    const failed = convertWith(unsent, { deliverAs: "b64_json" }, { image });
    const error = await failed.then(
      () => undefined,
      (thrown: GatewayError) => thrown,
    );
    expect(error).toMatchObject({ kind, details: { mayBeBilled: true } });
    expect(Object.keys(error?.details ?? {})).toEqual(["mayBeBilled"]);
  },
);
