/** Google's native Gemini API: its OpenAI-compatible API has no task types and reports no usage. */
import type { EmbeddingsAdapter, ImageAdapter, UpstreamRequest, Vendor } from "../../adapter.ts";
import type {
  EditQuery,
  EmbeddingCapabilities,
  EmbeddingsQuery,
  ExtraFields,
  Target,
  Upstream,
} from "../../contract.ts";
import {
  filesOf,
  headersOf,
  imageJsonRequest,
  jsonRequest,
  streamedJsonRequest,
} from "../wire/build-request.ts";
import { listIn, memberOf, membersOfList } from "../wire/members.ts";
import { taskTypeOf, vectorIn } from "../wire/native-embeddings.ts";
import { checkTruncated } from "../wire/truncated.ts";
import { truncation } from "../wire/truncation.ts";
import { geminiEntries, geminiImages, geminiParts, geminiUsage } from "./embedding-parts.ts";
import { googleErrorReader } from "./errors.ts";
import { geminiBody, geminiImageCapabilities, readGeminiImages } from "./gemini-images.ts";
import { taskPrefixes, taskTypes, wantsPrefixes } from "./task-types.ts";

const baseUrl = "https://generativelanguage.googleapis.com/v1beta";

/** A configured base URL may be that of the OpenAI-compatible API. */
const baseUrlOf = (upstream: Upstream): string =>
  (upstream.baseUrl ?? baseUrl).replace(/\/openai$/, "");

const authHeaders = (upstream: Upstream) =>
  headersOf(upstream, (key) => ({ "x-goog-api-key": key }));

/** `models/gemini-embedding-001` is the API's own name for it. */
const nameOf = ({ model }: Target): string => model.replace(/^models\//, "");

const addressOf = (target: Target, method: string): string =>
  `${baseUrlOf(target.upstream)}/models/${encodeURIComponent(nameOf(target))}:${method}`;

/** The API's error: "at most 100 requests can be in one batch"; @ai-sdk/google has the same number. */
const limits = { maxItems: 100, base64: false, tokens: false, dimensions: "any" } as const;

function capabilities({ model }: Target): EmbeddingCapabilities {
  // ai.google.dev/gemini-api/docs/embeddings: gemini-embedding-2 normalizes shortened vectors.
  if (wantsPrefixes(model))
    return { ...limits, taskTypes: taskPrefixes, normalized: true, images: geminiImages };
  // The same page: gemini-embedding-001 normalizes only vectors of the full 3072 dimensions.
  return { ...limits, taskTypes, normalized: false };
}

function toUpstream(query: EmbeddingsQuery, target: Target) {
  const taskType = taskTypeOf(query, capabilities(target));
  const prefixes = wantsPrefixes(target.model);
  const name = nameOf(target);
  // The API has no field for truncation (google-genai 3.1.0: "auto_truncate … not in Gemini Developer API mode"), and
  // refuses unknown fields.
  const { extraFields } = truncation(query);
  const requests = geminiEntries(query).map((parts) => ({
    ...extraFields,
    model: `models/${name}`,
    content: { parts: geminiParts(parts, prefixes ? taskType : "") },
    ...(!prefixes && taskType !== undefined && { taskType }),
    ...(query.dimensions !== undefined && { outputDimensionality: query.dimensions }),
  }));
  const [only, ...others] = requests;
  const headers = authHeaders(target.upstream);
  const build = query.input.kind === "mixed" ? streamedJsonRequest : jsonRequest;
  return only && others.length === 0
    ? build(addressOf(target, "embedContent"), headers, only)
    : build(addressOf(target, "batchEmbedContents"), headers, { requests });
}

const embeddings: EmbeddingsAdapter = {
  capabilities,
  toUpstream,
  fromUpstream: async (response, query) => {
    const body = await response.jsonWithVectors();
    const single = geminiEntries(query).length === 1;
    const entries = single ? [memberOf(body, "embedding")] : listIn(body, "embeddings");
    return {
      vectors: entries.map((entry) => vectorIn(entry, "values")),
      ...checkTruncated(query, [memberOf(body, "truncated")]),
      ...geminiUsage(memberOf(body, "usageMetadata")),
    };
  },
};

const imageRequest = (target: Target, body: ExtraFields): UpstreamRequest =>
  imageJsonRequest(addressOf(target, "generateContent"), authHeaders(target.upstream), body);

const generations: ImageAdapter = {
  toUpstream: (query, target) => imageRequest(target, geminiBody(query, target, [])),
  fromUpstream: readGeminiImages,
};

const edits: ImageAdapter<EditQuery> = {
  toUpstream: (query, target) =>
    imageRequest(target, geminiBody(query, target, filesOf(query.images))),
  fromUpstream: readGeminiImages,
};

export const gemini: Vendor = {
  kind: { name: "gemini", baseUrl, needs: ["apiKey"], options: {} },
  adapter: {
    embeddings,
    generations,
    edits,
    // The model chooses the file format here: only Vertex has an option for it.
    imageCapabilities: (target) => geminiImageCapabilities(target, {}, {}),
    models: {
      request: (upstream) => ({
        url: `${baseUrlOf(upstream)}/models?pageSize=1000`,
        headers: authHeaders(upstream),
      }),
      read: (body) =>
        membersOfList(
          "models",
          "name",
        )(body)?.map((name) => (typeof name === "string" ? name.replace(/^models\//, "") : name)),
    },
    readError: googleErrorReader(() => [new URL(baseUrl).host]),
  },
};
