/** A gateway in front of a fake vendor with batches, and a client of its batches. */
import OpenAI from "openai";
import type { FakeResult } from "../../fake-upstream/batches/fake-batch.ts";
import { startFakeBatches, type VendorKind } from "../../fake-upstream/batches/fake-batches.ts";
import { asBase64, asFloats, fakeTokens, fakeVector } from "../../fake-upstream/vectors.ts";
import { testKey } from "../../harness.ts";
import { until } from "../../until.ts";
import { line, resultLines, uploadLines } from "../lines.ts";

export const vendorModels = {
  openai: { model: "text-embedding-3-small", dimensions: 1536, price: 0.02, factor: 0.5 },
  voyage: { model: "voyage-4", dimensions: 1024, price: 0.06, factor: 0.67 },
  mistral: { model: "mistral-embed", dimensions: 1024, price: 0.1, factor: 0.5 },
  gemini: { model: "gemini-embedding-001", dimensions: 3072, price: 0.15, factor: 0.5 },
} as const satisfies Record<VendorKind, object>;

interface VendorLine {
  readonly custom_id?: string;
  readonly key?: string;
  readonly body?: { readonly input: string | readonly string[]; readonly encoding_format?: string };
  readonly request?: { readonly content: { readonly parts: readonly { readonly text: string }[] } };
}

/** What the vendor's batch responds to each line of its input file. A text that begins with `bad` fails. */
const embedFile =
  (kind: VendorKind) =>
  (file: string): FakeResult[] =>
    file
      .trimEnd()
      .split("\n")
      .map((text) => resultOf(kind, JSON.parse(text) as VendorLine));

function resultOf(kind: VendorKind, { custom_id, key, body, request }: VendorLine): FakeResult {
  const { dimensions } = vendorModels[kind];
  const id = custom_id ?? key ?? "";
  if (request) {
    const text = request.content.parts[0]?.text ?? "";
    if (text.startsWith("bad")) return { id, status: 400, body: null };
    const values = asFloats(fakeVector(text, dimensions));
    const usageMetadata = { promptTokenCount: fakeTokens(text) };
    return { id, status: 200, body: { embedding: { values }, usageMetadata } };
  }
  const unknown = ["metadata", "safety_identifier"].find((name) => name in (body ?? {}));
  if (unknown !== undefined)
    return { id, status: 400, body: { error: { message: `Unrecognized: ${unknown}` } } };
  const inputs = [body?.input ?? ""].flat();
  if (inputs.some((text) => text.startsWith("bad")))
    return { id, status: 400, body: { error: { message: "Invalid input.", type: "invalid" } } };
  const tokens = inputs.reduce((sum, text) => sum + fakeTokens(text), 0);
  const isBase64 = body?.encoding_format === "base64";
  const data = inputs.map((text, index) => {
    const vector = fakeVector(text, dimensions);
    return {
      object: "embedding",
      index,
      embedding: isBase64 ? asBase64(vector) : asFloats(vector),
    };
  });
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  return {
    id,
    status: 200,
    body: { object: "list", data, model: vendorModels[kind].model, usage },
  };
}

export const startVendor = (kind: VendorKind) => startFakeBatches(kind, embedFile(kind));

/** `more`: other members of the model, such as `batches`, and of the key. */
export const vendorYaml = (
  kind: VendorKind,
  url: string,
  { model = "", key = "", targets = "" } = {},
): string => `
upstreams:
  - { id: vendor, kind: ${kind}, baseUrl: "${url}", apiKey: sk-fake }
models:
  - id: embedding
    kind: embedding
    showCost: true
    targets: [{ upstream: vendor, model: ${vendorModels[kind].model} }${targets}]
    ${model}
keys:
  - { name: test, key: ${testKey}${key} }
builtInModels: false
`;

export const sdk = (url: string): OpenAI =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: testKey, maxRetries: 0 });

export const inputLine = (id: string, input: unknown): string =>
  line(id, "/v1/embeddings", { model: "embedding", input });

export interface VexelBatch extends OpenAI.Batch {
  readonly vexel: {
    readonly waiting: { readonly message: string } | null;
    readonly batch: string | null;
    readonly estimated_cost: { readonly now: number | null; readonly vendor: number | null } | null;
    readonly cost: { readonly actual: number; readonly now: number } | null;
  };
}

export const createBatch = async (
  client: OpenAI,
  text: string,
  metadata: Record<string, string> = {},
): Promise<VexelBatch> =>
  (await client.batches.create({
    input_file_id: await uploadLines(client, text),
    endpoint: "/v1/embeddings",
    completion_window: "24h",
    metadata,
  })) as VexelBatch;

export async function endOf(client: OpenAI, id: string): Promise<VexelBatch> {
  let batch: VexelBatch | undefined;
  await until(async () => {
    batch = (await client.batches.retrieve(id)) as VexelBatch;
    return ["completed", "failed", "expired", "cancelled"].includes(batch.status);
  });
  return batch as VexelBatch;
}

/** The results of a batch by custom_id, of both files. */
export async function resultsOf(client: OpenAI, batch: VexelBatch) {
  const files = [batch.output_file_id, batch.error_file_id].filter((id) => typeof id === "string");
  const lines = (await Promise.all(files.map((id) => resultLines(client, id)))).flat();
  return new Map(lines.map((each) => [each.custom_id, each]));
}
