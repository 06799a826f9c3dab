/** Promises of the drawing program about streams, callers that leave, and too many callers. */
import { describe, expect, test } from "bun:test";
import sharp from "sharp";
import { GatewayError } from "../../server/std/gateway-error.ts";
import type { ImageFrame } from "../../server/upstream/contract.ts";
import { sketch } from "../../server/upstream/local/sketch/sketch.ts";
import { createTurns } from "../../server/upstream/local/turns.ts";
import {
  apart,
  bytesOf,
  collect,
  draw,
  drawing,
  editing,
  fromFile,
  maskWith,
  type Pixels,
  photo,
  pixelsOf,
  refusal,
  target,
} from "./sketch-fixture.ts";

const small = { size: "96x96" };
/** Of what the drawing program gives, which is bytes. */
const base64Of = ({ image }: ImageFrame): string =>
  Buffer.from((image as { bytes: Uint8Array }).bytes).toString("base64");
const decode = (base64: string) => pixelsOf(Buffer.from(base64, "base64"));

describe("partials come before completed", () => {
  for (const partial_images of [0, 1, 2, 3]) {
    test(`${partial_images} of them`, async () => {
      const events = await collect(drawing("a fox in the forest", { ...small, partial_images }));
      expect(events.map((event) => event.type)).toEqual([
        ...Array.from({ length: partial_images }, () => "partial" as const),
        "completed",
      ]);
      expect(events.slice(0, -1).map((event) => event.index)).toEqual(
        Array.from({ length: partial_images }, (_, i) => i),
      );
      for (const event of events)
        expect(event).toMatchObject({
          size: "96x96",
          quality: "medium",
          background: "opaque",
          output_format: "png",
        });
    });
  }

  test("each partial is a picture nearer to the last", async () => {
    const events = await collect(
      drawing("a castle by a lake at sunset", { ...small, partial_images: 3 }),
    );
    const pictures = await Promise.all(events.map((event) => decode(base64Of(event))));
    const last = pictures.at(-1);
    if (last === undefined) throw new Error("no picture");
    const away = pictures.slice(0, -1).map((picture) => apart(picture, last));
    expect(away[2]).toBeGreaterThan(0);
    expect(away[0]).toBeGreaterThan(away[2] ?? 0);
  });

  test("the completed picture is the one a plain call gives", async () => {
    const [event] = await collect(drawing("a fox", small));
    expect(event && base64Of(event)).toBe(
      Buffer.from(bytesOf(await draw("a fox", small))).toString("base64"),
    );
    expect(event?.usage).toEqual((await draw("a fox", small)).usage);
  });

  test("with n pictures they come one after another, and their usage adds up", async () => {
    const events = await collect(drawing("a fox", { ...small, n: 2, partial_images: 1 }));
    expect(events.map((event) => event.type)).toEqual([
      "partial",
      "completed",
      "partial",
      "completed",
    ]);
    const usage = events.flatMap((event) => event.usage ?? []);
    expect(usage.map((one) => [one.input_tokens, one.output_tokens, one.total_tokens])).toEqual([
      [2, 109, 111],
      [0, 109, 109],
    ]);
  });

  describe("edits stream too: as many as asked for, whatever the words, and none of them is the last", () => {
    const size = { width: 120, height: 90 };
    const masked = () => maskWith(size, { left: 30, top: 20, width: 50, height: 40 });
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
      for (const partial_images of [0, 1, 2, 3]) {
        const query = editing(prompt, [fromFile(image)], {
          ...(withMask && { mask: await masked() }),
          options: { partial_images },
          stream: true,
        });
        const reply = await sketch.edits(query, target, new AbortController().signal);
        const pictures: Pixels[] = [];
        const types: string[] = [];
        if (reply.kind === "stream")
          for await (const event of reply.events) {
            types.push(event.type);
            if (event.type !== "whole") pictures.push(await decode(base64Of(event)));
          }
        const partials = Array.from({ length: partial_images }, () => "partial");
        expect(types).toEqual([...partials, "completed"]);
        const last = pictures.at(-1)!;
        for (const [at, picture] of pictures.slice(0, -1).entries()) {
          expect(apart(picture, last)).toBeGreaterThan(0);
          expect(apart(picture, pictures[at + 1]!)).toBeGreaterThan(0);
          // The corner is outside the mask.
          if (withMask) expect([...picture.rgba.slice(0, 4)]).toEqual([...last.rgba.slice(0, 4)]);
        }
      }
    });

    test("also of a picture that is one colour throughout", async () => {
      const plain = await sharp({
        create: { ...size, channels: 3, background: "#ffffff" },
      })
        .png()
        .toBuffer();
      const query = editing("flat", [fromFile(plain)], {
        options: { partial_images: 3 },
        stream: true,
      });
      const reply = await sketch.edits(query, target, new AbortController().signal);
      const seen: string[] = [];
      if (reply.kind === "stream")
        for await (const event of reply.events)
          if (event.type !== "whole") seen.push(base64Of(event));
      expect(seen).toHaveLength(4);
      expect(new Set(seen).size).toBe(4);
    });
  });

  test("jpeg and webp are streamed as such", async () => {
    for (const output_format of ["jpeg", "webp"]) {
      const [event] = await collect(drawing("a fox", { ...small, output_format }));
      expect(event?.output_format).toBe(output_format);
      const head = Buffer.from(event ? base64Of(event) : "", "base64");
      expect(
        output_format === "jpeg"
          ? head.subarray(0, 2).toString("hex")
          : head.subarray(8, 12).toString(),
      ).toBe(output_format === "jpeg" ? "ffd8" : "WEBP");
    }
  });
});

describe("a caller that leaves", () => {
  test("before the call: nothing is drawn", async () => {
    const error = await refusal(() =>
      sketch.generations(drawing("a cat", small), target, AbortSignal.abort()),
    );
    expect(error.fault).toBe("client_closed");
  });

  test("in the middle of a long filter: it stops soon", async () => {
    const leave = new AbortController();
    const query = drawing("a fox, oil painting", { size: "3840x2160" });
    const asked = refusal(() => sketch.generations(query, target, leave.signal));
    setTimeout(() => leave.abort(), 60);
    const started = performance.now();
    expect((await asked).fault).toBe("client_closed");
    expect(performance.now() - started).toBeLessThan(5000);
  });

  test("between two events: the stream ends with the reason", async () => {
    const leave = new AbortController();
    const reply = await sketch.generations(
      { ...drawing("a fox", { ...small, partial_images: 3 }), stream: true },
      target,
      leave.signal,
    );
    const seen: string[] = [];
    const error = await refusal(async () => {
      if (reply.kind !== "stream") return;
      for await (const event of reply.events) {
        seen.push(event.type);
        leave.abort(new GatewayError("shutting_down", "The gateway is stopping."));
      }
    });
    expect([seen, error.fault]).toEqual([["partial"], "shutting_down"]);
  });
});

describe("turns", () => {
  const wait = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));
  const patient = new AbortController().signal;

  test("run so many at a time, let so many wait, and turn the rest away", async () => {
    const { run } = createTurns({ maxRunning: 2, maxWaiting: 3, who: "It" });
    let [now, most] = [0, 0];
    const work = async (): Promise<void> => {
      now += 1;
      most = Math.max(most, now);
      await wait(5);
      now -= 1;
    };
    const outcomes = await Promise.allSettled(
      Array.from({ length: 8 }, () => run({ signal: patient }, work)),
    );
    const refused = outcomes.flatMap((one) =>
      one.status === "rejected" ? [one.reason as unknown] : [],
    );
    expect([most, now, refused.length]).toEqual([2, 0, 3]);
    for (const reason of refused) expect(reason).toMatchObject({ fault: "overloaded" });
    expect(await run({ signal: patient }, async () => "free again")).toBe("free again");
  });

  test("who leaves the queue leaves no gap behind", async () => {
    const { run } = createTurns({ maxRunning: 1, maxWaiting: 2, who: "It" });
    const leave = new AbortController();
    const first = run({ signal: patient }, () => wait(10));
    const second = run({ signal: leave.signal }, async () => "never");
    const third = run({ signal: patient }, async () => "third");
    leave.abort();
    const gone = await refusal(() => second);
    expect([gone.fault, await third]).toEqual(["client_closed", "third"]);
    await first;
  });

  test("a failure gives its place back", async () => {
    const { run } = createTurns({ maxRunning: 1, maxWaiting: 1, who: "It" });
    await expect(run({ signal: patient }, () => Promise.reject(new Error("no")))).rejects.toThrow(
      "no",
    );
    expect(await run({ signal: patient }, async () => 1)).toBe(1);
  });
});
