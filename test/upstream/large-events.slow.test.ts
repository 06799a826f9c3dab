/** Streams with images are read chunk by chunk and decoded exactly, wherever the chunks are split. */

import { afterAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { stringifyStreamed, wrapJson } from "../../server/lib/json-stream.ts";
import { createRequestTemp, MemoryBudget } from "../../server/temp-storage/request-temp.ts";
import { LongText } from "../../server/upstream/adapters/wire/document.ts";
import { loadedImageIn } from "../../server/upstream/adapters/wire/image-list.ts";
import { readImageStream } from "../../server/upstream/adapters/wire/image-stream.ts";
import { tries } from "../depth.ts";
import { startGateway, temporaryFolder, testKey } from "../harness.ts";
import { createImage } from "../image-vendors/test-images.ts";
import { splitAt } from "./parse-response-fixture.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

const long = Buffer.alloc(300_000, "vexel+/").toString("latin1");

/** The text in chunks. Each chunk is a copy of its own. */
async function* cut(text: string, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  for (const chunk of splitAt(Buffer.from(text), cuts)) yield new Uint8Array(chunk);
}

async function textOf(value: unknown): Promise<unknown> {
  return value instanceof LongText ? Buffer.from(await value.bytes()).toString("latin1") : value;
}

/** The names and payloads of the events. The payloads are read after the last event has arrived. */
async function read(text: string, cuts: readonly number[] = []) {
  const temp = createRequestTemp(folder.path);
  try {
    const events = await Array.fromAsync(readImageStream(cut(text, cuts), temp));
    return await Promise.all(
      events.map(async ({ name, payload }) => [
        name,
        Object.fromEntries(
          await Promise.all(
            Object.entries(payload).map(async ([key, value]) => [key, await textOf(value)]),
          ),
        ),
      ]),
    );
  } finally {
    await temp.clear();
  }
}

describe("a stream of events", () => {
  const payloads = fc.record({
    type: fc.string(),
    b64_json: fc.constantFrom(long, "short", long.slice(0, 98_304), `${long}=`),
    prompt: fc.string({ unit: "grapheme" }),
  });
  const events = fc.array(
    fc.record({ name: fc.constantFrom("", "a", "image_edit.completed"), payload: payloads }),
    { maxLength: 4 },
  );
  const ends = fc.constantFrom("\n", "\r\n", "\r");
  const offsets = fc.array(fc.nat(1_300_000), { maxLength: 8 });

  const whole = `event: image_generation.completed\ndata: {"type":"x","b64_json":"${long}"}`;

  test("delivers its last event if only the closing line is missing", async () => {
    const expected = [["image_generation.completed", { type: "x", b64_json: long }]];
    for (const end of ["", "\n", "\r", "\r\n", "\nid: 7"]) {
      expect(await read(`${whole}${end}`)).toEqual(expected);
      expect(await read(`data: {"a":1}\n\n${whole}${end}`)).toEqual([["", { a: 1 }], ...expected]);
    }
  });

  test("does not deliver its last event if it is truncated anywhere else", async () => {
    const at = [1, 2, 1000, long.length + 3, long.length + 20, long.length + 60];
    for (const missing of at) expect(await read(whole.slice(0, -missing))).toEqual([]);
    // The name of an event may follow its data.
    expect(await read('data: {"a":1}\nevent: image_generation.comp')).toEqual([]);
  });

  test("is read as written, however it is chunked, with any line ending and comments between", async () => {
    await fc.assert(
      fc.asyncProperty(events, ends, offsets, fc.boolean(), async (list, end, cuts, pretty) => {
        const written = list.map(({ name, payload }) => {
          // Each line of pretty-printed JSON has a `data:` field of its own.
          const lines = JSON.stringify(payload, null, pretty ? 1 : undefined).split("\n");
          const data = lines.map((line) => `data: ${line}${end}`).join("");
          return `: still working${end}${name && `event: ${name}${end}`}id: 7${end}${data}${end}`;
        });
        expect(await read(`${written.join("")}data: [DONE]${end}${end}`, cuts)).toEqual(
          list.map(({ name, payload }) => [name, payload]),
        );
      }),
      tries(80),
    );
  });

  test("ends with the last complete event", async () => {
    const whole = `data: {"a":"${long}"}\n\n`;
    expect(await read(`${whole}data: {"b":"${long}"\n`)).toEqual([["", { a: long }]]);
  });

  test.each([
    ["is no JSON", "data: a fox\n\n"],
    ["is no object", "data: [1]\n\n"],
    ["breaks off within a text", `data: {"a":"${long}\n\n`],
    ["has a text on two lines", `data: {"a":"${long}\ndata: ${long}"}\n\n`],
  ])("with data that %s is an invalid upstream response", async (_, text) => {
    await expect(read(text)).rejects.toMatchObject({ kind: "upstream_invalid" });
  });

  test("may contain keep-alive comments, or no event at all", async () => {
    const written =
      'data\n\ndata:\n\nevent: ping\ndata: ping\n\ndata: {"a":1}\n\ndata: [DONE] \n\n';
    expect(await read(written)).toEqual([["", { a: 1 }]]);
  });

  test("whose texts begin with unusual characters keeps them", async () => {
    const payload = { a: "\u0000", b: "\u00000", c: long };
    expect(await read(`data: ${JSON.stringify(payload)}\n\n`)).toEqual([["", payload]]);
  });

  test("stays readable while more arrives and memory is spilled to disk", async () => {
    // The budget has space for one of three texts: the others cause all of them to be spilled.
    const temp = createRequestTemp(folder.path, new MemoryBudget(400_000));
    const texts = ["x", "y", "z"].map((sign) => sign.repeat(300_000));
    const written = texts.map((a) => `data: ${JSON.stringify({ a })}\n\n`).join("");
    const events = readImageStream(cut(written, [70_000, 140_000, 210_000, 500_000]), temp);
    const first = (await events.next()).value?.payload.a as LongText;
    const reading = first.stream()[Symbol.asyncIterator]();
    let got = Buffer.from((await reading.next()).value as Uint8Array).toString();
    const others = [await events.next(), await events.next()];
    for (let chunk = await reading.next(); !chunk.done; chunk = await reading.next()) {
      got += Buffer.from(chunk.value).toString();
    }
    expect(got).toBe(texts[0] as string);
    expect(await Promise.all(others.map(({ value }) => textOf(value?.payload.a)))).toEqual(
      texts.slice(1),
    );
    await temp.clear();
  });

  test("may begin with a byte order mark", async () => {
    expect(await read('\uFEFFdata: {"a":1}\n\n')).toEqual([["", { a: 1 }]]);
  });

  test("holds images without the prefix of their data URL", async () => {
    const temp = createRequestTemp(folder.path);
    const written = `data: ${JSON.stringify({ image: `data:image/png;base64,${long}` })}\n\n`;
    const [event] = await Array.fromAsync(readImageStream(cut(written, []), temp));
    const image = loadedImageIn(event?.payload.image);
    if (image?.kind !== "spilled") throw new Error("it was not spilled");
    expect(Buffer.from(await image.spilled.bytes()).toString("latin1")).toBe(long);
    // The gateway's response has the image unchanged.
    const body = wrapJson("data: ", stringifyStreamed({ other: event?.payload.image }), "\n\n");
    if (typeof body === "string") throw new Error("it is not in memory");
    const sent = Buffer.concat(await Array.fromAsync(body.open(), (chunk) => Buffer.from(chunk)));
    expect(sent.length).toBe(body.length);
    expect(sent.toString()).toBe(`data: {"other":"data:image/png;base64,${long}"}\n\n`);
    await temp.clear();
  });
});

describe("images of half a megabyte in a stream arrive byte for byte", () => {
  const frames = (images: readonly Buffer[]): string =>
    images
      .map((image, at) => {
        const last = at === images.length - 1;
        const type = `image_generation.${last ? "completed" : "partial_image"}`;
        const b64_json = image.toString("base64");
        const payload = { type, b64_json, created_at: 1, partial_image_index: at };
        return `event: ${type}\ndata: ${JSON.stringify(payload)}\n\n`;
      })
      .join("");

  /** More clients than the memory budget has space for, so that some images are spilled to disk. */
  const clients = 12;

  test.each([
    ["of an upstream that streams", "gpt-image-2"],
    ["of one that does not", "dall-e-3"],
  ])("%s", async (_, model) => {
    const large = { width: 480, height: 400, noisy: true, kind: "png" } as const;
    const generated = await Promise.all(
      Array.from({ length: 3 }, async (_, at) =>
        Buffer.from(await createImage(`fox ${at}`, large)),
      ),
    );
    expect(Math.min(...generated.map(({ length }) => length))).toBeGreaterThan(400_000);
    using upstream = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: async (request) => {
        const { stream } = (await request.json()) as { stream?: boolean };
        const type = stream ? "text/event-stream" : "application/json";
        const last = generated.at(-1)?.toString("base64");
        const body = stream ? frames(generated) : JSON.stringify({ data: [{ b64_json: last }] });
        return new Response(body, { headers: { "content-type": type } });
      },
    });
    const gateway = startGateway({
      yaml: `
keys: [{ name: dev, key: "${testKey}" }]
upstreams: [{ id: fake, kind: openai, baseUrl: "${upstream.url.origin}/v1", apiKey: sk-fake }]
models: [{ id: image-model, kind: image, targets: [{ upstream: fake, model: ${model} }] }]
`,
    });
    const generate = async (): Promise<readonly Buffer[]> => {
      const body = { model: "image-model", prompt: "fox", stream: true, partial_images: 2 };
      const text = await (await gateway.post("/v1/images/generations", body)).text();
      const payloads = [...text.matchAll(/^data: (.*)$/gm)].map(
        ([, data]) => JSON.parse(data as string) as { b64_json: string },
      );
      return payloads.map(({ b64_json }) => Buffer.from(b64_json, "base64"));
    };
    const responses = await Promise.all(Array.from({ length: clients }, generate));
    for (const images of responses) {
      expect(images.map((image) => generated.findIndex((one) => one.equals(image)))).toEqual(
        model === "gpt-image-2" ? [0, 1, 2] : [2],
      );
    }
    expect(gateway.rows().map(({ images, status }) => [images, status])).toEqual(
      Array.from({ length: clients }, () => [1, 200]),
    );
    await gateway.close();
  });
});
