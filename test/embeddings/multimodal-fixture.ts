/**
 * A fake of Cohere's `/v2/embed` that reads images: the vector of an entry depends on its texts and bytes, in order.
 */
import { createHash } from "node:crypto";
import type { Server } from "bun";
import type { QuantizedType } from "../../server/upstream/contract.ts";
import { encodeImage } from "../fake-upstream/fake-image.ts";
import { startGateway, type TestGateway, testKey } from "../harness.ts";
import { quantize } from "../laws/output-types.ts";

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
  readonly embedding_types: readonly ("base64" | QuantizedType)[];
}

export interface FakeCohere {
  readonly url: string;
  readonly requests: readonly CohereRequest[];
  /** Holds responses until the promise resolves. */
  hold(until: Promise<unknown> | undefined): void;
  /** Responds with this status from now on. */
  fail(status: number): void;
  /** Removes the recorded requests. */
  clear(): void;
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

function embeddingsOf(
  vectors: readonly number[][],
  { embedding_types: [type] = [] }: Partial<CohereRequest>,
) {
  if (type === undefined || type === "base64") return { base64: vectors.map(packed) };
  return { [type]: vectors.map((vector) => [...quantize(Float32Array.from(vector), type)]) };
}

export const imagePart = (bytes: Uint8Array): string =>
  `image ${createHash("sha256").update(bytes).digest("hex")}`;

const partOf = ({ text, image_url: image }: Part): string =>
  image ? imagePart(Buffer.from(image.url.split(",")[1] ?? "", "base64")) : `text ${text}`;

const entriesOf = ({ texts, inputs, images }: CohereRequest): string[][] => [
  ...(texts ?? []).map((text) => [`text ${text}`]),
  ...(inputs ?? []).map(({ content }) => content.map(partOf)),
  ...(images ?? []).map((url) => [partOf({ type: "image_url", image_url: { url } })]),
];

/** 10 tokens for a text, 100 for an image. `uncounted`: its responses have no usage. */
export function startCohere({ uncounted = false } = {}): FakeCohere {
  const requests: CohereRequest[] = [];
  let held: Promise<unknown> | undefined;
  let failure: number | undefined;
  const server: Server<undefined> = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    maxRequestBodySize: 512 * 1024 * 1024,
    fetch: async (request) => {
      const body = (await request.json()) as CohereRequest;
      requests.push(body);
      await held;
      if (failure !== undefined) return Response.json({ message: "no" }, { status: failure });
      const entries = entriesOf(body);
      const count = (kind: string): number =>
        entries.flat().filter((part) => part.startsWith(kind)).length;
      return Response.json({
        id: "1",
        embeddings: embeddingsOf(entries.map(vectorOf), body),
        meta: !uncounted && {
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
    fail: (status) => {
      failure = status;
    },
    clear: () => {
      requests.length = 0;
    },
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

interface ImageGatewayOptions {
  readonly settings?: Readonly<Record<string, string>>;
  readonly downloadTimeoutMs?: number;
  /** More rows of vexel.yaml. */
  readonly upstreams?: string;
  readonly models?: string;
  readonly keys?: string;
  /** More members of the model `images`. */
  readonly ofModel?: string;
  /** More members of the API key. */
  readonly ofKey?: string;
}

/** Models: `images` fuses texts and images, `images-v3` reads single images, `texts` reads none. */
export const startImageGateway = (
  cohere: Pick<FakeCohere, "url">,
  {
    settings,
    upstreams = "",
    models = "",
    keys = "",
    ofModel = "",
    ofKey = "",
    ...options
  }: ImageGatewayOptions = {},
): TestGateway =>
  startGateway({
    ...options,
    settings: { VEXEL_CACHE_BYTES: "1000000", ...settings },
    yaml: `
upstreams:
  - { id: cohere, kind: cohere, baseUrl: "${cohere.url}", apiKey: co-fake }
${upstreams}
models:
  - { id: images, kind: embedding, dimensions: ${dimensions}${ofModel}, targets: [{ upstream: cohere, model: embed-v4.0 }] }
  - { id: images-v3, kind: embedding, dimensions: ${dimensions}, targets: [{ upstream: cohere, model: embed-english-v3.0 }] }
  - { id: texts, kind: embedding, dimensions: ${dimensions}, targets: [{ upstream: cohere, model: embed-english-v2.0 }] }
${models}
keys:
  - { name: test, key: ${testKey}${ofKey} }
${keys}
`,
  });

/**
 * A gray PNG. `claimed`: the size that its header claims, in place of 1x1. `padding`: bytes after its end, which are
 * part of the file.
 */
export function png(
  shade: number,
  { claimed, padding = 0 }: { claimed?: readonly [number, number]; padding?: number } = {},
): Buffer {
  const image = Buffer.from(encodeImage({ format: "png", width: 1, height: 1, shade }));
  if (claimed) {
    image.writeUInt32BE(claimed[0], 16);
    image.writeUInt32BE(claimed[1], 20);
  }
  return Buffer.concat([image, Buffer.alloc(padding, shade)]);
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
