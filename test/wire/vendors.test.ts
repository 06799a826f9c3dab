/**
 * Vendors with their own embeddings API, by examples of their documentation: vendors/<kind>[.<family>].json holds the
 * client's query, the upstream request, the vendor's response and our response. UPDATE_GOLDENS=1 rewrites `request`;
 * check the difference before you commit it.
 */
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { EncodedVector } from "../../server/lib/vector-codec/float32-base64.ts";
import type { UpstreamRequest } from "../../server/upstream/adapter.ts";
import { adapters, nativeEmbeddings } from "../../server/upstream/adapters/index.ts";
import type {
  EmbeddingInput,
  EmbeddingsQuery,
  Target,
  Vector,
} from "../../server/upstream/contract.ts";
import { vendorCases } from "../embedding-vendors/index.ts";
import { imagePart, withTextBody } from "../embedding-vendors/input-images.ts";
import { upstreamResponseOf } from "../laws/adapter-cases.ts";

interface Golden {
  /** The URL of the example. */
  readonly source: string;
  readonly target: Target;
  readonly query: EmbeddingsQuery;
  /** With the secrets masked. */
  readonly request?: {
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: unknown;
  };
  readonly response: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: unknown;
  };
  readonly vectors: readonly (readonly number[])[];
  /** Null if the vendor reports no usage. */
  readonly usage: number | null;
  /** If absent, the vendor does not report the tokens of images. */
  readonly imageTokens?: number;
}

const folder = join(import.meta.dir, "vendors");
const files = readdirSync(folder).filter((name) => name.endsWith(".json"));
const updating = process.env.UPDATE_GOLDENS === "1";
/** The time of signatures. */
const now = Date.parse("2026-01-01T00:00:00Z");

const secretOptions = ["accessKeyId", "secretAccessKey", "sessionToken"] as const;

function masked(text: string, { upstream }: Target): string {
  const { apiKey, options } = upstream;
  const secrets = [apiKey, ...secretOptions.map((name) => options[name])];
  return secrets.reduce<string>(
    (safe, secret) => (typeof secret === "string" ? safe.replaceAll(secret, "***") : safe),
    // The boundary of a form is random.
    text.replaceAll(/vexel-[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, "vexel-boundary"),
  );
}

async function show(request: UpstreamRequest, target: Target): Promise<Golden["request"]> {
  const { url, headers, body } = await withTextBody(request);
  if (typeof body !== "string") throw new Error("the request has no body");
  const json = headers["content-type"]?.startsWith("application/json");
  const shown = { url, headers, body: json ? JSON.parse(body) : body };
  return JSON.parse(masked(JSON.stringify(shown), target));
}

const floatsOf = (vector: Vector): number[] =>
  typeof vector === "string" || vector instanceof EncodedVector
    ? [...new Float32Array(new Uint8Array(Buffer.from(String(vector), "base64")).buffer)]
    : [...Float32Array.from(vector)];

/** In a golden file, an image is `{"kind": "image", "png": "base64"}`. */
function withImages(input: EmbeddingInput): EmbeddingInput {
  if (input.kind !== "mixed") return input;
  const entries = input.entries.map(({ parts }) => ({
    parts: parts.map((part) =>
      "png" in part ? imagePart(Buffer.from(String(part.png), "base64")) : part,
    ),
  }));
  return { kind: "mixed", entries };
}

describe.each(files)("%s", (name) => {
  const path = join(folder, name);
  const golden = JSON.parse(readFileSync(path, "utf8")) as Golden;
  const { target } = golden;
  const query = { ...golden.query, input: withImages(golden.query.input) };
  const adapter = adapters.get(target.upstream.kind);
  const endpoint = adapter?.embeddings;
  if (!adapter || !endpoint) throw new Error(`${name}: ${target.upstream.kind} has no embeddings`);

  test("names its kind and the source of the example", () => {
    expect(basename(name, ".json").split(".")[0]).toBe(target.upstream.kind);
    expect(golden.source).toMatch(/^https:\/\//);
  });

  test("is sent in the format of the vendor", async () => {
    const upstreamRequest = endpoint.toUpstream(query, target);
    const request = await show(
      adapter.sign?.(upstreamRequest, target.upstream, now) ?? upstreamRequest,
      target,
    );
    if (updating) writeFileSync(path, `${JSON.stringify({ ...golden, request }, null, 2)}\n`);
    else expect(request).toEqual(golden.request);
  });

  test("has its response mapped", async () => {
    const { status, headers, body } = golden.response;
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const response = await endpoint.fromUpstream(
      upstreamResponseOf(text, { status, headers }),
      query,
      target,
    );
    const expected = golden.vectors.map((vector) => [...Float32Array.from(vector)]);
    expect(response.vectors.map(floatsOf)).toEqual(expected);
    expect(response.usage?.inputTokens ?? null).toBe(golden.usage);
    expect(response.usage?.imageTokens).toBe(golden.imageTokens);
  });
});

test("every kind that makes quantized vectors has an example of them", () => {
  const quantizing = new Set(
    vendorCases.filter((vendor) => vendor.quantized).map(({ target }) => target.upstream.kind),
  );
  // Its API is this gateway's own: test/embeddings/quantized-vectors.test.ts.
  quantizing.delete("vexel");
  const covered = files.flatMap((name) => {
    const { query, target } = JSON.parse(readFileSync(join(folder, name), "utf8")) as Golden;
    return query.outputType ? [target.upstream.kind] : [];
  });
  expect([...quantizing].sort()).toEqual([...new Set(covered)].sort());
});

test("every kind with its own embeddings API has an example", () => {
  const covered = new Set(files.map((name) => name.split(".")[0]));
  const silent = nativeEmbeddings.filter(
    ({ kind, adapter }) => adapter.embeddings && !covered.has(kind.name),
  );
  expect(silent.map(({ kind }) => kind.name)).toEqual([]);
});

test("every kind that reads images has an example with an image", () => {
  const withImage = new Set(
    files
      .filter((name) => readFileSync(join(folder, name), "utf8").includes('"kind": "mixed"'))
      .map((name) => name.split(".")[0]),
  );
  const readers = vendorCases
    .filter(
      ({ target }) => adapters.get(target.upstream.kind)?.embeddings?.capabilities(target).images,
    )
    .map(({ target }) => target.upstream.kind);
  // The API of `vexel` is this gateway's own: test/embeddings/vexel-behind-vexel.test.ts.
  const silent = new Set(readers.filter((kind) => !withImage.has(kind) && kind !== "vexel"));
  expect([...silent]).toEqual([]);
});
