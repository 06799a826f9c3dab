/** Generators for the adapter laws: targets, queries, files, and responses of every shape. */

import fc from "fast-check";
import type { Adapter, UpstreamRequest, UpstreamResponse } from "../../server/upstream/adapter.ts";
import {
  adapters,
  openaiEmbeddingsOwnImages,
  openaiEmbeddingsVendors,
} from "../../server/upstream/adapters/index.ts";
import type {
  EditQuery,
  EmbeddingInput,
  EmbeddingsQuery,
  FilePart,
  GenerationQuery,
  ImageOptions,
  Target,
} from "../../server/upstream/contract.ts";
import { parseVectorsJson } from "../../server/upstream/parse-vectors-json.ts";
import {
  parseJson,
  withoutByteOrderMark,
} from "../../server/upstream/transport/upstream-response.ts";
import { readAll } from "../chunks.ts";
import { readMultipart } from "../fake-upstream/multipart.ts";

export interface Subject {
  readonly adapter: Adapter;
  readonly target: Target;
}

export const key = "sk-upstream-0123456789abcdef";
export const targetModel = "org/target-model";

const ownWay = new Set(openaiEmbeddingsOwnImages.map(({ kind }) => kind.name));

/** Adapters with their own image API have separate laws for images. */
function inOpenaisWay(name: string): Adapter {
  const adapter = adapters.get(name)!;
  if (!ownWay.has(name)) return adapter;
  const { generations: _, edits: __, ...others } = adapter;
  return others;
}

const subject = (name: string, options: Record<string, unknown> = {}): Subject => ({
  adapter: inOpenaisWay(name),
  target: {
    model: targetModel,
    upstream: {
      id: "upstream",
      kind: name,
      baseUrl: "https://upstream.example/v1",
      apiKey: key,
      headers: {},
      options,
    },
  },
});

/** Every OpenAI-compatible adapter, and the second API of the adapter that has two. */
export const subjects: ReadonlyMap<string, Subject> = new Map([
  ...openaiEmbeddingsVendors.map(({ kind: { name } }): [string, Subject] => [name, subject(name)]),
  ["azure with apiVersion", subject("azure", { apiVersion: "2025-04-01-preview" })],
]);

/** The OpenAI-compatible adapters that also have OpenAI's image API. */
export const imageAdapters: ReadonlyMap<string, Subject> = new Map(
  [...subjects].filter(([, { adapter }]) => adapter.generations),
);

const text = (more: fc.StringConstraints = {}) => fc.string({ unit: "grapheme", ...more });
/** Not empty: the endpoints refuse empty ones. */
export const words = text({ minLength: 1, maxLength: 40 });

/** Values that survive JSON: JavaScript writes -0. */
const written = fc
  .jsonValue({ maxDepth: 3 })
  .map((value): unknown => JSON.parse(JSON.stringify(value)));

/** Unknown fields with any JSON value except null, which counts as absent by then. */
const restOf = (reserved: readonly string[]): fc.Arbitrary<Record<string, unknown>> =>
  fc.dictionary(
    fc.string({ minLength: 1, maxLength: 12 }).filter((name) => !reserved.includes(name)),
    written.filter((value) => value !== null),
    { maxKeys: 4 },
  );

const tokens = fc.array(fc.nat(200_000), { minLength: 1, maxLength: 8 });
const inputs: fc.Arbitrary<{ input: EmbeddingInput; single: boolean }> = fc.oneof(
  words.map((one) => ({ input: { kind: "text", texts: [one] } as const, single: true })),
  fc
    .array(words, { minLength: 1, maxLength: 6 })
    .map((texts) => ({ input: { kind: "text", texts } as const, single: false })),
  tokens.map((one) => ({ input: { kind: "tokens", tokens: [one] } as const, single: true })),
  fc
    .array(tokens, { minLength: 1, maxLength: 6 })
    .map((lists) => ({ input: { kind: "tokens", tokens: lists } as const, single: false })),
);

/** Each key is present or absent. */
const some = <T>(shape: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record(shape, { requiredKeys: [] }) as fc.Arbitrary<Partial<T>>;

export const embeddingsQueries: fc.Arbitrary<EmbeddingsQuery> = fc
  .tuple(
    inputs,
    some({ dimensions: fc.integer({ min: 1, max: 4096 }), user: text({ maxLength: 20 }) }),
    fc.constantFrom("float" as const, "base64" as const),
    restOf(["model", "input", "encoding_format", "dimensions", "user"]),
  )
  .map(([input, options, encoding, extraFields]) => ({
    model: "public-model",
    ...input,
    encoding,
    ...options,
    extraFields,
  }));

const options: fc.Arbitrary<ImageOptions> = some({
  n: fc.integer({ min: 1, max: 10 }),
  size: fc.constantFrom("auto", "1024x1024"),
  quality: words,
  background: words,
  moderation: words,
  output_format: words,
  output_compression: fc.integer({ min: 0, max: 100 }),
  response_format: fc.constantFrom("url", "b64_json"),
  style: words,
  user: text({ maxLength: 20 }),
  safety_identifier: text({ maxLength: 20 }),
  complexity: words,
  frame_count: fc.integer({ min: 2, max: 16 }),
  frame_duration_ms: fc.nat(655_350),
  input_fidelity: words,
  partial_images: fc.integer({ min: 0, max: 3 }),
});
const optionNames = [
  "n",
  "size",
  "quality",
  "background",
  "moderation",
  "output_format",
  "output_compression",
  "response_format",
  "style",
  "user",
  "safety_identifier",
  "complexity",
  "frame_count",
  "frame_duration_ms",
  "input_fidelity",
  "partial_images",
  "svg",
];
const imageNames = [
  "model",
  "prompt",
  "stream",
  "image",
  "images",
  "mask",
  "markup",
  ...optionNames,
];

export const generationQueries: fc.Arbitrary<GenerationQuery> = fc
  .record({ prompt: words, stream: fc.boolean(), options, extraFields: restOf(imageNames) })
  .map((query) => ({ model: "public-model", ...query }));

export function fileOf(field: string, filename: string, type: string, bytes: Uint8Array): FilePart {
  const content = new Uint8Array(bytes);
  return {
    field,
    filename,
    type,
    size: content.length,
    stream: () => new Blob([content]).stream(),
    bytes: async () => content,
  };
}

const files = (field: string): fc.Arbitrary<FilePart> =>
  fc
    .tuple(
      fc.string({ unit: "grapheme", maxLength: 20 }),
      fc.constantFrom("image/png", "image/jpeg", "image/webp"),
      fc.uint8Array({ minLength: 1, maxLength: 300 }),
    )
    .map(([filename, type, bytes]) => fileOf(field, filename, type, bytes));

/** A form contains text: the types of a client's form fields are unknown, so they stay text. */
const formRest = fc.dictionary(
  fc
    .string({ unit: "grapheme", minLength: 1, maxLength: 12 })
    .filter((name) => !imageNames.includes(name.replace(/\[.*$/, ""))),
  text({ maxLength: 20 }),
  { maxKeys: 3 },
);

export const formEdits: fc.Arbitrary<EditQuery> = fc
  .record({
    query: generationQueries,
    extraFields: formRest,
    images: fc.array(files("image"), { minLength: 1, maxLength: 4 }),
    mask: fc.option(files("mask"), { nil: undefined }),
    markup: fc.option(files("markup"), { nil: undefined }),
    others: fc.array(files("notes"), { maxLength: 1 }),
  })
  .map(({ query, extraFields, images, mask, markup, others }) => ({
    ...query,
    // A form has no field for it: such a request is sent as JSON.
    options: Object.fromEntries(
      Object.entries(query.options).filter(([name]) => name !== "moderation"),
    ),
    extraFields,
    images: images.map((file) => ({ kind: "file" as const, file })),
    ...(mask && { mask: { kind: "file" as const, file: mask } }),
    ...(markup && { markup: { kind: "file" as const, file: markup } }),
    files: others,
  }));

/** Its own arbitrary: building `fc.webUrl()` takes half a second in each test process. */
const webUrls = fc
  .record({
    scheme: fc.constantFrom("http", "https"),
    host: fc.constantFrom(
      "a.test",
      "images.example.com",
      "xn--bcher-kva.example",
      "127.0.0.1:8080",
    ),
    path: fc.array(fc.string({ maxLength: 8 }).map(encodeURIComponent), { maxLength: 4 }),
    query: fc.option(fc.string({ maxLength: 8 }).map(encodeURIComponent), { nil: undefined }),
  })
  .map(
    ({ scheme, host, path, query }) =>
      `${scheme}://${host}/${path.join("/")}${query === undefined ? "" : `?${query}`}`,
  );

const references = fc.oneof(
  webUrls.map((url) => ({ kind: "url" as const, url })),
  words.map((id) => ({ kind: "file_id" as const, id })),
);
export const jsonEdits: fc.Arbitrary<EditQuery> = fc
  .record({
    query: generationQueries,
    images: fc.array(references, { minLength: 1, maxLength: 4 }),
    mask: fc.option(references, { nil: undefined }),
    markup: fc.option(references, { nil: undefined }),
  })
  .map(({ query, images, mask, markup }) => ({
    ...query,
    images,
    ...(mask && { mask }),
    ...(markup && { markup }),
    files: [],
  }));

interface SentPart {
  readonly field: string;
  readonly filename?: string;
  readonly type?: string;
  readonly bytes: Uint8Array;
}

/** A form as parsed by a strict parser that is independent of the gateway's own. */
export async function partsOf({ body, headers }: UpstreamRequest): Promise<readonly SentPart[]> {
  if (typeof body !== "object") throw new Error("the body is not a form");
  const bytes = await readAll(body.open());
  if (bytes.length !== body.length) throw new Error("the form has another length than announced");
  return readMultipart(bytes, headers["content-type"] ?? "");
}

export function jsonOf({ body }: UpstreamRequest): Record<string, unknown> {
  if (typeof body !== "string") throw new Error("the body is not text");
  return JSON.parse(body) as Record<string, unknown>;
}

interface ResponseOptions {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The offsets at which the body is split into chunks. */
  readonly cuts?: readonly number[];
}

/** An upstream response, bounded only by the test. */
export function upstreamResponseOf(
  body: string | Uint8Array,
  options: ResponseOptions = {},
): UpstreamResponse {
  const { status = 200, headers = {}, cuts = [] } = options;
  const bytes = typeof body === "string" ? Buffer.from(body) : Buffer.from(body);
  const decoded = () => new TextDecoder().decode(bytes);
  return {
    status,
    headers: new Headers({ "content-type": "application/json", ...headers }),
    text: async () => decoded(),
    bytes: async () => withoutByteOrderMark(bytes),
    json: () => parseJson(decoded()),
    jsonWithVectors: async () => (await parseVectorsJson(withoutByteOrderMark(bytes))).value,
    chunks: async function* () {
      let from = 0;
      for (const cut of [...cuts, bytes.length].toSorted((a, b) => a - b)) {
        if (cut > from) yield new Uint8Array(bytes.subarray(from, cut));
        from = Math.max(from, cut);
      }
    },
  };
}
