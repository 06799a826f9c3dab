/**
 * The upstream request of each adapter for a request with all parameters: full.<endpoint>.request.json gives
 * full.<endpoint>.<adapter>.golden.json. UPDATE_GOLDENS=1 rewrites them; check the difference before you commit it.
 */
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createEditsEndpoint } from "../../server/api/edits.ts";
import { embeddingsEndpoint } from "../../server/api/embeddings.ts";
import { generationsEndpoint } from "../../server/api/generations.ts";
import type { FilePart, Form, IncomingRequest } from "../../server/request/http-types.ts";
import type { Adapter, UpstreamRequest } from "../../server/upstream/adapter.ts";
import {
  adapters,
  openaiEmbeddingsOwnImages,
  openaiEmbeddingsVendors,
} from "../../server/upstream/adapters/index.ts";
import type {
  EmbeddingCapabilities,
  EmbeddingsQuery,
  Target,
} from "../../server/upstream/contract.ts";
import { kinds } from "../../server/upstream/kinds.ts";
import { readAll } from "../chunks.ts";
import { readMultipart } from "../fake-upstream/multipart.ts";

const edits = createEditsEndpoint(undefined);

const key = "sk-upstream-0123456789";
const updating = process.env.UPDATE_GOLDENS === "1";

interface Variant {
  readonly name: string;
  readonly adapter: Adapter;
  readonly target: Target;
}

const targetOf = (kind: string, options: Record<string, unknown>): Target => ({
  model: "org/target-model",
  upstream: {
    id: "upstream",
    kind,
    ...(kinds.get(kind)?.baseUrl === undefined && { baseUrl: "https://upstream.example/v1" }),
    apiKey: key,
    headers: { "x-extra": "of the configuration" },
    options,
  },
});

/** Azure has two surfaces: the newer one, and deployments with a version. */
const variants: readonly Variant[] = [
  ...openaiEmbeddingsVendors.map(({ kind: { name }, adapter }) => ({
    name,
    adapter,
    target: targetOf(name, {}),
  })),
  {
    name: "azure-deployments",
    adapter: adapters.get("azure")!,
    target: targetOf("azure", { apiVersion: "2025-04-01-preview" }),
  },
].map(({ target, ...variant }) =>
  variant.name.startsWith("azure")
    ? {
        ...variant,
        target: {
          ...target,
          upstream: { ...target.upstream, baseUrl: "https://house.openai.azure.com" },
        },
      }
    : { ...variant, target },
);

const read = <T>(name: string): T => JSON.parse(readFileSync(join(import.meta.dir, name), "utf8"));
const incoming = (parts: Partial<IncomingRequest>): IncomingRequest => parts as IncomingRequest;
const jsonOf = (name: string): IncomingRequest =>
  incoming({
    headers: new Headers({ "content-type": "application/json" }),
    bytesReceived: 0,
    json: async () => read(name),
    jsonWithImages: async () => read(name),
  });

interface WrittenForm {
  readonly fields: Readonly<Record<string, string>>;
  readonly files: readonly { field: string; filename: string; type: string; text: string }[];
}

const formOf = (name: string): IncomingRequest =>
  incoming({
    headers: new Headers({ "content-type": "multipart/form-data; boundary=x" }),
    form: async (): Promise<Form> => {
      const { fields, files } = read<WrittenForm>(name);
      return {
        fields: Object.entries(fields).map(([name, value]) => ({ name, value })),
        files: files.map(({ text, ...head }): FilePart => {
          const bytes = new TextEncoder().encode(text);
          const stream = () => new Blob([bytes]).stream();
          return { ...head, size: bytes.length, stream, bytes: async () => bytes };
        }),
        dispose: async () => undefined,
      };
    },
  });

const embeddings = embeddingsEndpoint({ maxInputs: 2048 });
/** Every request of these tests names its model. */
const unchanged = (model: unknown): unknown => model;

type RequestBuilder = (variant: Variant) => Promise<UpstreamRequest | undefined>;

/** Within the limits of the target, as the stages ensure. */
function within(
  query: EmbeddingsQuery,
  capabilities: EmbeddingCapabilities,
): EmbeddingsQuery | undefined {
  if (query.input.kind === "tokens" && !capabilities.tokens) return undefined;
  const { dimensions, ...others } = query;
  const { dimensions: supported } = capabilities;
  const makes =
    supported === "any" ||
    (supported !== "own" && dimensions !== undefined && supported?.includes(dimensions));
  return makes ? query : others;
}

const buildEmbeddings =
  (file: string): RequestBuilder =>
  async ({ adapter, target }) => {
    const capabilities = adapter.embeddings?.capabilities(target);
    const query =
      capabilities &&
      within((await embeddings.read(jsonOf(file), "a-key", unchanged)).query, capabilities);
    return query && adapter.embeddings?.toUpstream(query, target);
  };

/** Adapters with their own image API have their own goldens. */
const unlessOwnImages =
  (build: RequestBuilder): RequestBuilder =>
  async (variant) =>
    ownImages.has(variant.target.upstream.kind) ? undefined : build(variant);
const ownImages = new Set(openaiEmbeddingsOwnImages.map(({ kind }) => kind.name));

const endpoints: Readonly<Record<string, RequestBuilder>> = {
  embeddings: buildEmbeddings("full.embeddings.request.json"),
  tokens: buildEmbeddings("full.tokens.request.json"),
  generations: unlessOwnImages(async ({ adapter, target }) =>
    adapter.generations?.toUpstream(
      (await generationsEndpoint.read(jsonOf("full.generations.request.json"), "a-key", unchanged))
        .query,
      target,
    ),
  ),
  edits: unlessOwnImages(async ({ adapter, target }) =>
    adapter.edits?.toUpstream(
      (await edits.read(formOf("full.edits.request.json"), "a-key", unchanged)).query,
      target,
    ),
  ),
  "edits-json": unlessOwnImages(async ({ adapter, target }) =>
    adapter.edits?.toUpstream(
      (await edits.read(jsonOf("full.edits-json.request.json"), "a-key", unchanged)).query,
      target,
    ),
  ),
};

/** Readable: the key masked, JSON and forms parsed. */
async function show({ url, headers, body }: UpstreamRequest): Promise<string> {
  const type = headers["content-type"] ?? "";
  const boundary = /boundary=(.*)/.exec(type)?.[1];
  const shown = { url, headers, body: await showBody(body, type) };
  const text = JSON.stringify(shown, null, 2).replaceAll(key, "***");
  return `${boundary ? text.replaceAll(boundary, "(boundary)") : text}\n`;
}

async function showBody(body: UpstreamRequest["body"], type: string): Promise<unknown> {
  if (typeof body === "string") {
    expect(body).not.toContain(key);
    return JSON.parse(body);
  }
  if (!body) return undefined;
  const bytes = await readAll(body.open());
  expect(bytes.length).toBe(body.length);
  expect(bytes.includes(key)).toBe(false);
  return readMultipart(bytes, type).map(({ bytes: content, ...head }) => ({
    ...head,
    content: Buffer.from(content).toString(),
  }));
}

for (const [endpoint, build] of Object.entries(endpoints)) {
  describe(`a full ${endpoint} request`, () => {
    test.each(variants.map((variant) => [variant.name, variant] as const))(
      "is sent to %s exactly as in its golden file",
      async (name, variant) => {
        const request = await build(variant);
        const path = join(import.meta.dir, `full.${endpoint}.${name}.golden.json`);
        if (!request) return expect(existsSync(path)).toBe(false);
        const text = await show(request);
        expect(request.url).not.toContain(key);
        if (updating) writeFileSync(path, text);
        expect(existsSync(path), `no golden file: run once with UPDATE_GOLDENS=1`).toBe(true);
        expect(text).toBe(readFileSync(path, "utf8"));
      },
    );
  });
}

test("no golden file of a removed adapter is left", () => {
  const expected = new Set(
    Object.keys(endpoints).flatMap((endpoint) =>
      variants.map(({ name }) => `full.${endpoint}.${name}.golden.json`),
    ),
  );
  const there = readdirSync(import.meta.dir).filter((name) => name.endsWith(".golden.json"));
  expect(there.filter((name) => !expected.has(name))).toEqual([]);
});
