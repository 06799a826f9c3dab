/** The headers of model requests and their responses in the OpenAPI document. docs/api.md describes all headers. */
import type { OwnRouteName } from "../http/routes.ts";

type Json = Record<string, unknown>;

interface Header {
  readonly name: string;
  readonly description: string;
  readonly schema: Json;
}

const text: Json = { type: "string" };

const both: readonly Header[] = [
  {
    name: "vexel-tags",
    description: "Up to 10 tags, separated by commas, for usage, limits and budgets.",
    schema: { type: "string", examples: ["team:search,nightly"] },
  },
  {
    name: "vexel-priority",
    description: "Batch requests wait behind interactive ones.",
    schema: { enum: ["interactive", "batch"], default: "interactive" },
  },
];

const embeddings: readonly Header[] = [
  ...both,
  {
    name: "cache-control",
    description: "`no-cache` refreshes the embedding cache, `no-store` bypasses it.",
    schema: text,
  },
];

const images: readonly Header[] = [
  ...both,
  {
    name: "prefer",
    description: "`respond-async`: the response is an image job.",
    schema: text,
  },
  {
    name: "idempotency-key",
    description: "Marks requests that must not be billed twice.",
    schema: text,
  },
];

const requestHeaders: Partial<Record<OwnRouteName, readonly Header[]>> = {
  embeddings,
  engineEmbeddings: embeddings,
  generations: images,
  edits: images,
};

const costHeader = {
  description:
    "The cost of this request in US dollars, for models or API keys with `showCost`. Absent if the price is unknown.",
  schema: { type: "string", pattern: "^\\d+(\\.\\d+)?$", examples: ["0.0000026"] },
};

/** The parameters of the operation that are headers. */
export const headerParameters = (route: OwnRouteName): Json[] =>
  (requestHeaders[route] ?? []).map((header) => ({ ...header, in: "header", required: false }));

/** The headers of its success. */
export const responseHeaders = (route: OwnRouteName): Json =>
  requestHeaders[route] ? { headers: { "vexel-cost": costHeader } } : {};
