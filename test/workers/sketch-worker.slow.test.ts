/**
 * Promises about `vexel-sketch` as the gateway runs it: in a process of its own, with the gateway's queries and errors.
 */
import { afterAll, expect, test } from "bun:test";
import sharp from "sharp";
import { SketchError } from "#sketch";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import type {
  BufferedImageResponse,
  EditQuery,
  GenerationQuery,
  ImageResponse,
  StreamedImage,
} from "../../server/upstream/contract.ts";
import { sketchErrorToGatewayError } from "../../server/workers/sketch/error-mapping.ts";
import { createSketchWorker } from "../../server/workers/sketch/sketch-worker.ts";
import { startGateway } from "../harness.ts";
import { until } from "../until.ts";
import { expectError, never, targetOf } from "./built-in-fixture.ts";
import { upload } from "./image-worker-fixture.ts";

const worker = createSketchWorker();
afterAll(() => worker.close());

const target = targetOf("sketch");
const query = (prompt: string, more: Partial<GenerationQuery> = {}): GenerationQuery => ({
  model: "vexel-sketch",
  prompt,
  stream: false,
  options: { size: "256x256" },
  extraFields: {},
  ...more,
});
const generate = (prompt: string, more: Partial<GenerationQuery> = {}, signal = never) =>
  worker.generations(query(prompt, more), target, signal);
const editOf = (prompt: string, image: Uint8Array, more: Partial<EditQuery> = {}): EditQuery => ({
  ...query(prompt, { options: {} }),
  images: [{ kind: "file", file: upload(image) }],
  files: [],
  ...more,
});
const plain = (background: string): Promise<Uint8Array> =>
  sharp({ create: { width: 64, height: 64, channels: 3, background } })
    .png()
    .toBuffer();

function whole(response: ImageResponse): BufferedImageResponse {
  if (response.kind !== "buffered") throw new Error("a stream came back");
  return response;
}

async function framesOf(response: ImageResponse): Promise<StreamedImage[]> {
  if (response.kind !== "stream") throw new Error("no stream came back");
  const frames: StreamedImage[] = [];
  for await (const event of response.events) if (event.type !== "buffered") frames.push(event);
  return frames;
}

const bytesOf = ({ image }: { readonly image: unknown }): Uint8Array =>
  (image as { readonly bytes: Uint8Array }).bytes;

test("other requests are served while a large image is drawn", async () => {
  await generate("a boat");
  let last = process.cpuUsage();
  let longest = 0;
  // In CPU time of this process, which other processes do not prolong.
  const ticking = setInterval(() => {
    const { user, system } = process.cpuUsage(last);
    longest = Math.max(longest, (user + system) / 1000);
    last = process.cpuUsage();
  }, 5);
  const options = { size: "1280x1280", quality: "high" };
  const response = await generate("an oil painting of a city", { options });
  clearInterval(ticking);
  expect(response.kind).toBe("buffered");
  // Drawn in this process, the image would have blocked the event loop for most of a second.
  expect(longest).toBeLessThan(300);
});

test("stream events arrive in order, and an error keeps its parameter", async () => {
  const options = { size: "256x256", partial_images: 2 };
  const response = await generate("a fox", { stream: true, options });
  expect((await framesOf(response)).map(({ type }) => type)).toEqual([
    "partial",
    "partial",
    "completed",
  ]);
  const refused = generate("a fox", { options: { size: "1x1" } });
  const { details } = await expectError(refused, "invalid_value");
  expect(details.param).toBe("size");
});

test("a client that disconnects ends the drawing", async () => {
  const controller = new AbortController();
  const castles = (n: number, signal?: AbortSignal): Promise<ImageResponse> =>
    generate("a castle, oil", { options: { size: "640x640", n, quality: "max" } }, signal);
  const reference = performance.now();
  await castles(1);
  const oneImageMs = performance.now() - reference;
  const began = performance.now();
  const generation = castles(10, controller.signal);
  setTimeout(() => controller.abort(new GatewayError("client_closed", "gone")), 200);
  const error = await generation.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(GatewayError);
  // Without the abort, ten images would take ten times as long as one.
  expect(performance.now() - began).toBeLessThan(500 + 3 * oneImageMs);
});

test("an image of one key overtakes six heavy edits of another", async () => {
  const keys = { heavy: "sk-heavy-0123456789abcdef", light: "sk-light-0123456789abcdef" };
  const gateway = startGateway({
    yaml: `
upstreams: [{ id: here, kind: sketch }]
models: [{ id: vexel-sketch, kind: image, targets: [{ upstream: here, model: vexel-sketch }] }]
keys: [{ name: heavy, key: ${keys.heavy} }, { name: light, key: ${keys.light} }]
`,
  });
  const ended = new AbortController();
  const send = async (
    name: keyof typeof keys,
    path: string,
    fields: Record<string, string | Blob>,
  ): Promise<void> => {
    const body = new FormData();
    for (const [field, value] of Object.entries(fields)) body.set(field, value);
    const response = await fetch(`${gateway.baseURL}/images/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${keys[name]}` },
      body,
      signal: ended.signal,
    });
    await response.arrayBuffer();
    expect(response.status).toBe(200);
  };
  const photo = await sharp(await plain("#3060c0"))
    .resize(512)
    .toBuffer();
  const model = { model: "vexel-sketch" };
  let edited = 0;
  const heavy = Array.from({ length: 6 }, async () => {
    const image = new File([photo as Uint8Array<ArrayBuffer>], "photo.png");
    await send("heavy", "edits", { ...model, prompt: "an oil painting", image });
    edited++;
  });
  await until(() => edited > 0);
  const image = new File([(await plain("#ff0000")) as Uint8Array<ArrayBuffer>], "small.png");
  await send("light", "edits", { ...model, prompt: "a touch", image });
  // In a queue without turns it would be the last.
  expect(edited).toBeLessThan(heavy.length);
  ended.abort();
  await Promise.allSettled(heavy);
  await gateway.close();
});

test("a whole response has every image, their metadata and the sum of their usage", async () => {
  const options = { size: "64x96", quality: "high", n: 2 };
  const response = whole(await generate("two cats, one moon", { options }));
  expect(response.results.map((result) => result.revised_prompt)).toEqual([
    "vexel-sketch drew: two cats under a moon.",
    "vexel-sketch drew: two cats under a moon.",
  ]);
  expect(response.metadata).toEqual({
    size: "64x96",
    quality: "high",
    background: "opaque",
    output_format: "png",
  });
  expect(response.usage).toEqual({
    total_tokens: 53,
    input_tokens: 5,
    output_tokens: 48,
    input_tokens_details: { text_tokens: 5, image_tokens: 0 },
    output_tokens_details: { text_tokens: 0, image_tokens: 48 },
  });
});

test("the seed of the request decides the image, streamed or not", async () => {
  const generated = async (seed: number, stream: boolean): Promise<string> => {
    const options = { size: "64x64" };
    const response = await generate("a house", { options, stream, extraFields: { seed } });
    const [image] = response.kind === "buffered" ? response.results : await framesOf(response);
    return Buffer.from(image ? bytesOf(image) : []).toString("hex");
  };
  const first = await generated(7, false);
  expect(await generated(7, true)).toBe(first);
  expect(await generated(8, false)).not.toBe(first);
});

test("uploads, masks and markup of an edit reach the drawing program", async () => {
  const image = await plain("#3060c0");
  const edited = async (more: Partial<EditQuery>): Promise<string> => {
    const { results } = whole(await worker.edits(editOf("a touch", image, more), target, never));
    return Buffer.from(results[0] ? bytesOf(results[0]) : []).toString("hex");
  };
  const without = await edited({});
  const markup = { kind: "file", file: upload(await plain("#00ff00"), "markup") } as const;
  expect(await edited({ markup })).not.toBe(without);
  // Files of other form fields are no part of the edit.
  expect(await edited({ files: [upload(await plain("#00ff00"), "notes")] })).toBe(without);
  const mask = { kind: "file", file: upload(await plain("#ffffff"), "mask") } as const;
  const refused = await edited({ mask }).catch((thrown: unknown) => thrown);
  expect(refused).toMatchObject({ kind: "invalid_value", details: { param: "mask" } });
});

test("errors of the drawing program become gateway errors, and defects become internal errors", () => {
  const refused = new SketchError("invalid_image_file", "The file is broken.", { param: "mask" });
  expect(sketchErrorToGatewayError(refused, never)).toMatchObject({
    kind: "invalid_image_file",
    message: "The file is broken.",
    details: { param: "mask" },
  });
  const gone = AbortSignal.abort();
  expect(sketchErrorToGatewayError(gone.reason, gone)).toMatchObject({ kind: "client_closed" });
  expect(sketchErrorToGatewayError(new RangeError("off by one"), never)).toMatchObject({
    kind: "internal",
  });
});

test("a started process is reported by the id of the model, which the log has", async () => {
  const ready: unknown[] = [];
  const reporting = createSketchWorker({ onReady: (model) => ready.push(model) });
  await reporting.generations(query("a boat"), target, never);
  await reporting.close();
  expect(ready).toEqual(["vexel-sketch"]);
});
