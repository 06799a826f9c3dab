/** Guarantees of streams and aborts. */
import { describe, expect, test } from "bun:test";
import sharp from "sharp";
import { draw, type SketchEvent } from "../src/index.ts";
import {
  apart,
  collect,
  editRequest,
  fromBytes,
  generate,
  maskWith,
  photo,
  pixelsOf,
  stream,
} from "./fixture.ts";

const small = { size: "96x96" };
const times = <T>(count: number, value: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => value(index));
const typesOf = (events: readonly SketchEvent[]): string[] => events.map(({ type }) => type);

describe("partial images come before the completed image", () => {
  for (const partial_images of [0, 1, 2, 3]) {
    test(`${partial_images} partial images are sent if requested`, async () => {
      const events = await stream("a fox in the forest", { ...small, partial_images });
      expect(typesOf(events)).toEqual([...times(partial_images, () => "partial"), "completed"]);
      const indexes = events.flatMap((event) => (event.type === "partial" ? [event.index] : []));
      expect(indexes).toEqual(times(partial_images, (index) => index));
      for (const event of events) {
        expect(event).toMatchObject({
          size: "96x96",
          quality: "medium",
          background: "opaque",
          output_format: "png",
        });
      }
    });
  }

  test("later partial images are closer to the completed image", async () => {
    const events = await stream("a castle by a lake at sunset", { ...small, partial_images: 3 });
    const images = await Promise.all(events.map(({ bytes }) => pixelsOf(bytes)));
    const last = images.at(-1);
    if (last === undefined) throw new Error("no image came back");
    const distances = images.slice(0, -1).map((image) => apart(image, last));
    expect(distances[2]).toBeGreaterThan(0);
    expect(distances[0]).toBeGreaterThan(distances[2] ?? 0);
  });

  test("the completed image equals the image of a request that is not streamed", async () => {
    const [event] = await stream("a fox", small);
    expect(event).toEqual((await generate("a fox", small)).images[0]!);
  });

  test("n images are sent one after another, and their usage adds up", async () => {
    const events = await stream("a fox", { ...small, n: 2, partial_images: 1 });
    expect(typesOf(events)).toEqual(["partial", "completed", "partial", "completed"]);
    const usage = events.flatMap((event) => (event.type === "completed" ? [event.usage] : []));
    expect(usage.map((one) => [one.input_tokens, one.output_tokens, one.total_tokens])).toEqual([
      [2, 109, 111],
      [0, 109, 109],
    ]);
  });

  describe("edits emit the requested number of partial images for every prompt, and none equals the completed image", () => {
    const size = { width: 120, height: 90 };
    const cases: readonly [prompt: string, mask: boolean][] = [
      ["two cats at night, watercolour", false],
      ["make it warmer", false],
      ["watercolour", false],
      ["frobnicate", false],
      ["a red balloon", true],
      ["remove it", true],
      ["add a dog", true],
    ];
    test.each(cases)("%s (mask: %p)", async (prompt, withMask) => {
      const image = await photo(size.width, size.height);
      const mask = await maskWith(size, { left: 30, top: 20, width: 50, height: 40 });
      for (const partial_images of [0, 1, 2, 3]) {
        const events = await collect(
          editRequest(prompt, [fromBytes(image)], {
            ...(withMask && { mask }),
            options: { partial_images },
            stream: true,
          }),
        );
        expect(typesOf(events)).toEqual([...times(partial_images, () => "partial"), "completed"]);
        const images = await Promise.all(events.map(({ bytes }) => pixelsOf(bytes)));
        const last = images.at(-1)!;
        for (const [at, partial] of images.slice(0, -1).entries()) {
          expect(apart(partial, last)).toBeGreaterThan(0);
          expect(apart(partial, images[at + 1]!)).toBeGreaterThan(0);
          // The corner is outside of the mask.
          if (withMask) expect([...partial.rgba.slice(0, 4)]).toEqual([...last.rgba.slice(0, 4)]);
        }
      }
    });

    test("an image of a single color gets its partial images too", async () => {
      const plain = await sharp({ create: { ...size, channels: 3, background: "#ffffff" } })
        .png()
        .toBuffer();
      const events = await collect(
        editRequest("flat", [fromBytes(plain)], { options: { partial_images: 3 }, stream: true }),
      );
      expect(events).toHaveLength(4);
      expect(new Set(events.map(({ bytes }) => Buffer.from(bytes).toString("hex"))).size).toBe(4);
    });
  });

  test("jpeg and webp are streamed in their format", async () => {
    const signatures = { jpeg: "ffd8", webp: Buffer.from("WEBP").toString("hex") } as const;
    for (const output_format of ["jpeg", "webp"] as const) {
      const [event] = await stream("a fox", { ...small, output_format });
      expect(event?.output_format).toBe(output_format);
      const start = output_format === "jpeg" ? 0 : 8;
      const bytes = Buffer.from(event?.bytes ?? []);
      expect(bytes.toString("hex", start)).toStartWith(signatures[output_format]);
    }
  });
});

describe("an abort", () => {
  const reason = new Error("the client left");
  const thrownBy = async (work: Promise<unknown>): Promise<unknown> => {
    try {
      await work;
    } catch (error) {
      return error;
    }
    throw new Error("the request was not aborted");
  };

  test("before the request starts, nothing is drawn, and the stream throws the abort reason", async () => {
    const request = { prompt: "a cat", options: small };
    expect(await thrownBy(collect(request, AbortSignal.abort(reason)))).toBe(reason);
  });

  test("between two events ends the stream with the abort reason", async () => {
    const controller = new AbortController();
    const options = { ...small, partial_images: 3 };
    const eventTypes: string[] = [];
    const reading = async (): Promise<void> => {
      for await (const event of draw(
        { prompt: "a fox", options, stream: true },
        controller.signal,
      )) {
        eventTypes.push(event.type);
        controller.abort(reason);
      }
    };
    expect(await thrownBy(reading())).toBe(reason);
    expect(eventTypes).toEqual(["partial"]);
  });
});

test("an invalid option is refused before the first event is requested", () => {
  const request = { prompt: "a fox", options: { size: "1x1" } };
  expect(() => draw(request, new AbortController().signal)).toThrow("Invalid size '1x1'.");
});
