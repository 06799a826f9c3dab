/** The Gemini API: https://ai.google.dev/api/embeddings. */
import type { UpstreamRequest } from "../../server/upstream/adapter.ts";
import { taskPrefixes } from "../../server/upstream/adapters/google/task-types.ts";
import type { InputPart, Target } from "../../server/upstream/contract.ts";
import { googleRefusals } from "./google-refusals.ts";
import { entriesIn, partIn } from "./input-images.ts";
import type { Understood, VendorCase } from "./vendor-case.ts";
import { expectHeader, expectOnly, expectUrl, readBody, writeFloats } from "./written.ts";

const key = "AIzaSyVexel0123456789abcdefghijklmnop";
const host = "generativelanguage.googleapis.com";

const targetOf = (model: string, baseUrl?: string): Target => ({
  model,
  upstream: {
    id: "gemini",
    kind: "gemini",
    ...(baseUrl !== undefined && { baseUrl }),
    apiKey: key,
    headers: {},
    options: {},
  },
});

interface Part {
  readonly text?: string;
  readonly inlineData?: { readonly mimeType: string; readonly data: string };
  readonly inline_data?: { readonly mime_type: string; readonly data: string };
}

interface Request {
  readonly model: string;
  readonly content: { readonly role?: string; readonly parts: readonly Part[] };
  readonly taskType?: string;
  readonly outputDimensionality?: number;
}

/** gemini-embedding-2 reads the task type from the text. */
export function splitPrefix(text: string): { readonly text: string; readonly taskType?: string } {
  const prefix = Object.values(taskPrefixes.values).find((phrase) => text.startsWith(phrase));
  return prefix === undefined ? { text } : { text: text.slice(prefix.length), taskType: prefix };
}

/** google-genai 3.3.0 sends `inline_data`, in base64 for URLs: Google's APIs read both names and both forms. */
function readPart({ text, inlineData, inline_data: other }: Part): InputPart {
  const [type, data] = inlineData
    ? [inlineData.mimeType, inlineData.data]
    : [other?.mime_type, other?.data];
  return partIn(text, `data:${type};base64,${data}`);
}

interface ReadContent {
  readonly parts: readonly InputPart[];
  readonly taskType?: string;
}

/** The task type precedes the first text. */
function withoutPrefix(parts: readonly InputPart[]): ReadContent {
  const at = parts.findIndex(({ kind }) => kind === "text");
  const first = parts[at];
  if (first?.kind !== "text") return { parts };
  const { text, ...purpose } = splitPrefix(first.text);
  return { parts: parts.with(at, { kind: "text", text }), ...purpose };
}

function understand(request: UpstreamRequest, name: string): Understood {
  expectHeader(request, "x-goog-api-key", key);
  const body = readBody(request);
  const batch = Array.isArray(body.requests);
  // google-genai 3.3.0 uses v1.
  const version = request.url.startsWith(`https://${host}/v1/`) ? "v1" : "v1beta";
  expectUrl(
    request,
    `https://${host}/${version}/models/${name}:${batch ? "batchEmbedContents" : "embedContent"}`,
  );
  if (batch) expectOnly(body, ["requests"]);
  const requests = (batch ? body.requests : [body]) as readonly Request[];
  const read = requests.map((one): ReadContent => {
    expectOnly(one, ["model", "content", "taskType", "outputDimensionality"]);
    if (one.model !== `models/${name}`) throw new Error(`there is no model ${one.model}`);
    const parts = one.content.parts.map(readPart);
    const [part, ...others] = parts;
    if (name.includes("gemini-embedding-2")) return withoutPrefix(parts);
    if (part?.kind !== "text" || others.length > 0) throw new Error("a content must have one text");
    return { parts, ...(one.taskType !== undefined && { taskType: one.taskType }) };
  });
  const [first] = requests;
  const taskType = read[0]?.taskType;
  if (requests.some((one) => one.outputDimensionality !== first?.outputDimensionality))
    throw new Error("lengths differ within one batch");
  if (read.some((one) => one.taskType !== taskType)) throw new Error("purposes differ");
  return {
    input: entriesIn(read.map(({ parts }) => parts)),
    encoding: "float",
    ...(first?.outputDimensionality !== undefined && { dimensions: first.outputDimensionality }),
    ...(taskType !== undefined && { taskType }),
  };
}

const entryOf = (vector: Float32Array | undefined): string => `{"values":${writeFloats(vector)}}`;
const usageOf = (tokens: number | undefined): string =>
  tokens === undefined ? "" : `,"usageMetadata":{"promptTokenCount":${tokens}}`;

/** To `batchEmbedContents`, which google-genai also sends for one content. */
export const batchResponse: VendorCase["response"] = (vectors, tokens) => ({
  body: `{"embeddings":[${vectors.map(entryOf).join(",")}]${usageOf(tokens)}}`,
});

const caseOf = (name: string, target: Target, model = target.model): VendorCase => ({
  name,
  target,
  understand: (request) => understand(request, model),
  response: ([first, ...others], tokens) =>
    others.length === 0
      ? { body: `{"embedding":${entryOf(first)}${usageOf(tokens)}}` }
      : batchResponse([first as Float32Array, ...others], tokens),
  tellsUsage: true,
  refusals: googleRefusals({ host, project: "projects/4711471147" }),
});

export const geminiCases: readonly VendorCase[] = [
  caseOf("gemini", targetOf("gemini-embedding-001")),
  caseOf("gemini, gemini-embedding-2", targetOf("gemini-embedding-2")),
  caseOf(
    "gemini, by the address of its OpenAI-compatible surface",
    targetOf("models/gemini-embedding-001", `https://${host}/v1beta/openai`),
    "gemini-embedding-001",
  ),
];
