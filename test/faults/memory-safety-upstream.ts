/**
 * An upstream whose responses depend only on the input: each vector on its text, each image on its prompt. A client can
 * therefore check every byte that it gets.
 */
import { crc32 } from "node:zlib";
import { fakeImage } from "../fake-upstream.ts";

/** Pseudo-random 32-bit numbers that depend on the text. */
function fillFrom(text: string, numbers: Uint32Array): Uint32Array {
  let state = Bun.hash.crc32(text) || 1;
  for (let at = 0; at < numbers.length; at++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    numbers[at] = state >>> 0;
  }
  return numbers;
}

interface ExpectedVector {
  readonly numbers: Float32Array;
  readonly base64: string;
}

const vectors = new Map<string, ExpectedVector>();

export function vectorOf(text: string, length: number): ExpectedVector {
  const key = `${length}:${text}`;
  const existing = vectors.get(key);
  if (existing) return existing;
  const random = fillFrom(key, new Uint32Array(length));
  const numbers = Float32Array.from(random, (number) => number / 2 ** 31 - 1);
  const vector = { numbers, base64: Buffer.from(numbers.buffer).toString("base64") };
  vectors.set(key, vector);
  return vector;
}

/** A PNG of up to 600 KB: most of it is a private chunk that no decoder reads and that depends on the prompt. */
export function imageOf(prompt: string): Buffer {
  const whole = Buffer.from(fakeImage(prompt, 0, { format: "png", width: 64, height: 64 }));
  const length = 40_000 + (Bun.hash.crc32(prompt) % 100_000);
  const body = Buffer.concat([
    Buffer.from("vxMs"),
    Buffer.from(fillFrom(prompt, new Uint32Array(length)).buffer),
  ]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(body.length - 4);
  frame.writeUInt32BE(crc32(body), 4);
  const end = whole.length - 12;
  return Buffer.concat([
    whole.subarray(0, end),
    frame.subarray(0, 4),
    body,
    frame.subarray(4),
    whole.subarray(end),
  ]);
}

export const openaiLength = 1536;
export const ollamaLength = 256;

/** Part of the prompt of a partial image. */
export const partial = "partial image of ";

const eventOf = (type: string, fields: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

/** A stream of one partial image and the final image, in chunks that end anywhere. */
function streamOf(prompt: string): Response {
  const [early, final] = [imageOf(partial + prompt), imageOf(prompt)];
  const common = { created_at: 1, size: "1024x1024", quality: "low", output_format: "png" };
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  const events = Buffer.from(
    eventOf("image_generation.partial_image", {
      ...common,
      b64_json: early.toString("base64"),
      partial_image_index: 0,
    }) +
      eventOf("image_generation.completed", {
        ...common,
        b64_json: final.toString("base64"),
        usage,
      }),
  );
  const chunkBytes = 20_000 + (Bun.hash.crc32(prompt) % 50_000);
  async function* chunks() {
    for (let at = 0; at < events.length; at += chunkBytes) {
      yield events.subarray(at, at + chunkBytes);
      await Bun.sleep(0);
    }
  }
  return new Response(chunks(), { headers: { "content-type": "text/event-stream" } });
}

/** Holds every response until `opened`. */
export function startUpstream(opened: Promise<void>) {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    fetch: async (request) => {
      const link = new URL(request.url);
      if (link.pathname === "/images") {
        return new Response(imageOf(link.searchParams.get("prompt") ?? ""));
      }
      const body = (await request.json()) as {
        model: string;
        input: string | string[];
        prompt: string;
        stream?: boolean;
        encoding_format?: string;
      };
      await opened;
      // Requests that wait for several upstream requests get their responses at different times.
      await Bun.sleep(Bun.hash.crc32(JSON.stringify(body)) % 80);
      const { pathname } = link;
      if (pathname === "/v1/images/generations") {
        if (body.stream) return streamOf(body.prompt);
        if (body.model === "dall-e-2") {
          const url = `${link.origin}/images?prompt=${encodeURIComponent(body.prompt)}`;
          return Response.json({ created: 1, data: [{ url }] });
        }
        return Response.json({
          created: 1,
          data: [{ b64_json: imageOf(body.prompt).toString("base64") }],
        });
      }
      const texts = typeof body.input === "string" ? [body.input] : body.input;
      if (pathname === "/api/embed") {
        const embeddings = texts.map((text) => Array.from(vectorOf(text, ollamaLength).numbers));
        return Response.json({ model: "m", embeddings, prompt_eval_count: texts.length });
      }
      const data = texts.map((text, index) => {
        const { numbers, base64 } = vectorOf(text, openaiLength);
        const embedding = body.encoding_format === "base64" ? base64 : Array.from(numbers);
        return { object: "embedding", index, embedding };
      });
      const usage = { prompt_tokens: texts.length, total_tokens: texts.length };
      return Response.json({ object: "list", model: "m", data, usage });
    },
  });
  return { url: `http://127.0.0.1:${server.port}`, close: () => server.stop(true) };
}
