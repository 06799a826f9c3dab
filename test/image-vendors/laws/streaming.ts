/** Laws: a client that requests a stream gets one, whether the vendor streams or not. */
import { expect } from "bun:test";
import type OpenAI from "openai";
import { responseShape, stepCount } from "../golden.ts";
import type { FakeVendor } from "../image-vendor.ts";
import { capabilitiesOf, type Operation } from "../law-gateway.ts";
import { type Events, sendStreaming } from "../send-request.ts";
import { expectMetadata, hashOf } from "./expect-response.ts";
import type { ImageLaws } from "./law.ts";

type StreamEvent = OpenAI.ImageGenStreamEvent;

const familyOf = (operation: Operation): string =>
  operation === "generations" ? "image_generation" : "image_edit";

const bytesOf = ({ b64_json }: StreamEvent): Uint8Array => Buffer.from(b64_json, "base64");

/** The members that OpenAI's schema requires, except `usage`, which some vendors do not report. */
const required = [
  "type",
  "b64_json",
  "created_at",
  "size",
  "quality",
  "background",
  "output_format",
] as const;

function expectEvent(event: StreamEvent): void {
  const { created_at, size, output_format } = event;
  expect(Object.keys(event)).toEqual(expect.arrayContaining([...required]));
  expect(created_at).toBeGreaterThan(1_000_000_000);
  expect(created_at).toBeLessThan(4_000_000_000);
  expectMetadata({ size, output_format }, [bytesOf(event)]);
}

/** The completed events, each checked. */
function completedIn({ events, status, headers, text }: Events, operation: Operation) {
  expect(status, text.slice(0, 500)).toBe(200);
  expect(headers.get("content-type")).toStartWith("text/event-stream");
  const completed = events.filter(({ type }) => type === `${familyOf(operation)}.completed`);
  for (const event of completed) expectEvent(event);
  return completed;
}

/**
 * Equal for models of one adapter that stream, and whose responses have the same shape. For a model that does not, the
 * gateway makes the events from the images, after one request for all of them or one for each, whatever the vendor.
 */
function streamShape(vendor: FakeVendor, operation: Operation): string {
  const { streams, maxImages } = capabilitiesOf(vendor, "http://127.0.0.1", operation);
  return streams
    ? responseShape(vendor, operation)
    : `by the gateway, ${operation}, ${maxImages > 1}, ${stepCount(vendor, operation)} steps`;
}

export const streaming: ImageLaws = {
  "a stream without partial images has one event for each image": {
    alike: streamShape,
    holds: async (context, operation) => {
      const { generator } = context.fake;
      const outcome = await sendStreaming(context, operation, { partial_images: 0, n: 2 });
      const completed = completedIn(outcome, operation);
      expect(outcome.events).toHaveLength(2);
      expect(new Set(completed.map(bytesOf).map(hashOf))).toEqual(
        new Set(generator.images.map(hashOf)),
      );
      expect(completed).toHaveLength(2);
      expect(outcome.row).toMatchObject({ status: 200, error: null, images: 2 });
    },
  },

  "a stream with partial images has at most the requested number of them, then the image": {
    alike: streamShape,
    holds: async (context, operation) => {
      const { generator } = context.fake;
      const outcome = await sendStreaming(context, operation, { partial_images: 2 });
      const completed = completedIn(outcome, operation);
      expect(completed.map(bytesOf).map(hashOf)).toEqual(generator.images.map(hashOf));
      expect(outcome.events.at(-1)).toEqual(completed[0] as StreamEvent);
      const partialImages = outcome.events.slice(0, -1);
      expect(partialImages.length).toBeLessThanOrEqual(2);
      for (const [at, partialImage] of partialImages.entries()) {
        expect(partialImage.type).toBe(
          `${familyOf(operation)}.partial_image` as StreamEvent["type"],
        );
        expect(partialImage).toMatchObject({ partial_image_index: at });
        expectEvent(partialImage);
      }
      expect(outcome.row).toMatchObject({ status: 200, error: null, images: 1 });
    },
  },
};
