/** The schema of `vexel.yaml`. References between entries are checked in validate-references.ts. */
import { z } from "zod";
import { type Kind, kinds } from "../upstream/kinds.ts";
import { budget, budgetKeys } from "./budget.ts";
import { limitKeys, limits } from "./limits.ts";
import { embeddingPrice, imagePrice, priceKeys } from "./price.ts";
import { storeContent, storeContentKeys } from "./store-content.ts";
import { policy, targetOrder, targetOrderKeys } from "./target-order.ts";
import { webhookKeys, webhooksSchema } from "./webhooks.ts";

/** An id that clients send and URLs contain: printable, without spaces. */
export const id = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^\s\p{C}]*$/u, "must not contain spaces, line breaks or invisible characters");

const name = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^\p{C}]*$/u, "must not contain line breaks or invisible characters");

/** Sent in a header: a trailing line break, which secret files often have, would break every request. */
export const secret = z
  .string()
  .min(1)
  .max(4096)
  .regex(
    /^[\x21-\x7e]*$/,
    "contains a space, a line break or another character that is not visible ASCII",
  );

const headers = z.record(
  z.string().regex(/^[!#$%&'*+.^_`|~\w-]+$/, "is not a valid header name"),
  z
    .string()
    .max(4096)
    .regex(
      /^[\x20-\x7e]*$/,
      "contains a line break or another character that is not allowed in a header",
    ),
);

export const baseUrl = z
  .string()
  .max(2000)
  .transform((text, context) => {
    const problem = urlProblem(text);
    if (problem) context.addIssue({ code: "custom", message: problem });
    return text.replace(/\/+$/, "");
  });

function urlProblem(text: string): string | undefined {
  if (/[\s\p{C}]/u.test(text) || !URL.canParse(text)) return "is not a URL";
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    return "must start with http:// or https://";
  if (url.username || url.password) return "must not contain a user name or password: use apiKey";
  if (text.includes("?") || text.includes("#"))
    return "must not contain a query (?) or fragment (#)";
  return undefined;
}

const upstream = {
  id: id.describe("The name by which models refer to the upstream."),
  baseUrl: baseUrl.optional().describe("The address of the API."),
  apiKey: secret.optional().describe("The API key or token of the vendor."),
  headers: headers.default({}).describe("Extra headers of every request to the upstream."),
  limits: limits.optional().describe("Limits over all models of the upstream."),
};

/** The schema of an upstream of this kind. The console renders its form from this schema. */
export const upstreamOf = (kind: Kind) =>
  z.strictObject({ ...kind.options, ...upstream, kind: z.literal(kind.name) });

const [firstKind, ...otherKinds] = [...kinds.values()].map(upstreamOf) as [
  ReturnType<typeof upstreamOf>,
  ...ReturnType<typeof upstreamOf>[],
];

const target = { upstream: id, model: id, ...targetOrder, limits: limits.optional() };

const model = {
  id,
  /** Timeout of a whole request, in seconds. Absent: the setting applies. */
  timeout: z.number().min(1).max(86_400).optional(),
  targets: z.array(z.strictObject(target)).min(1),
  description: z.string().max(2000).optional(),
  policy: policy.optional(),
  limits: limits.optional(),
  /** Stores prompts, inputs, vectors and images of its requests for this time. Absent: nothing is stored. */
  storeContent: storeContent.optional(),
};

const embedding = z.strictObject({
  ...model,
  kind: z.literal("embedding"),
  targets: z.array(z.strictObject({ ...target, price: embeddingPrice.optional() })).min(1),
  price: embeddingPrice.optional(),
  dimensions: z.int().min(1).max(65_536).optional(),
  /** The targets name different models, and the author declares their vectors to be comparable. */
  sameSpace: z.boolean().optional(),
  /**
   * The vector of an input depends on the other inputs of its request. Absent: derived from the names of the targets.
   */
  contextual: z.boolean().optional(),
  /** Whether the embedding cache is used. */
  cache: z.boolean().default(true),
  /** Whether small requests may be batched (micro-batching). */
  batch: z.boolean().default(true),
  /** Token arrays. `decode`: to text; `refuse`; `pass`: unchanged, to targets that support them. */
  tokenArrays: z.enum(["decode", "refuse", "pass"]).default("decode"),
});

/** How options that a target does not support are handled. */
export const parameters = z.enum(["adapt", "strict", "drop", "pass"]);

const image = z.strictObject({
  ...model,
  kind: z.literal("image"),
  targets: z
    .array(
      z.strictObject({
        ...target,
        /** OpenAI's Images API, or the image tool of its Responses API. */
        surface: z.enum(["images", "responses"]).default("images"),
        /** The language model that calls the image tool. */
        via: id.optional(),
        price: imagePrice.optional(),
      }),
    )
    .min(1),
  price: imagePrice.optional(),
  parameters: parameters.optional(),
  /** Whether a request continues after its client disconnects. */
  onDisconnect: z.enum(["finish", "cancel"]).optional(),
  /** Retries on another target even if the failed one may have billed the image. */
  retryPaid: z.boolean().optional(),
  /** Checks the prompt with a moderation model first; a flagged prompt is refused. */
  moderation: z
    .strictObject({
      upstream: id,
      model: id.default("omni-moderation-latest"),
      /** If the moderation request fails: refuse the request, or generate the image without the check. */
      onFailure: z.enum(["refuse", "allow"]).default("refuse"),
      /** Absent: the vendor's list price. */
      price: embeddingPrice.optional(),
    })
    .optional(),
  maxImages: z.int().min(1).max(10).default(10),
});

/** A date, from midnight UTC, or a time. */
export const expires = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);

/** The models of requests without `model`. */
export const defaults = z.strictObject({ embedding: id.optional(), image: id.optional() });

export const key = z.strictObject({
  name,
  key: secret.min(16),
  models: z.array(id).min(1).default(["*"]),
  /** Default models of this key. They override the top-level defaults. */
  defaults: defaults.optional(),
  /** For image requests with this key. Overrides the model's. */
  parameters: parameters.optional(),
  /** All requests with this key are batch requests. Absent: the request decides. */
  priority: z.enum(["batch"]).optional(),
  project: name.optional(),
  limits: limits.optional(),
  budget: budget.optional(),
  /** When the key stops working. */
  expires: expires.optional(),
});

/** A group of keys that share limits and a budget. */
const project = z.strictObject({
  name,
  limits: limits.optional(),
  budget: budget.optional(),
});

export const fileSchema = z.strictObject({
  upstreams: z.array(z.discriminatedUnion("kind", [firstKind, ...otherKinds])).default([]),
  models: z.array(z.discriminatedUnion("kind", [embedding, image])).default([]),
  keys: z.array(key).default([]),
  projects: z.array(project).default([]),
  defaults: defaults.optional(),
  /** Where events are sent. */
  webhooks: webhooksSchema,
  /** Whether the built-in models are served. */
  embedded: z.boolean().default(true),
  /** Whether well-known variables such as OPENAI_API_KEY provision upstreams and models. */
  environment: z.boolean().default(true),
});

/** The keys that can be checked in an entry with an unknown `kind`. */
export const entriesWithoutKind = {
  upstreams: z.looseObject(upstream),
  models: z.looseObject(model),
};

export type ConfigFile = z.output<typeof fileSchema>;

/** The keys that are allowed at a path, for suggestions. */
export function knownKeys(path: readonly PropertyKey[], kindName?: string): readonly string[] {
  const [list] = path;
  if (path.length === 0) return Object.keys(fileSchema.shape);
  if (path.at(-1) === "limits") return limitKeys;
  if (path.at(-1) === "budget") return budgetKeys;
  if (path.at(-1) === "storeContent") return storeContentKeys;
  if (path.at(-1) === "defaults") return Object.keys(defaults.shape);
  if (list === "keys") return Object.keys(key.shape);
  if (list === "projects") return Object.keys(project.shape);
  if (list === "webhooks") return webhookKeys;
  if (list === "upstreams")
    return Object.keys(
      upstreamOf(kinds.get(kindName ?? "") ?? { name: "", needs: [], options: {} }).shape,
    );
  if (path[2] === "moderation")
    return path.length === 3 ? ["upstream", "model", "onFailure", "price"] : priceKeys.embedding;
  if (path[2] === "price" || path[4] === "price")
    return priceKeys[kindName === "image" ? "image" : "embedding"];
  if (path.length === 4)
    return [
      "upstream",
      "model",
      ...targetOrderKeys,
      "limits",
      ...(kindName === "image" ? ["surface", "via"] : []),
      "price",
    ];
  return Object.keys((kindName === "image" ? image : embedding).shape);
}
