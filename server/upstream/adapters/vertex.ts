/** Google's Vertex AI: the same models as the Gemini API and some older ones, at a project's own address. */
import { z } from "zod";
import type { EmbeddingsQuestion, WireReply, WireRequest } from "../adapter.ts";
import type {
  EmbeddingsQuery,
  EmbeddingsReply,
  EmbeddingTraits,
  Rest,
  Target,
  Upstream,
} from "../contract.ts";
import type { Vendor } from "../vendor.ts";
import { askWithBearer, bearer } from "./bearer.ts";
import {
  type ServiceAccount,
  serviceAccountExchange,
  serviceAccountText,
} from "./google-account.ts";
import { readGoogleFault } from "./google-fault.ts";
import { taskPrefixes, taskTypes, wantsPrefixes } from "./google-purposes.ts";
import {
  isCount,
  listIn,
  memberOf,
  textsOf,
  usageOf,
  vectorIn,
  wordOf,
} from "./native-embeddings.ts";
import { truncation } from "./truncation.ts";

interface VertexOptions {
  readonly project?: string;
  readonly location?: string;
  readonly serviceAccount?: ServiceAccount;
}

const optionsOf = (upstream: Upstream): VertexOptions => upstream.options;

/** As Google's own clients have it: `global` and the two continents have hosts of another form. */
function rootOf(upstream: Upstream): string {
  const { location = "global" } = optionsOf(upstream);
  if (upstream.baseUrl !== undefined) return upstream.baseUrl;
  if (location === "global") return "https://aiplatform.googleapis.com/v1";
  if (location === "us" || location === "eu")
    return `https://aiplatform.${location}.rep.googleapis.com/v1`;
  return `https://${location}-aiplatform.googleapis.com/v1`;
}

/** `apiKey`, where there is one, is a token that somebody else has fetched. */
function ask({ upstream, model }: Target, method: string, body: Rest): WireRequest {
  const { project = "", location = "global" } = optionsOf(upstream);
  const name = model.replace(/^(publishers\/)?google\/(models\/)?/, "");
  const path = ["projects", project, "locations", location, "publishers/google/models"].join("/");
  const url = `${rootOf(upstream)}/${path}/${encodeURIComponent(name)}:${method}`;
  return askWithBearer(url, upstream, body);
}

const limits = { base64: false, tokens: false, dimensions: "any" } as const;

function traits({ model }: Target): EmbeddingTraits {
  // :embedContent takes one content (googleapis/js-genai, Models.embedContent).
  if (wantsPrefixes(model))
    return { ...limits, maxItems: 1, purposes: taskPrefixes, normalised: true };
  // cloud.google.com/vertex-ai/generative-ai/docs/embeddings/get-text-embeddings: gemini-embedding-001 takes one text,
  // and says so: "batchSize must be 1".
  if (model.includes("gemini")) return { ...limits, maxItems: 1, purposes: taskTypes };
  // The same page: 250 texts, 20,000 tokens together.
  return { ...limits, maxItems: 250, maxTokens: 20_000, purposes: taskTypes };
}

/** gemini-embedding-2 and later: one content, with its options beside it. */
function toEmbedContent(query: EmbeddingsQuery, target: Target): WireRequest {
  const [text] = textsOf(query);
  const config = {
    ...query.rest,
    ...(query.dimensions !== undefined && { outputDimensionality: query.dimensions }),
  };
  return ask(target, "embedContent", {
    content: { role: "user", parts: [{ text: `${wordOf(query, traits(target)) ?? ""}${text}` }] },
    ...(Object.keys(config).length > 0 && { embedContentConfig: config }),
  });
}

/** `title` belongs to a text, everything else to the call. */
function toPredict(query: EmbeddingsQuery, target: Target): WireRequest {
  const { cut, rest } = truncation(query);
  const { title, ...parameters } = rest;
  const word = wordOf(query, traits(target));
  return ask(target, "predict", {
    instances: textsOf(query).map((content) => ({
      ...(title !== undefined && { title }),
      ...(word !== undefined && { task_type: word }),
      content,
    })),
    parameters: {
      // Unasked, it would cut off the end.
      autoTruncate: cut,
      ...parameters,
      ...(query.dimensions !== undefined && { outputDimensionality: query.dimensions }),
    },
  });
}

async function fromEmbedContent(reply: WireReply): Promise<EmbeddingsReply> {
  const answer = await reply.json();
  return {
    vectors: [vectorIn(memberOf(answer, "embedding"), "values")],
    ...usageOf(memberOf(memberOf(answer, "usageMetadata"), "promptTokenCount")),
  };
}

async function fromPredict(reply: WireReply): Promise<EmbeddingsReply> {
  const entries = listIn(await reply.json(), "predictions").map((prediction) =>
    memberOf(prediction, "embeddings"),
  );
  const counts = entries.map((entry) => memberOf(memberOf(entry, "statistics"), "token_count"));
  return {
    vectors: entries.map((entry) => vectorIn(entry, "values")),
    ...(counts.every(isCount) && usageOf(counts.reduce((sum, count) => sum + count, 0))),
  };
}

const embeddings: EmbeddingsQuestion = {
  traits,
  toUpstream: (query, target) =>
    wantsPrefixes(target.model) ? toEmbedContent(query, target) : toPredict(query, target),
  fromUpstream: (reply, _query, target) =>
    wantsPrefixes(target.model) ? fromEmbedContent(reply) : fromPredict(reply),
};

/** They become parts of an address. */
const segment = z.string().regex(/^[a-z0-9][a-z0-9.:-]*$/, "must be small letters, digits and -");

export const vertex: Vendor = {
  kind: {
    name: "vertex",
    needs: ["project", "location"],
    needsOneOf: [["apiKey"], ["serviceAccount"]],
    serves: "embedding",
    options: {
      project: segment.optional(),
      location: segment.optional(),
      serviceAccount: serviceAccountText.optional(),
    },
  },
  adapter: {
    name: "vertex",
    embeddings,
    token: (upstream) => {
      const { serviceAccount } = optionsOf(upstream);
      return serviceAccount && upstream.apiKey === undefined
        ? serviceAccountExchange(serviceAccount)
        : undefined;
    },
    probe: (upstream) => ({
      url: `${rootOf(upstream)}/publishers/google/models/text-embedding-005`,
      headers: bearer(upstream),
    }),
    fault: (reply, context) => {
      const { upstream } = context.target;
      const { project, serviceAccount } = optionsOf(upstream);
      return readGoogleFault(reply, context, [
        project,
        serviceAccount?.client_email,
        new URL(rootOf(upstream)).host,
      ]);
    },
  },
};
