/** Laws: a client that requests a stream gets one, whether the vendor streams or not. */
import { expect } from "bun:test";
import type OpenAI from "openai";
import { askStream, type Events } from "../ask.ts";
import type { Operation } from "../house.ts";
import type { PictureLaws } from "./law.ts";
import { expectFacts, hashOf } from "./truth.ts";

type StreamEvent = OpenAI.ImageGenStreamEvent;

const familyOf = (operation: Operation): string =>
  operation === "generations" ? "image_generation" : "image_edit";

const bytesOf = ({ b64_json }: StreamEvent): Uint8Array => Buffer.from(b64_json, "base64");

/** All that OpenAI's schema requires, but for the usage: what a vendor does not tell is not made up. */
const required = [
  ...["type", "b64_json", "created_at", "size", "quality", "background", "output_format"],
] as const;

function expectEvent(event: StreamEvent): void {
  const { created_at, size, output_format } = event;
  expect(Object.keys(event)).toEqual(expect.arrayContaining([...required]));
  expect(created_at).toBeGreaterThan(1_000_000_000);
  expect(created_at).toBeLessThan(4_000_000_000);
  expectFacts({ size, output_format }, [bytesOf(event)]);
}

/** Those of the last kind, each with all that belongs to it. */
function completedIn({ events, status, headers, text }: Events, operation: Operation) {
  expect(status, text.slice(0, 500)).toBe(200);
  expect(headers.get("content-type")).toStartWith("text/event-stream");
  const completed = events.filter(({ type }) => type === `${familyOf(operation)}.completed`);
  for (const event of completed) expectEvent(event);
  return completed;
}

export const streaming: PictureLaws = {
  "a stream without previews ends each picture with one event": {
    holds: async (place, operation) => {
      const { studio } = place.served;
      const outcome = await askStream(place, operation, { partial_images: 0, n: 2 });
      const completed = completedIn(outcome, operation);
      expect(outcome.events).toHaveLength(2);
      expect(new Set(completed.map(bytesOf).map(hashOf))).toEqual(
        new Set(studio.pictures.map(hashOf)),
      );
      expect(completed).toHaveLength(2);
      expect(outcome.row).toMatchObject({ status: 200, error: null, images: 2 });
    },
  },

  "a stream with previews shows at most as many as were asked for, and then the picture": {
    holds: async (place, operation) => {
      const { studio } = place.served;
      const outcome = await askStream(place, operation, { partial_images: 2 });
      const completed = completedIn(outcome, operation);
      expect(completed.map(bytesOf).map(hashOf)).toEqual(studio.pictures.map(hashOf));
      expect(outcome.events.at(-1)).toEqual(completed[0] as StreamEvent);
      const previews = outcome.events.slice(0, -1);
      expect(previews.length).toBeLessThanOrEqual(2);
      for (const [at, preview] of previews.entries()) {
        expect(preview.type).toBe(`${familyOf(operation)}.partial_image` as StreamEvent["type"]);
        expect(preview).toMatchObject({ partial_image_index: at });
        expectEvent(preview);
      }
      expect(outcome.row).toMatchObject({ status: 200, error: null, images: 1 });
    },
  },
};
