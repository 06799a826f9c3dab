/** A fake of Cohere's `/v2/embed` that reads images: the vector of an entry depends on its texts and bytes, in order. */
import { createHash } from "node:crypto";
import { deflateSync } from "node:zlib";
import type { Server } from "bun";
import { startGateway, type TestGateway, testKey } from "../harness.ts";

interface Part {
  readonly type: string;
  readonly text?: string;
  readonly image_url?: { readonly url: string };
}

export interface CohereRequest {
  readonly texts?: readonly string[];
  readonly inputs?: readonly { readonly content: readonly Part[] }[];
  readonly images?: readonly string[];
  readonly input_type: string;
}

export interface FakeCohere {
  readonly url: string;
  readonly requests: readonly CohereRequest[];
  /** Holds responses until the promise resolves. */
  hold(until: Promise<unknown> | undefined): void;
  [Symbol.asyncDispose](): Promise<void>;
}

const dimensions = 8;

/** The vector of an entry: from a hash of its parts. */
export function vectorOf(parts: readonly string[]): number[] {
  const hash = createHash("sha256").update(JSON.stringify(parts)).digest();
  return Array.from({ length: dimensions }, (_, at) => ((hash[at] ?? 0) + 1) / 256);
}

const packed = (vector: readonly number[]): string =>
  Buffer.from(Float32Array.from(vector).buffer).toString("base64");

export const imagePart = (bytes: Uint8Array): string =>
  `image ${createHash("sha256").update(bytes).digest("hex")}`;

const partOf = ({ text, image_url: image }: Part): string =>
  image ? imagePart(Buffer.from(image.url.split(",")[1] ?? "", "base64")) : `text ${text}`;

const entriesOf = ({ texts, inputs, images }: CohereRequest): string[][] => [
  ...(texts ?? []).map((text) => [`text ${text}`]),
  ...(inputs ?? []).map(({ content }) => content.map(partOf)),
  ...(images ?? []).map((url) => [partOf({ type: "image_url", image_url: { url } })]),
];

/** 10 tokens for a text, 100 for an image. */
export function startCohere(): FakeCohere {
  const requests: CohereRequest[] = [];
  let held: Promise<unknown> | undefined;
  const server: Server<undefined> = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    maxRequestBodySize: 512 * 1024 * 1024,
    fetch: async (request) => {
      const body = (await request.json()) as CohereRequest;
      requests.push(body);
      await held;
      const entries = entriesOf(body);
      const count = (kind: string): number =>
        entries.flat().filter((part) => part.startsWith(kind)).length;
      return Response.json({
        id: "1",
        embeddings: { base64: entries.map((parts) => packed(vectorOf(parts))) },
        meta: {
          billed_units: body.texts
            ? { input_tokens: 10 * count("text") }
            : {
                input_tokens: 10 * count("text"),
                image_tokens: 100 * count("image"),
                images: count("image"),
              },
        },
      });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    requests,
    hold: (until) => {
      held = until;
    },
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

export const startImageGateway = (
  cohere: Pick<FakeCohere, "url">,
  {
    settings = {},
    more = "",
    model = "",
  }: { settings?: Record<string, string>; more?: string; model?: string } = {},
): TestGateway =>
  startGateway({
    settings: { VEXEL_CACHE_BYTES: "1000000", ...settings },
    yaml: `
upstreams:
  - { id: cohere, kind: cohere, baseUrl: "${cohere.url}", apiKey: co-fake }
models:
  - { id: images, kind: embedding, dimensions: ${dimensions}, targets: [{ upstream: cohere, model: embed-v4.0 }]${model} }
  - { id: images-v3, kind: embedding, dimensions: ${dimensions}, targets: [{ upstream: cohere, model: embed-english-v3.0 }] }
  - { id: texts, kind: embedding, dimensions: ${dimensions}, targets: [{ upstream: cohere, model: embed-english-v2.0 }] }
keys:
  - { name: test, key: ${testKey} }
${more}`,
  });

const crcTable = Array.from({ length: 256 }, (_, start) => {
  let value = start;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value >>> 0;
});

function chunk(name: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(name), data]);
  let crc = 0xffffffff;
  for (const byte of body) crc = (crcTable[(crc ^ byte) & 255] as number) ^ (crc >>> 8);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const end = Buffer.alloc(4);
  end.writeUInt32BE((crc ^ 0xffffffff) >>> 0);
  return Buffer.concat([length, body, end]);
}

/** A valid gray PNG of 1x1, or one whose header claims another size. `bytes`: about this many more bytes. */
export function png(shade: number, { width = 1, height = 1, bytes = 0 } = {}): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 0, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk("IHDR", header),
    ...(bytes > 0 ? [chunk("teXt", Buffer.alloc(bytes, shade))] : []),
    chunk("IDAT", deflateSync(Uint8Array.of(0, shade))),
    chunk("IEND", new Uint8Array()),
  ]);
}

export const dataUrl = (bytes: Uint8Array, type = "image/png"): string =>
  `data:${type};base64,${Buffer.from(bytes).toString("base64")}`;

export const imageEntry = (url: string) => ({
  content: [{ type: "image_url", image_url: { url } }],
});

export interface EmbeddingsBody {
  readonly data: readonly { readonly index: number; readonly embedding: number[] }[];
  readonly usage: {
    readonly prompt_tokens: number;
    readonly prompt_tokens_details?: {
      readonly text_tokens: number;
      readonly image_tokens: number;
    };
  };
  readonly error?: {
    readonly message: string;
    readonly param: string | null;
    readonly code: string;
  };
}
