/** The Gemini API: https://ai.google.dev/api/embeddings. */
import type { UpstreamRequest } from "../../server/upstream/adapter.ts";
import { taskPrefixes } from "../../server/upstream/adapters/google/task-types.ts";
import type { Target } from "../../server/upstream/contract.ts";
import { googleRefusals } from "./google-refusals.ts";
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

interface Request {
  readonly model: string;
  readonly content: { readonly parts: readonly { readonly text: string }[] };
  readonly taskType?: string;
  readonly outputDimensionality?: number;
}

/** gemini-embedding-2 reads the task type from the text. */
export function splitPrefix(text: string): { readonly text: string; readonly taskType?: string } {
  const prefix = Object.values(taskPrefixes.values).find((phrase) => text.startsWith(phrase));
  return prefix === undefined ? { text } : { text: text.slice(prefix.length), taskType: prefix };
}

function understand(request: UpstreamRequest, name: string): Understood {
  expectHeader(request, "x-goog-api-key", key);
  const body = readBody(request);
  const batch = Array.isArray(body.requests);
  expectUrl(
    request,
    `https://${host}/v1beta/models/${name}:${batch ? "batchEmbedContents" : "embedContent"}`,
  );
  if (batch) expectOnly(body, ["requests"]);
  const requests = (batch ? body.requests : [body]) as readonly Request[];
  const read = requests.map((one) => {
    expectOnly(one, ["model", "content", "taskType", "outputDimensionality"]);
    if (one.model !== `models/${name}`) throw new Error(`there is no model ${one.model}`);
    const [part, ...others] = one.content.parts;
    if (!part || others.length > 0) throw new Error("a content must have one part");
    return name.includes("gemini-embedding-2")
      ? splitPrefix(part.text)
      : { text: part.text, ...(one.taskType !== undefined && { taskType: one.taskType }) };
  });
  const [first] = requests;
  const taskType = read[0]?.taskType;
  if (requests.some((one) => one.outputDimensionality !== first?.outputDimensionality))
    throw new Error("lengths differ within one batch");
  if (read.some((one) => one.taskType !== taskType)) throw new Error("purposes differ");
  return {
    input: { kind: "text", texts: read.map(({ text }) => text) },
    encoding: "float",
    ...(first?.outputDimensionality !== undefined && { dimensions: first.outputDimensionality }),
    ...(taskType !== undefined && { taskType }),
  };
}

const caseOf = (name: string, target: Target, model = target.model): VendorCase => ({
  name,
  target,
  understand: (request) => understand(request, model),
  response: (vectors, tokens) => {
    const entries = vectors.map((vector) => `{"values":${writeFloats(vector)}}`);
    const usage = tokens === undefined ? "" : `,"usageMetadata":{"promptTokenCount":${tokens}}`;
    return {
      body:
        vectors.length === 1
          ? `{"embedding":${entries[0]}${usage}}`
          : `{"embeddings":[${entries.join(",")}]${usage}}`,
    };
  },
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
