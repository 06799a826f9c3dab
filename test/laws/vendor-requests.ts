/**
 * Generators for the vendor laws: queries within a target's capabilities, and responses that are corrupted at one
 * point.
 */
import fc from "fast-check";
import { itemsOf } from "../../server/embeddings/split.ts";
import { verifyEmbeddings } from "../../server/pipeline/verify-response.ts";
import type { Adapter, EmbeddingsAdapter } from "../../server/upstream/adapter.ts";
import { adapters } from "../../server/upstream/adapters/index.ts";
import type {
  EmbeddingCapabilities,
  EmbeddingInput,
  EmbeddingsQuery,
  EmbeddingsResponse,
  InputPart,
  MixedInput,
  Target,
} from "../../server/upstream/contract.ts";
import {
  parseTaskType,
  type TaskType,
  taskTypeFields,
  vendorTaskType,
} from "../../server/upstream/task-type.ts";
import { vendorCases } from "../embedding-vendors/index.ts";
import { imagePart } from "../embedding-vendors/input-images.ts";
import type { VendorCase, VendorResponse } from "../embedding-vendors/vendor-case.ts";
import { upstreamResponseOf, words } from "./adapter-cases.ts";

export interface VendorSubject {
  readonly vendor: VendorCase;
  readonly adapter: Adapter;
  readonly endpoint: EmbeddingsAdapter;
  readonly capabilities: EmbeddingCapabilities;
}

function subjectOf(vendor: VendorCase): VendorSubject {
  const adapter = adapters.get(vendor.target.upstream.kind);
  const endpoint = adapter?.embeddings;
  if (!adapter || !endpoint) throw new Error(`${vendor.name} has no embeddings adapter`);
  return { vendor, adapter, endpoint, capabilities: endpoint.capabilities(vendor.target) };
}

export const vendorSubjects: ReadonlyMap<string, VendorSubject> = new Map(
  vendorCases.map((vendor) => [vendor.name, subjectOf(vendor)]),
);

/** Task types of every vendor, with at least one for each task. */
const spoken = [
  "query",
  "search_query",
  "RETRIEVAL_QUERY",
  "document",
  "passage",
  "RETRIEVAL_DOCUMENT",
  "SEMANTIC_SIMILARITY",
  "text-matching",
  "classification",
  "CLUSTERING",
  "separation",
  "CODE_RETRIEVAL_QUERY",
  "QUESTION_ANSWERING",
  "FACT_VERIFICATION",
];

/** Includes undefined: most clients send no task type. */
function purposesFor({ taskTypes }: EmbeddingCapabilities): fc.Arbitrary<TaskType | undefined> {
  const field = fc.constantFrom(...taskTypeFields);
  if (taskTypes === "indifferent") return fc.constant(undefined);
  if (taskTypes === "as-given")
    return fc.option(fc.tuple(field, words).map(read), { nil: undefined });
  const known = [...spoken, ...Object.values(taskTypes.values)].filter(
    (value) => vendorTaskType(parseTaskType("task_type", value), taskTypes) !== undefined,
  );
  if (known.length === 0) return fc.constant(undefined);
  return fc.option(fc.tuple(field, fc.constantFrom(...known)).map(read), { nil: undefined });
}

const read = ([field, value]: [TaskType["field"], string]): TaskType => parseTaskType(field, value);

function dimensionsFor({ dimensions }: EmbeddingCapabilities): fc.Arbitrary<number | undefined> {
  if (dimensions === undefined || dimensions === "own") return fc.constant(undefined);
  const lengths =
    dimensions === "any" ? fc.integer({ min: 1, max: 4096 }) : fc.constantFrom(...dimensions);
  return fc.option(lengths, { nil: undefined });
}

function inputsFor({ maxItems, tokens }: EmbeddingCapabilities): fc.Arbitrary<EmbeddingInput> {
  const size = { minLength: 1, maxLength: Math.min(maxItems, 6) };
  const texts = fc.array(words, size).map((list) => ({ kind: "text", texts: list }) as const);
  if (!tokens) return texts;
  const ids = fc.array(fc.nat(50_000), { minLength: 1, maxLength: 8 });
  return fc.oneof(
    texts,
    fc.array(ids, size).map((list) => ({ kind: "tokens", tokens: list }) as const),
  );
}

/** Entries with images within the limits of a target. Every text and every image is unlike all others. */
export function mixedInput(capabilities: EmbeddingCapabilities, count: number): MixedInput {
  const { images, maxItems } = capabilities;
  if (!images) throw new Error("the target reads texts only");
  const [type = "image/png"] = images.types;
  const image = (at: number): InputPart => imagePart(Buffer.from(`image ${at} of a request`), type);
  const text = (at: number): InputPart => ({ kind: "text", text: `text${at}x` });
  const partsOf = (at: number): readonly InputPart[] => {
    if (!images.fuses) return [image(at)];
    if (images.fuses === "pair") return at % 2 === 0 ? [image(at)] : [text(at), image(at)];
    const second = (images.maxPerEntry ?? 2) > 1 ? [image(at + 1000)] : [];
    return at % 2 === 0 ? [image(at)] : [text(at), image(at), text(at + 1000), ...second];
  };
  const length = Math.min(count, images.maxItems ?? maxItems, images.maxPerRequest ?? count);
  const entries = Array.from({ length }, (_, at) => ({ parts: partsOf(at) }));
  return { kind: "mixed", entries };
}

/** Within the target's limits, as the stages ensure. */
export const queriesWithin = (capabilities: EmbeddingCapabilities): fc.Arbitrary<EmbeddingsQuery> =>
  fc
    .record({
      input: inputsFor(capabilities),
      single: fc.boolean(),
      encoding: fc.constantFrom("float" as const, "base64" as const),
      dimensions: dimensionsFor(capabilities),
      taskType: purposesFor(capabilities),
    })
    .map(({ single, dimensions, taskType, ...query }) => ({
      ...query,
      model: "public-model",
      single: single && itemsOf(query.input) === 1,
      ...(dimensions !== undefined && { dimensions }),
      ...(taskType !== undefined && { taskType }),
      extraFields: {},
    }));

export const plainQuery = (count: number): EmbeddingsQuery => ({
  model: "public-model",
  input: { kind: "text", texts: Array.from({ length: count }, (_, at) => `text ${at}`) },
  single: false,
  encoding: "float",
  extraFields: {},
});

/** Through the adapter and the verify stage. */
export async function readResponse(
  { endpoint, vendor: { target } }: VendorSubject,
  { status, headers, body }: VendorResponse,
  count: number,
  input?: EmbeddingInput,
): Promise<EmbeddingsResponse> {
  const query = { ...plainQuery(count), ...(input && { input }) };
  const options = { ...(status !== undefined && { status }), ...(headers && { headers }) };
  const response = await endpoint.fromUpstream(upstreamResponseOf(body, options), query, target);
  return verifyEmbeddings(response, query, undefined);
}

/** Names of regions, which are not secret, and values that are too short to be secrets. */
const open = new Set(["region", "location", "apiVersion", "family", "baseUrl", "token_uri"]);

/** Everything in a target that only the operator may see. */
export function secretsOf({ upstream }: Target): string[] {
  const inside = (value: unknown, name = ""): string[] => {
    if (typeof value === "string") return open.has(name) ? [] : [value];
    if (typeof value !== "object" || value === null) return [];
    return Object.entries(value).flatMap(([key, member]) => inside(member, key));
  };
  return [upstream.apiKey ?? "", ...inside(upstream.headers), ...inside(upstream.options)].filter(
    (secret) => secret.length >= 6,
  );
}

/** The JSON of a body with every text changed, or with one member replaced. */
export function everyText(body: string, change: (text: string) => string): string {
  const walk = (value: unknown): unknown => {
    if (typeof value === "string") return change(value);
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, walk(member)]));
  };
  return JSON.stringify(walk(JSON.parse(body)));
}

/** One variant for each member, in which that member has another value. */
export function* mutated(body: string, odd: unknown): Generator<string> {
  const members = countMembers(JSON.parse(body));
  for (let at = 0; at < members; at++) {
    let visited = 0;
    const walk = (value: unknown): unknown => {
      if (visited++ === at) return odd;
      if (Array.isArray(value)) return value.map(walk);
      if (typeof value !== "object" || value === null) return value;
      return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, walk(member)]));
    };
    yield JSON.stringify(walk(JSON.parse(body)));
  }
}

const countMembers = (value: unknown): number =>
  typeof value === "object" && value !== null
    ? Object.values(value).reduce((sum: number, member) => sum + countMembers(member), 1)
    : 1;
