/** Google's Vertex AI: the Gemini API's models and some older ones, at a project's own URL. */
import { z } from "zod";
import type {
  EmbeddingsAdapter,
  ImageAdapter,
  ReadImages,
  UpstreamRequest,
  UpstreamResponse,
  Vendor,
} from "../../adapter.ts";
import type {
  EditQuery,
  EmbeddingCapabilities,
  EmbeddingsQuery,
  EmbeddingsResponse,
  ExtraFields,
  ImageOperation,
  Target,
  Upstream,
} from "../../contract.ts";
import { googleAuth, googleCredential } from "../../credentials/google.ts";
import {
  bearer,
  filesOf,
  headersOf,
  imageJsonRequest,
  jsonRequestFor,
  type WireHeaders,
} from "../wire/build-request.ts";
import { isCount, listIn, memberOf } from "../wire/members.ts";
import { taskTypeOf, textsOf, usageOf, vectorIn } from "../wire/native-embeddings.ts";
import { checkTruncated } from "../wire/truncated.ts";
import { truncation } from "../wire/truncation.ts";
import { type ServiceAccount, serviceAccountText } from "./account.ts";
import { geminiEntries, geminiImages, geminiParts, geminiUsage } from "./embedding-parts.ts";
import { googleErrorReader } from "./errors.ts";
import { geminiBody, geminiImageCapabilities, readGeminiImages } from "./gemini-images.ts";
import { imagenBody, imagenCapabilities, imagenEditBody, isImagen, readImagen } from "./imagen.ts";
import {
  isMultimodalEmbedding,
  multimodalBody,
  multimodalCapabilities,
  readMultimodal,
} from "./multimodal-embedding.ts";
import { taskPrefixes, taskTypes, wantsPrefixes } from "./task-types.ts";

interface VertexOptions {
  readonly project?: string;
  readonly location?: string;
  readonly serviceAccount?: ServiceAccount;
}

const optionsOf = (upstream: Upstream): VertexOptions => upstream.options;

/** As in Google's own clients: `global`, `us` and `eu` have host names of another form. */
function baseUrlOf(upstream: Upstream): string {
  const { location = "global" } = optionsOf(upstream);
  if (upstream.baseUrl !== undefined) return upstream.baseUrl;
  if (location === "global") return "https://aiplatform.googleapis.com/v1";
  if (location === "us" || location === "eu")
    return `https://aiplatform.${location}.rep.googleapis.com/v1`;
  return `https://${location}-aiplatform.googleapis.com/v1`;
}

/**
 * google-genai 3.1.0, `t_model`: `publishers/intfloat/models/name`, or `intfloat/name`; without a publisher, Google's.
 */
function publishedAs(model: string): { readonly publisher: string; readonly name: string } {
  const { publisher = "google", name = model } =
    /^(?:publishers\/)?(?<publisher>[\w-]+)\/(?:models\/)?(?<name>[^/]+)$/.exec(model)?.groups ??
    {};
  return { publisher, name };
}

function addressOf({ upstream, model }: Target, method: string): string {
  const { project, location = "global" } = optionsOf(upstream);
  const { publisher, name } = publishedAs(model);
  const path = [
    ...(project === undefined ? [] : ["projects", project, "locations", location]),
    ...["publishers", publisher, "models"],
  ];
  // `@001` is not encoded in any of Google's examples.
  const encodedName = encodeURIComponent(name).replaceAll("%40", "@");
  return `${baseUrlOf(upstream)}/${path.join("/")}/${encodedName}:${method}`;
}

/**
 * `apiKey` is a token that the operator has fetched or, without a project, a key of the express mode (google-genai
 * 3.3.0, BaseApiClient: `x-goog-api-key`, and a path that begins with `publishers/`, for embeddings as well).
 */
const authHeaders = (upstream: Upstream): WireHeaders =>
  optionsOf(upstream).project === undefined
    ? headersOf(upstream, (key) => ({ "x-goog-api-key": key }))
    : bearer(upstream);

const buildRequest = (
  query: EmbeddingsQuery,
  target: Target,
  method: string,
  body: ExtraFields,
): UpstreamRequest =>
  jsonRequestFor(query)(addressOf(target, method), authHeaders(target.upstream), body);

const limits = { base64: false, tokens: false, dimensions: "any" } as const;

/**
 * google-genai 3.1.0, `t_is_vertex_embed_content_model`: every Gemini model but the first, and open models as a
 * service.
 */
function usesEmbedContent(model: string): boolean {
  const { name } = publishedAs(model);
  return (name.includes("gemini") && name !== "gemini-embedding-001") || name.includes("maas");
}

function capabilities({ model }: Target): EmbeddingCapabilities {
  if (isMultimodalEmbedding(model)) return multimodalCapabilities;
  // :embedContent takes one content (googleapis/js-genai, Models.embedContent).
  if (wantsPrefixes(model))
    return {
      ...limits,
      maxItems: 1,
      taskTypes: taskPrefixes,
      normalized: true,
      images: geminiImages,
    };
  if (usesEmbedContent(model)) return { ...limits, maxItems: 1, taskTypes };
  // cloud.google.com/vertex-ai/generative-ai/docs/embeddings/get-text-embeddings: gemini-embedding-001 takes one text
  // per request; its error is "batchSize must be 1".
  if (model.includes("gemini")) return { ...limits, maxItems: 1, taskTypes };
  // The same page: 250 texts, 20,000 tokens together.
  return { ...limits, maxItems: 250, maxTokens: 20_000, taskTypes };
}

/** One content, with its options next to it. */
function toEmbedContent(query: EmbeddingsQuery, target: Target): UpstreamRequest {
  const { mayTruncate, extraFields } = truncation(query);
  const [parts = []] = geminiEntries(query);
  const taskType = taskTypeOf(query, capabilities(target)) ?? "";
  const prefixed = wantsPrefixes(target.model);
  return buildRequest(query, target, "embedContent", {
    content: { role: "user", parts: geminiParts(parts, prefixed ? taskType : "") },
    embedContentConfig: {
      // By default, Google truncates (google-genai 3.1.0, EmbedContentConfig.auto_truncate).
      autoTruncate: mayTruncate,
      ...extraFields,
      ...(!prefixed && taskType !== "" && { taskType }),
      ...(query.dimensions !== undefined && { outputDimensionality: query.dimensions }),
    },
  });
}

/** `title` belongs to a text, all other fields to the request. */
function toPredict(query: EmbeddingsQuery, target: Target): UpstreamRequest {
  const { mayTruncate, extraFields } = truncation(query);
  const { title, ...parameters } = extraFields;
  const taskType = taskTypeOf(query, capabilities(target));
  return buildRequest(query, target, "predict", {
    instances: textsOf(query).map((content) => ({
      ...(title !== undefined && { title }),
      ...(taskType !== undefined && { task_type: taskType }),
      content,
    })),
    parameters: {
      // By default, Vertex truncates at the end.
      autoTruncate: mayTruncate,
      ...parameters,
      ...(query.dimensions !== undefined && { outputDimensionality: query.dimensions }),
    },
  });
}

async function fromEmbedContent(
  response: UpstreamResponse,
  query: EmbeddingsQuery,
): Promise<EmbeddingsResponse> {
  const body = await response.jsonWithVectors();
  return {
    vectors: [vectorIn(memberOf(body, "embedding"), "values")],
    ...checkTruncated(query, [memberOf(body, "truncated")]),
    ...geminiUsage(memberOf(body, "usageMetadata")),
  };
}

async function fromPredict(
  response: UpstreamResponse,
  query: EmbeddingsQuery,
): Promise<EmbeddingsResponse> {
  const entries = listIn(await response.jsonWithVectors(), "predictions").map((prediction) =>
    memberOf(prediction, "embeddings"),
  );
  const statistics = entries.map((entry) => memberOf(entry, "statistics"));
  const counts = statistics.map((entry) => memberOf(entry, "token_count"));
  const truncated = statistics.map((entry) => memberOf(entry, "truncated"));
  return {
    vectors: entries.map((entry) => vectorIn(entry, "values")),
    ...checkTruncated(query, truncated),
    ...(counts.every(isCount) && usageOf(counts.reduce((sum, count) => sum + count, 0))),
  };
}

const embeddings: EmbeddingsAdapter = {
  capabilities,
  toUpstream: (query, target) => {
    if (isMultimodalEmbedding(target.model))
      return buildRequest(query, target, "predict", multimodalBody(query));
    return usesEmbedContent(target.model)
      ? toEmbedContent(query, target)
      : toPredict(query, target);
  },
  fromUpstream: (response, query, { model }) => {
    if (isMultimodalEmbedding(model)) return readMultimodal(response, query);
    return usesEmbedContent(model)
      ? fromEmbedContent(response, query)
      : fromPredict(response, query);
  },
};

const imageRequest = (target: Target, method: string, body: ExtraFields): UpstreamRequest =>
  imageJsonRequest(addressOf(target, method), authHeaders(target.upstream), body);

const readImages: ReadImages = (response, context) =>
  isImagen(context.target) ? readImagen(response, context) : readGeminiImages(response, context);

const generations: ImageAdapter = {
  toUpstream: (query, target) =>
    isImagen(target)
      ? imageRequest(target, "predict", imagenBody(query))
      : imageRequest(target, "generateContent", geminiBody(query, target, [])),
  fromUpstream: readImages,
};

const edits: ImageAdapter<EditQuery> = {
  toUpstream: (query, target) =>
    isImagen(target)
      ? imageRequest(target, "predict", imagenEditBody(query))
      : imageRequest(target, "generateContent", geminiBody(query, target, filesOf(query.images))),
  fromUpstream: readImages,
};

// docs.cloud.google.com/gemini-enterprise-agent-platform/models/gemini/3-1-flash-image: "7 MB" for inline data.
// googleapis/js-genai, ImageConfig: `imageOutputOptions`, for Vertex alone.
const imageCapabilities = (target: Target, operation: ImageOperation) =>
  isImagen(target)
    ? imagenCapabilities(target, operation)
    : geminiImageCapabilities(target, { output_format: ["png", "jpeg"] }, { maxBytes: 7_000_000 });

/** These settings become parts of a URL. */
const segment = z
  .string()
  .max(200)
  .regex(/^[a-z0-9][a-z0-9.:-]*$/, "must have only lowercase letters, digits and . : -");

export const vertex: Vendor = {
  kind: {
    name: "vertex",
    needs: [],
    needsOneOf: [
      ["apiKey"],
      ["project", "location", "serviceAccount"],
      ["project", "location", "auth"],
    ],
    options: {
      project: segment.optional().describe("The id of the Google Cloud project."),
      location: segment.optional().describe("The location, such as us-central1 or global."),
      serviceAccount: serviceAccountText.optional().meta({
        description: "The key file of a service account, as JSON text.",
        multiline: true,
      }),
      auth: googleAuth,
    },
  },
  adapter: {
    embeddings,
    generations,
    edits,
    imageCapabilities,
    credential: googleCredential,
    probe: (upstream) => ({
      url: `${baseUrlOf(upstream)}/publishers/google/models/text-embedding-005`,
      headers: authHeaders(upstream),
    }),
    readError: googleErrorReader((upstream) => {
      const { project, serviceAccount } = optionsOf(upstream);
      return [project, serviceAccount?.client_email, new URL(baseUrlOf(upstream)).host];
    }),
  },
};
