/** The schema of `vexel.yaml`. References between entries are checked in validate-references.ts. */
import { z } from "zod";
import { type Kind, kinds } from "../upstream/kinds.ts";
import { budget, budgetKeys } from "./budget.ts";
import { limitKeys, limits } from "./limits.ts";
import { embeddingPrice, imagePrice, priceKeys } from "./price.ts";
import { policy, targetOrder, targetOrderKeys } from "./target-order.ts";
import { webhookKeys, webhooksSchema } from "./webhooks.ts";

/** What callers type and URLs carry: printable, in one piece. */
export const id = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^\s\p{C}]*$/u, "must not hold spaces, line breaks or invisible characters");

const name = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^\p{C}]*$/u, "must not hold line breaks or invisible characters");

/** Sent in a header; a line break at the end, as secret files like to have, would break every call. */
export const secret = z
  .string()
  .min(1)
  .max(4096)
  .regex(
    /^[\x21-\x7e]*$/,
    "holds a space, line break or other character; only visible ASCII characters can be in it",
  );

const headers = z.record(
  z.string().regex(/^[!#$%&'*+.^_`|~\w-]+$/, "is not the name of a header"),
  z
    .string()
    .max(4096)
    .regex(/^[\x20-\x7e]*$/, "holds a line break or other character that no header can carry"),
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
  if (url.username || url.password) return "must not hold a user name or password: use apiKey";
  if (text.includes("?") || text.includes("#")) return "must not hold a query (?) or fragment (#)";
  return undefined;
}

const upstream = {
  id,
  baseUrl: baseUrl.optional(),
  apiKey: secret.optional(),
  headers: headers.default({}),
  limits: limits.optional(),
};

const upstreamOf = (kind: Kind) =>
  z.strictObject({ ...kind.options, ...upstream, kind: z.literal(kind.name) });

const [firstKind, ...otherKinds] = [...kinds.values()].map(upstreamOf) as [
  ReturnType<typeof upstreamOf>,
  ...ReturnType<typeof upstreamOf>[],
];

const target = { upstream: id, model: id, ...targetOrder, limits: limits.optional() };

const model = {
  id,
  /** Seconds a call may take in all. Absent: as the setting says. */
  timeout: z.number().min(1).max(86_400).optional(),
  targets: z.array(z.strictObject(target)).min(1),
  description: z.string().max(2000).optional(),
  policy: policy.optional(),
  limits: limits.optional(),
};

const embedding = z.strictObject({
  ...model,
  kind: z.literal("embedding"),
  targets: z.array(z.strictObject({ ...target, price: embeddingPrice.optional() })).min(1),
  price: embeddingPrice.optional(),
  dimensions: z.int().min(1).max(65_536).optional(),
  /** The targets name different models, and the author vouches for their vectors being comparable. */
  sameSpace: z.boolean().optional(),
  /** The vector of an input depends on the other inputs of its request. Absent: as the names of the targets say. */
  contextual: z.boolean().optional(),
  /** Vectors that are known are not asked for again. */
  cache: z.boolean().default(true),
  /** Small calls may travel together. */
  batch: z.boolean().default(true),
  /** Token arrays are decoded to text, refused, or sent unread to the targets that take them. */
  tokenArrays: z.enum(["decode", "refuse", "pass"]).default("decode"),
});

/** What becomes of options that a target lacks. */
export const parameters = z.enum(["adapt", "strict", "drop", "pass"]);

const image = z.strictObject({
  ...model,
  kind: z.literal("image"),
  targets: z
    .array(
      z.strictObject({
        ...target,
        /** Through OpenAI's Images API, or through the image tool of its Responses API. */
        surface: z.enum(["images", "responses"]).default("images"),
        /** The language model that calls the image tool. */
        via: id.optional(),
        price: imagePrice.optional(),
      }),
    )
    .min(1),
  price: imagePrice.optional(),
  parameters: parameters.optional(),
  /** Whether a call goes on when its caller leaves. */
  onDisconnect: z.enum(["finish", "cancel"]).optional(),
  /** A picture that may have been paid for is ordered again elsewhere when it does not come. */
  retryPaid: z.boolean().optional(),
  /** The prompt is shown to a moderation first, and what it flags is not drawn. */
  moderation: z
    .strictObject({
      upstream: id,
      model: id.default("omni-moderation-latest"),
      /** When the moderation does not answer: no picture, or a picture unseen. */
      onFailure: z.enum(["refuse", "allow"]).default("refuse"),
    })
    .optional(),
  maxImages: z.int().min(1).max(10).default(10),
});

/** A day, which counts from its first moment in UTC, or a moment. */
export const expires = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);

/** The models of requests that name none. */
const defaults = z.strictObject({ embedding: id.optional(), image: id.optional() });

const key = z.strictObject({
  name,
  key: secret.min(16),
  models: z.array(id).min(1).default(["*"]),
  /** For requests with this key, before those of the file. */
  defaults: defaults.optional(),
  /** For image calls with this key, whatever the model says. */
  parameters: parameters.optional(),
  project: name.optional(),
  limits: limits.optional(),
  budget: budget.optional(),
  /** From then on it opens nothing. */
  expires: expires.optional(),
});

/** Keys that share limits and a budget. */
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
  /** The models that come with the product. */
  embedded: z.boolean().default(true),
  /** Upstreams and models provisioned by well-known variables such as OPENAI_API_KEY. */
  environment: z.boolean().default(true),
});

/** What can be said of an entry whose `kind` is not known. */
export const entriesWithoutKind = {
  upstreams: z.looseObject(upstream),
  models: z.looseObject(model),
};

export type ConfigFile = z.output<typeof fileSchema>;

/** The keys that may stand at a path, for suggestions. */
export function knownKeys(path: readonly PropertyKey[], kindName?: string): readonly string[] {
  const [list] = path;
  if (path.length === 0) return Object.keys(fileSchema.shape);
  if (path.at(-1) === "limits") return limitKeys;
  if (path.at(-1) === "budget") return budgetKeys;
  if (path.at(-1) === "defaults") return Object.keys(defaults.shape);
  if (list === "keys") return Object.keys(key.shape);
  if (list === "projects") return Object.keys(project.shape);
  if (list === "webhooks") return webhookKeys;
  if (list === "upstreams")
    return Object.keys(
      upstreamOf(kinds.get(kindName ?? "") ?? { name: "", needs: [], options: {} }).shape,
    );
  if (path[2] === "moderation") return ["upstream", "model", "onFailure"];
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
